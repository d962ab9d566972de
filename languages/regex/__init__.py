"""Regular expressions: text to syntax tree (parser), tree to terms and their derivatives, terms to a table.

The parser is ours, not automata-lib's, as that one names no position in its errors and takes a `[` that is never closed
for a symbol. It also refuses the empty alternative of `a|`, and reads no marks of textbooks, such as `ε` for the empty
word.
"""
