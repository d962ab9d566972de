"""The tables about language models: chapters 3 and 4 and section 6.5 of the thesis, and the LEX paper.

table      what such a table is, and the runs behind its rows
subjects   the rows that tables share
claims     published claims as sentences that can be tested
results    losses of trained runs on the same segments, and paired differences
kept       losses.json beside a page, from which each paired verdict follows
tested     trained runs under other protocols and attentions
record     what a page says; recording makes it, page is its Markdown
table_*, lex_table_*   one file a table
"""
