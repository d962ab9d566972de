"""What trivial rules score on a model's test words: rules that need no automaton."""
