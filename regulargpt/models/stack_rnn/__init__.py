"""A recurrent network with stacks (Joulin and Mikolov 2015; DuSell and Chiang 2020; Deletang et al. 2023).

model        the network, and how one step goes
controllers  what a controller makes of what it reads
signs        units of two values, and what training does to them
stacks       a stack in superposition, and a stack of pointers
"""
