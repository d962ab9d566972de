"""One page that shows what networks learned: opens from disk, with no network, and computes any word's tree itself.

data       what is read from a run folder, and refused
facts      a run in words
network    the certificate's table as the page's script reads it
live       the network itself: its weights, the scripts that compute it, its wrong words
geometry   arrows and directions
layout     where an automaton's states stand
automaton  the automaton, drawn and as a table
scatter    the prototypes in two dimensions
curves     a measure by length, as a finding
page       all of it in one HTML file: three of .html, page.css, and the scripts; a wing has articles of its own

On every page are theme.js, elements.js, links.js (the address), export.js (a figure as SVG and PNG), figures.js and
figures.css (each figure's menu, one alone for slides), print.js and print.css (on paper). Of the others, word.js
computes the automaton and the certificate's table, live.js the network (with the scripts beside its parts) and
parting.js where they part. The others show: nodes.js, tree.js and cayley.js a part, run.js a run, page.js all.
"""
