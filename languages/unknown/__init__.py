"""Words with their answers and nothing else: no automaton of them is known."""
