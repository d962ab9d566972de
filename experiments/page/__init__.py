"""The page of an experiment: one record, page.json, and page.md that is made from it and nothing else.

record     what a page says, as plain values: page.json
recording  from a comparison to its record and its pictures
wording    a cell in words
contents   what a record says: the table first
verdicts   how often ours is above, within or below what was published
details    what stands below it
markdown   paragraphs, tables and lists
files      page.json and page.md in a folder
__main__   pages again from their records: `python -m experiments.page DIR...`
"""
