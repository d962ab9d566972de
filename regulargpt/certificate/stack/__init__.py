"""Networks with a stack: proven by the product with the language's machine, at every length.

search   the network as a machine, and the product: a proof, wrong words, or neither
phase    the proof tried in a training, whose wrong words are trained on
outcome  what is said of the trained network, with the certificate that the checker has accepted
"""
