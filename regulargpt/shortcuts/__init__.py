"""What trivial rules score on a model's test words: features that need no automaton, and logistic regression on them."""
