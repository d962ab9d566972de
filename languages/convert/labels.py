"""What is written at the arrows and in the states of drawings: symbols, outputs, and what other kinds write.

AALpy, LearnLib and the Automata Wiki write "input / output" or "input/output" at an arrow of a Mealy machine,
"name|output" or "{ name | output }" in a state of a Moore machine, "input:0.5" at one of a Markov decision process and
"symbol / push(x)" at one of a pushdown automaton. pyformlang writes one symbol at an arrow, whatever it looks like.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from languages.budget import check
from languages.convert.dot_parser import unescape
from languages.convert.pieces import MAX_LABELLED, parts, pieces
from languages.errors import AutomatonError

SYMBOL = re.compile(r"\\[nlr]|((?:[^\\,\s]++|\\[^nlr]|\\\Z)++)")  # between line breaks, commas and blanks
CHANCE = re.compile(r"[01]?\.\d+|[01]\.\d*|\d(?:\.\d+)?[eE]-\d+")
STACK = re.compile(r"/\s*(?:(?:push|pop)\s*\(|\(\s*'[^']*'\s*,\s*')")
PYFORMLANG_STACK = re.compile(r'\\".*\\" -> .* / \[')
PYFORMLANG_OUTPUT = re.compile(r'\\".*\\" -> \[')
# In the label of a whole drawing, as Spot has it or a person: what a run does infinitely often.
KINDS = ("b(?:ü|ue?)chi", r"\brabin\b", r"\bstreett\b", r"\bmuller\b", r"\bInf\(", r"\bFin\(", r"\[parity (?:min|max)")
INFINITE = re.compile("|".join(KINDS), re.IGNORECASE)
RECORD = re.compile(r"((?:\\.|[^\\|])*+)\|(.*)", re.DOTALL)  # an escaped bar separates nothing
PORT = re.compile(r"^\s*<\w*>\s*(?=\S)")  # what an arrow may be drawn to
LITERAL = "if that is a symbol, list the symbols in the graph's attribute alphabet"


class Read(NamedTuple):
    """A symbol of a label, and the output behind it, if any."""

    symbol: str | None  # None: none, as ε says
    output: str | None


def split_label(label: str) -> list[str]:
    r"""The symbols of a label: between commas, blanks and line breaks, where a backslash takes the next as it is.

    >>> split_label(r"a, b\nc\,")
    ['a', 'b', 'c,']
    """
    check(len(label), MAX_LABELLED, f"a label has {len(label):,} characters")
    if "\\" not in label:
        return label.replace(",", " ").split()
    return [unescape(symbol) for symbol in SYMBOL.findall(label) if symbol]


def refuse_other_kinds(labels: Sequence[str]) -> None:
    """AutomatonError, naming the kind, for labels that machines of other kinds have."""
    for is_such, kind in OTHER_KINDS:
        if labels and all(map(is_such, labels)):
            raise AutomatonError(f"{kind}, as {labels[0]!r:.80}; it is not read; {LITERAL}")
    for label in filter(STACK.search, labels):
        raise AutomatonError(
            f"a pushdown automaton: transitions push and pop, as {label!r:.80}; it is not read; {LITERAL}"
        )


def refuse_infinite(title: str) -> None:
    """AutomatonError for the label of a drawing that says that its words are infinite."""
    if match := INFINITE.search(title):
        kind = match.group().strip("[(")
        raise AutomatonError(f"an automaton of infinite words ({kind}), which is not read; draw one of finite words, "
                             "without that in the drawing's label")  # fmt: skip


def _is_chance(label: str) -> bool:
    return bool(CHANCE.fullmatch(label.strip()))


def _ends_in_chance(label: str) -> bool:
    symbol, _, chance = label.rpartition(":")
    return bool(symbol.strip()) and (_is_chance(chance) or chance.strip() in ("0", "1"))


def _has_output_and_chance(label: str) -> bool:
    return _ends_in_chance(label) and _halves(label.rpartition(":")[0], "/") is not None


def _moves_head(label: str) -> bool:
    r"""As in "0/1,R" or "0→1;L"."""
    read, write = _rewrites(label)
    return bool(read) and write.replace(";", ",").rpartition(",")[2].strip() in tuple("LRNS") and len(write) > 1


def _moves_stack(label: str) -> bool:
    """As in "a,Z/AZ" or "a, b → c": a symbol, and what is on the stack before and after."""
    read, _ = _rewrites(label)
    return not read.endswith(",") and len(parts(read)) == 2


def _rewrites(label: str) -> tuple[str, str]:
    """What stands before and behind the first arrow or slash."""
    for mark in ("→", "->", "/"):
        before, arrow, behind = label.partition(mark)
        if arrow:
            return before.strip(), behind.strip()
    return "", ""


# All labels of a drawing are such; looked at in this order.
OTHER_KINDS = (
    (_is_chance, "a Markov chain: transitions have chances"),
    (_has_output_and_chance, "a stochastic Mealy machine: outputs have chances"),
    (_ends_in_chance, "a Markov decision process: transitions have chances"),
    (_moves_head, "a Turing machine: transitions move a head"),
    (PYFORMLANG_STACK.match, "a pushdown automaton: transitions read and write a stack"),
    (PYFORMLANG_OUTPUT.match, "a transducer: transitions read and write"),
    (_moves_stack, "a pushdown automaton: transitions read and write a stack"),
)


def separator(labels: Sequence[str]) -> str:
    """What stands between input and output: " / " if all labels have it, "/" if all have that, else nothing."""
    for mark in (" / ", "/"):
        if labels and all(_halves(label, mark) for label in labels):
            return mark
    return ""


def _halves(label: str, mark: str) -> tuple[str, str] | None:
    """What stands before and behind the mark, where both are something."""
    before, _, behind = (part.strip() for part in label.partition(mark))
    return (before, behind) if before and behind else None


def read_label(label: str, mark: str) -> list[Read]:
    """The symbols of a label; with a mark between input and output, each with its output.

    >>> read_label("0", ""), read_label("0,1/x", "/")
    ([Read(symbol='0', output=None)], [Read(symbol='0', output='x'), Read(symbol='1', output='x')])
    >>> read_label("a / x,y", " / "), read_label("a / x, b / y", " / ")
    ([Read(symbol='a', output='x,y')], [Read(symbol='a', output='x'), Read(symbol='b', output='y')])
    """
    if not mark:
        return [Read(piece, None) for piece in pieces(label)]
    symbols: list[Read] = []
    waiting: list[str] = []  # inputs without an output: those before "1/x" in "0,1/x" have the same
    for part in parts(label):
        halves = _halves(part, mark)
        waiting += pieces(halves[0] if halves else part)
        if halves:
            symbols += [Read(symbol, unescape(halves[1])) for symbol in waiting]
            waiting = []
    if waiting:  # the comma is the output's
        before, behind = _halves(label, mark) or (label, "")
        symbols = [Read(symbol, unescape(behind)) for symbol in pieces(before)]
    return symbols


def barred(label: str) -> tuple[str, str] | None:
    """Name and output of a record "name|output" or "{ name | output }"; None of any other label.

    >>> barred("{ A | init }"), barred("s0|a|b"), barred("A")
    (('A', 'init'), ('s0', 'a|b'), None)
    """
    inner = label.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    if (match := RECORD.fullmatch(inner)) is None:
        return None
    name, output = (unescape(PORT.sub("", field, count=1).strip()) for field in match.groups())
    return (name, output) if output else None
