"""A recurrent network with tapes (Deletang et al. 2023).

model  the network, and how one step goes
tape   a tape in superposition
"""
