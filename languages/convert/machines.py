"""Machines of every level of the hierarchy as JSON: finite ones, and those with a stack, which have moves."""

from __future__ import annotations

from languages.automata import Dfa, MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.convert import json_text, pushdown
from languages.convert.reading import named

AnyMachine = MooreMachine | PushdownTransducer  # that answers words


def to_json(machine: Dfa | AnyMachine) -> str:
    """The machine as JSON text."""
    return pushdown.to_json(machine) if isinstance(machine, PushdownTransducer) else json_text.to_json(machine)


def read_json(text: str, name: str = "<text>") -> Dfa | AnyMachine:
    """The machine of a JSON text that `to_json` wrote; `name` says in errors where it comes from.

    AutomatonError: as `json_text.read_json` and `pushdown.from_json` say.

    >>> from languages.context_free.brackets import brackets
    >>> read_json(to_json(brackets(2).machine)) == brackets(2).machine
    True
    >>> from languages.regular.parity import parity
    >>> read_json(to_json(parity().machine)) == parity().machine
    True
    """
    with named(name):
        fields = json_text.parsed(text)
    has_moves = isinstance(fields, dict) and "moves" in fields
    return pushdown.from_json(text, name) if has_moves else json_text.read_json(text, name)
