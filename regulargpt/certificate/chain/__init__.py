"""Networks that carry a state of fixed size from symbol to symbol: proven by points, and as they are by boxes.

points      where points come from by which the state is replaced: means, nets, and what these lack
product     all that comes up side by side with the automaton: a proof, or the shortest wrong word
search      the points that prove a network
intervals   numbers between bounds; boxes: all states of a box under a step
box_search  boxes that are mapped into each other: the network as it is
live        the network as it is trained; target, the moves between points that it has to learn
tuning      training on points, then on boxes; phase, when that begins and ends in a training
outcome     what is said of the trained network, with the certificate that the checker has accepted

The network as a chain, and its table over points, lie in regulargpt/finite.
"""
