"""The page of an experiment: one record, page.json, and from it an HTML file that fetches nothing, and Markdown.

record     what a page says, as plain values: page.json
recording  from a comparison to its record
document   what a page is made of
wording    a cell in words
contents   what a record says, as a document: the table first
verdicts   how often ours is above, within or below what was published
details    what stands below it
curves     accuracy by length, as SVG
html       a document as one HTML file: page.html, page.css
markdown   a document as Markdown, its pictures beside it
__main__   pages again from their records: `python -m experiments.page DIR...`
"""
