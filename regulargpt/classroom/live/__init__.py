"""The network itself in the page: what a page needs to compute it, and what is found of it in advance.

twins        the scripts that lie beside models and encodings, put together
network      a network's options and weights, as the scripts read them; or why the page does not compute it
snapshots    the network at steps of its training
wrong_words  words that the network answers wrongly, looked for in advance
numbers      numbers as a page holds them
states       where the states of each monoid element lie, of a network without a certificate
state_map    the plane in which a page draws states
"""
