"""What runs came to: one tidy table of them, statistics over seeds, tables to print and curves by length.

places      where runs lie
row         a row of the table
read        a run folder as rows
rows        the table of a folder, and its files results.csv and results.jsonl
columns     which columns a table has, and in which of them its runs differ
select      which rows are requested
statistics  rows in groups, and what the runs of a group came to
beside      what stands beside a group: what guessing has, in what its runs differ, under which conditions
render      groups as a table
curves      groups by length, and their picture

Nothing here needs torch, or knows an option of a model: a config is what its config.toml says.
"""
