"""The regular languages, one file a family: each builds its explicit automaton."""
