"""Acceptors in AT&T's text form, which OpenFST, foma and HFST write and read.

A line "source target label" is a transition, "source target label label" too, and a line "state" a final state. The
first line's source is the initial state. Weights that are zero say nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from languages.automata import Dfa, MooreMachine
from languages.budget import MAX_TRANSITIONS, check
from languages.convert.reading import AS_WRITTEN, EMPTY_WORDS, LabelledArrow, Reading, Said, machine_of, named
from languages.errors import AutomatonError

MAX_LINES = 2 * MAX_TRANSITIONS
LINE = "a line is 'source target label', or a final state"


class _Row(NamedTuple):
    number: int  # of its line, from 1
    fields: list[str]

    def error(self, what: str) -> AutomatonError:
        return AutomatonError(f"line {self.number}: {what}")

    def no_line(self) -> AutomatonError:
        return self.error(f"{' '.join(self.fields)!r:.80} is no line of an acceptor; {LINE}")


def from_att(text: str, name: str = "<text>", how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The automaton of an acceptor; if labels differ and all states are final, the Mealy machine.

    AutomatonError, with the line: no such form, a weight, a transducer; TooLarge: too many transitions.

    >>> "abab" in from_att("0 1 a\\n1 0 b\\n0\\n")
    True
    """
    with named(name):
        return machine_of(_said(text), how)


def _said(text: str) -> Said:
    states: dict[str, None] = {}
    accepting: set[str] = set()
    arrows: list[LabelledArrow] = []
    lines: list[int] = []
    for row in _rows(text):
        states.update(dict.fromkeys(row.fields[:2]))
        if len(row.fields) == 1:
            accepting.add(row.fields[0])
        else:
            arrows.append(_arrow(row))
            lines.append(row.number)
    if not states:
        raise AutomatonError(f"the file is empty; {LINE}")
    if all(arrow.symbol == arrow.output for arrow in arrows):
        arrows = [arrow._replace(output=None) for arrow in arrows]
    names = tuple(states)
    return Said(names, names[:1], arrows, accepting, place=lambda number: f"line {lines[number]}: ")


def _rows(text: str) -> Iterator[_Row]:
    check(text.count("\n"), MAX_LINES, f"there are {text.count(chr(10)):,} lines")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _without_weight(_Row(number, _fields(line)))


def _fields(line: str) -> list[str]:
    """Between tabs, where there are any: a symbol may hold blanks."""
    line = line.strip()
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def _without_weight(row: _Row) -> _Row:
    """A row without a weight of zero at its end. AutomatonError for another weight, and for no row of a machine."""
    fields = row.fields
    states = fields[:1] if len(fields) <= 2 else fields[:2]
    if len(fields) > 5 or not all(fields) or any(len(state.split()) > 1 for state in states):
        raise row.no_line()
    # Four fields may be an output or a weight: only a weight has a point.
    if not (len(fields) in (2, 5) or (len(fields) == 4 and fields[3] != fields[2] and "." in fields[3])):
        return row
    try:
        is_zero = float(fields[-1]) == 0
    except ValueError:
        raise row.no_line() from None
    if not is_zero:
        raise row.error(f"a weighted automaton (weight {fields[-1]:.40}), which is not read")
    return row._replace(fields=fields[:-1])


def _arrow(row: _Row) -> LabelledArrow:
    source, target, symbol, *written = row.fields
    output = written[0] if written else symbol
    if symbol != output and EMPTY_WORDS & {symbol, output}:
        what = f"a transducer that writes {output!r:.80} for {symbol!r:.80}, more or less than it reads"
        raise row.error(f"{what}; it is not read, for a word has one answer")
    return LabelledArrow(
        source, target, None if symbol in EMPTY_WORDS else symbol, None if symbol in EMPTY_WORDS else output
    )
