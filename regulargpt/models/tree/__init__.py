"""Weight-shared trees: one map brings the states of C children to that of their parent, level by level.

base        what such a network is
depth       how many levels a word has
levels      the nodes of each level, equal sub-words computed once
bracketings the same word through random trees
sharing     which nodes are equal
noise       noise on the states
"""
