"""What runs came to: one tidy table of them, statistics over seeds, tables to print and curves by length.

`rows` finds the runs and reads them, `statistics` groups them, `render` and `curves` show the groups. Nothing here
needs torch, and everything is a pure function of the run folders.
"""
