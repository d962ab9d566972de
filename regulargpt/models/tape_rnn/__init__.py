"""A recurrent network with tapes (Deletang et al. 2023).

model  the network, and how one step goes
tape   a tape in superposition
"""

from regulargpt.models.tape_rnn.model import TapeRnn as TapeRnn
