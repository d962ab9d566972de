"""The machines: semiautomata, deterministic automata and Moore machines, as values.

A machine is validated when it is made and cannot be changed afterwards; equal machines are `==`. What a machine
computes is in running.py, what is computed about machines in operations.py, on integer tables.
"""

from languages.automata.dfa import Dfa
from languages.automata.moore import MooreMachine
from languages.automata.semiautomaton import Semiautomaton, Start, Words

__all__ = ["Dfa", "MooreMachine", "Semiautomaton", "Start", "Words"]
