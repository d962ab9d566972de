"""The independent checker of certificates: ball arithmetic, and none of the code that trains, runs or certifies.

To believe an accepted certificate, read this folder (docs/certificate.md says what each file has to be right about):

files     bytes, JSON and safetensors, read strictly and in bounds
balls     arrays of balls: what a comparison of real numbers may be concluded from
doubles, complex_doubles  the same in float64: wider balls, quicker
network   what all networks share: how weights and config.json are read, layers and readout in balls
regulargpt, ldru    the maps of RegularGPT (section 6.2), with gates or without, and of ldru in balls
networks  which of them the weights are
forests   rows of items: which parts of them belong to a word with an answer
machine   the automaton; moves, pushdown: an automaton with a stack, that of trees that follow brackets
equality  whether two automata answer every word alike
levels    the levels of the trees of all rows of items, until they repeat
pairs     what stands in brackets, inside out
induction all words
tables    the windows and their images, listed or found on the way
images    the prototype nearest to each state, proven
affine_forms  how far vectors move when the states under them move in balls: linear maps, LayerNorm, activation, product
image_bounds, block_bounds, ldru_bounds  the same for the image of a window: the networks without quantising
stack_machine, stack_network  a machine with a stack of whatever moves; a network of signs with a stack
heads, stack_product, stack_equality, stack_steps  all that such machines come to, and two of them side by side
nearest   the point nearest to a state, proven
chain_network, boxes  networks that carry a state from symbol to symbol: a step of each; the same from a box of states
chain_product, chain_boxes, chain_steps  all that they come to if states are replaced; boxes mapped into each other
chain_diagonal, chain_mlstm, factors, recurrences  networks whose numbers each move by themselves, and where they settle
slopes, attraction  networks of any kind with a state, from all states of a box; a set of states that is never left
family, refutation  words on which a network with a state is wrong for ever
steps     the steps of a check, in order
claims    what is proven, in words

It imports numpy, python-flint and the standard library.
"""

from regulargpt.certificate.checker.chain_steps import AcceptedChain
from regulargpt.certificate.checker.files import Malformed, Rejected
from regulargpt.certificate.checker.refutation import AcceptedRefutation
from regulargpt.certificate.checker.stack_steps import AcceptedStack
from regulargpt.certificate.checker.steps import FORMAT, Accepted, AnyAccepted, AnyProof, Progress, check, decide

__all__ = [
    "FORMAT",
    "Accepted",
    "AcceptedChain",
    "AcceptedRefutation",
    "AcceptedStack",
    "AnyAccepted",
    "AnyProof",
    "Malformed",
    "Progress",
    "Rejected",
    "check",
    "decide",
]
