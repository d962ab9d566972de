"""Weight-shared trees: one map brings the states of C children to that of their parent, level by level.

base        what such a network is
depth       how many levels a word has
levels      the nodes of each level, equal sub-words computed once
forests     where a word's brackets are
nested      the tree that follows them, equal forests computed once
nodes       that tree node by node, for those who look into it
trace       all its nodes with their states, and what becomes of them when a state is changed
bracketings the same word through random trees
sharing     which nodes are equal
noise       noise on the states
"""
