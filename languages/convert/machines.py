"""Machines of either kind, with a stack or without, as JSON."""

from __future__ import annotations

from languages.automata import Dfa, MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.convert import json_text, pushdown
from languages.convert.reading import named


def to_json(machine: MooreMachine | PushdownTransducer) -> str:
    """The machine as JSON text."""
    return pushdown.to_json(machine) if isinstance(machine, PushdownTransducer) else json_text.to_json(machine)


def read_json(text: str, name: str = "<text>") -> Dfa | MooreMachine | PushdownTransducer:
    """The machine of a JSON text: one with "moves" has a stack. AutomatonError for what is none.

    >>> from languages.context_free.brackets import brackets
    >>> read_json(to_json(brackets(2).machine)) == brackets(2).machine
    True
    """
    with named(name):
        fields = json_text.parsed(text)
    with_stack = isinstance(fields, dict) and "moves" in fields
    return pushdown.from_json(text, name) if with_stack else json_text.read_json(text, name)
