"""Regular expressions: text to syntax tree (parser), tree to terms and their derivatives, terms to a table."""
