"""The page of an experiment: one record, of a table or of page.json, and page.md that is made from it and nothing else.

record    what a page says: sections of sentences, lists, tables and pictures; claims; how it was made
wording   values in words
markdown  a record as Markdown
layout    a page whose sections are made of parts, and what page.json has of a page
compact   page.json without repetitions
files     page.json, page.md and pictures in a folder
__main__  pages again from their records: `python -m experiments.page DIR...`
"""
