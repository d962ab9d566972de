"""The automaton read back out of a network.

clusters  states that fall into clusters
blind     prototypes from the states alone, closed under the block
trees     the quantised network's answers to given words
lstar     a machine learned from questions
learn     the machine that the quantised network implements, proven equal to it
nested    the machine with a stack that a quantised network implements
queries   any network as a black box: queries within a budget
answers   the machine of a network's answers alone
black_box the same of a finished run, compared with the task's, and what it rules out
stack     the machine that a network with a stack is, states merged
recurrent the automaton in the states of an RNN, GRU or LSTM
sentences what is said of a machine, for people
nonempty  machines of networks, which do not answer the empty word
run       the machine of a finished run, compared with the task's
"""

LONGEST, SECONDS = 1000, 120
"""Of queries to a network: symbols of the longest words, and seconds if none are given."""
