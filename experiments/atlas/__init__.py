"""An atlas of small regular languages: what of their algebra predicts that a network learns them and extrapolates?

two_states  all minimal automata of two states
drawn       minimal automata of three to six states, each a function of its number
entries     both together, with their names and files
algebra     what the transition monoid of each is
networks    the networks, with their recipes and caps
plan        every language with every network, as configs
rows        atlas.csv: a row a language and network, with languages.csv
columns     its columns, written and read
groups      means and shares over some of its rows
correlation Spearman's rank correlations, with intervals by bootstrap over languages
rule        a shallow decision tree, in words
pictures    what the page draws
page        the page, all of whose figures come from atlas.csv
"""
