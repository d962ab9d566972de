"""The workbench: one page in which a student draws a machine, trains a network on it, sees it proven, and breaks it.

text.toml   what the captions say, and what each of their sentences assumes
page        all of it in one HTML file, its scripts made short by rjsmin
beginning   the machine of a language, for the page to begin with

start.js makes the panels on one bench.js, by which alone they hear of each other: editor.js, tree_panel.js,
map_panel.js, wall_panel.js, break_panel.js and lanes_panel.js; captions.js leads through them. training.js has the
workers. What they calculate draws nothing, and runs in the page, in workers and in tests alike: machine.js and cases.js
are the language, learning.js and worker.js the training on tape.js, search.js the wrong words, asking.js the long ones,
hits.js what a hammer does, saving.js the folder that `regulargpt check` reads. Scripts of the lesson and of the other
pages are used as they are.
"""
