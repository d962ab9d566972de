"""Networks whose states settle: refuted in real arithmetic, on words u v^n w for ever from some n on.

families  words u v^n w to try: short ones, and those that the automaton's cycles name
network   linear-rnn in float64: where it settles while it reads v, and what it answers on the way
delta, diagonal, reading  the same of a layer of delta; of networks whose numbers each move by themselves
search    a family on which the network is wrong for ever, and from which n on
outcome   the refutation that the checker has accepted, and what is said where there is none
"""
