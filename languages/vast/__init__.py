"""Regular languages with too many states for an automaton: a program says what is right."""
