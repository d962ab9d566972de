"""One page from which a student learns, in seven steps, how a network can be known to be right on every word.

text.toml      what the lesson says, and what each of its sentences assumes
glossary.toml  the words, each in plain words
rules.toml     the rules of some languages in plain words
wording        those files, and what differs from language to language
material       what a lesson needs of a run, and refuses
facts          which sentences a lesson says of its run, and the numbers in them
page           all of it in one HTML file
making         a run made for a lesson, by construction

lesson.js starts the seven steps, each in a script of its own; field.js is a word to type, chips.js a monoid element,
shadow.js where points are drawn, cases.js the cases as tables, terms.js shows what a word means. word.js, nodes.js,
live.js, parting.js, theme.js and page.css of the other pages are used as they are.
"""
