"""Machines from and to other forms: files (JSON, DOT, JFLAP, AT&T), regular expressions, networkx, automata-lib.

One form a file. The third-party packages are imported inside the functions that need them.
"""
