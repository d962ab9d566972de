"""Regular expressions: text to syntax tree (parser), tree to terms and their derivatives, terms to automaton."""

from languages.regex.expression import from_regex

__all__ = ["from_regex"]
