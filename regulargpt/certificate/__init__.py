"""From a trained network to a statement about every length.

machine   what is asked: one Moore machine, without an answer where a word is outside the domain
levels    which kinds of node the trees of all words have, level by level, until nothing new comes
table     the quantised network: the block on every tuple of prototypes that occurs, brought to the nearest prototype
codebook  where the prototypes come from: the true classes
proof     the quantised network's answers against the machine's, and the shortest word on which they differ
certify   a trained network in, the best codebook's proof out
verdict   what is said about a finished run
sentences the same in words
record    certificate.json
network   the network in numpy and float64
enclosure balls around the prototypes that the network as it is maps into themselves
cells     on the way there: how far from its prototype the image of a window of balls can be
forms     affine forms with balls: linear maps exactly, LayerNorm and activation up to a bounded rest
attention_ball  attention, up to a bounded rest
checker   the independent checker: ball arithmetic, and none of the code above
"""
