"""The tables about language models: chapters 3 and 4 and section 6.5 of the thesis, and the LEX paper.

table      what such a table is, and the runs behind its rows
subjects   the rows that tables share
results    losses of trained runs on the same segments, paired differences, and losses.json beside a page
testing    what tables ask of a trained run: tests under other protocols and attentions, further measures
runs       the runs of a table in a sweep folder, and what they came to
page       the page of a table
table_*, lex_table_*   one file a table
"""
