"""The page of an experiment: one HTML file that fetches nothing, and the same in Markdown.

document   what a page is made of
wording    a cell in words
contents   what a comparison says, as a document: the table first
verdicts   how often ours is above, within or below what was published
details    what stands below it
curves     accuracy by length, as SVG
html       a document as one HTML file: page.html, page.css
markdown   a document as Markdown, its pictures beside it
record     a comparison as plain values, for programs
"""
