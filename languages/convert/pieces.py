r"""What stands between the commas of a label, and which symbols it stands for.

A comma within a tuple, as in "(x, 1)", separates nothing. "a|b", "[a-c]" and "a-z" are several symbols, `else` and Σ
depend on the others of the drawing, and what may be one symbol or several is asked about. A backslash in front of a
mark makes it a part of a symbol.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from languages.budget import check
from languages.convert.dot_parser import unescape
from languages.errors import AutomatonError

MAX_LABELLED = 2**20  # characters of a label
MARK = re.compile(r"\\.|'[^'\\,\s]+'|[()\[\]{},\n]", re.DOTALL)
LINE_BREAKS = {"\\n", "\\l", "\\r", "\n"}
PARTNER = {"(": ")", "[": "]", "{": "}"}
BAR = re.compile(r"\s*\|\s*")
RANGE = re.compile(r"(\w)\s*(-|–|\.\.\.?|…)\s*(\w)", re.ASCII)
CLASS = re.compile(r"\[((?:\w-\w|\w)++)\]", re.ASCII)
FROZEN = re.compile(r"frozenset\(\{([^{}]+)\}\)")
DOTS = {"..", "...", "…"}
SURELY = 5  # symbols: "a-e" and longer is a range, while "A-B" may be the name of a move


class Wild(StrEnum):
    """A label that stands for other symbols of the drawing."""

    ELSE = "else"  # those that no other arrow of the state has
    ANY = "Σ"  # all


WILD = {"else": Wild.ELSE, "otherwise": Wild.ELSE, "Σ": Wild.ANY}


class _Bracket(NamedTuple):
    closes: str
    inside: int  # where its content begins
    cuts: int  # before it


def pieces(label: str) -> list[str]:
    r"""The symbols of a label: between commas and line breaks. Blanks separate single characters, and no words.

    AutomatonError: a piece that may be one symbol or several.

    >>> pieces(r"a, b\nACK(0,1)"), pieces("0 1"), pieces("move d1 peg2")
    (['a', 'b', 'ACK(0,1)'], ['0', '1'], ['move d1 peg2'])
    >>> pieces("(x, 1), y|z"), pieces("(, )"), pieces("[a-c]")
    (['(x,1)', 'y', 'z'], ['(', ')'], ['a', 'b', 'c'])
    """
    symbols: list[str] = []
    for piece in parts(label):
        words = piece.split()
        # A comma that is left is a tuple's, and a bar between two parts is theirs.
        is_one = "," in piece or "|" in words[1:-1] or any(len(word) > 1 for word in words)
        apart = [piece] if is_one else words
        symbols += [symbol for word in apart for symbol in _meant(word)]
    return symbols


def parts(label: str) -> list[str]:
    """What stands between commas and line breaks, but not between the commas of a tuple."""
    check(len(label), MAX_LABELLED, f"a label has {len(label):,} characters")
    cuts: list[tuple[int, int]] = []
    brackets: list[_Bracket] = []  # that are open
    for match in MARK.finditer(label):
        mark = match.group()
        if mark in LINE_BREAKS:
            cuts.append(match.span())
            brackets.clear()
        elif mark == ",":
            cuts.append(match.span())
        elif mark in PARTNER:
            brackets.append(_Bracket(PARTNER[mark], match.end(), len(cuts)))
        elif brackets and mark == brackets[-1].closes:
            start, before = brackets.pop()[1:]
            is_call = label[max(start - 2, 0) : start - 1].isalnum()
            if is_call or _is_filled(_between(label, start, cuts[before:], match.start())):
                del cuts[before:]
            elif len(cuts) > before:
                brackets.clear()  # the symbols are brackets, as in "(, )": those around it hold nothing either
    return [part for part in _between(label, 0, cuts, len(label)) if part]


def _between(label: str, start: int, cuts: list[tuple[int, int]], end: int) -> Iterator[str]:
    for first, behind in cuts:
        yield label[start:first].strip()
        start = behind
    yield label[start:end].strip()


def _is_filled(elements: Iterator[str]) -> bool:
    """Whether no element is empty; Python writes a tuple of one element as "(a,)"."""
    for count, element in enumerate(elements):
        if not element and not (count == 1 and next(elements, None) is None):
            return False
    return True


def _meant(piece: str) -> list[str]:
    """The symbols that a piece stands for."""
    if "\\" in piece:
        return [unescape(piece)]
    if piece in WILD or len(piece) == 1:
        return [WILD.get(piece, piece)]
    if piece in DOTS:
        raise AutomatonError(f"{piece!r} leaves symbols out; write each, or a class, as in [0-9]")
    if match := CLASS.fullmatch(piece):
        return _of_class(piece, match[1])
    if match := RANGE.fullmatch(piece):
        return _of_range(piece, *match.groups())
    if piece[0] in "({[" and piece[-1] == PARTNER[piece[0]]:
        return [_bracketed(piece)]
    alternatives = BAR.split(piece)
    if len(alternatives) > 1 and all(alternatives):
        return [symbol for part in alternatives for symbol in _meant(part)]
    return [tidy(piece)]


def tidy(piece: str) -> str:
    """Blanks beside the commas of a tuple say nothing, nor does the order in a Python set."""
    if match := FROZEN.fullmatch(piece):
        return f"{{{','.join(sorted(parts(match[1])))}}}"
    return re.sub(r"\s*,\s*", ",", piece)


def _of_class(piece: str, inside: str) -> list[str]:
    symbols = [symbol for span in re.findall(r"\w-\w|\w", inside) for symbol in _span(span[0], span[-1])]
    if "-" not in inside:
        raise _several(piece, ", ".join(symbols))
    if not symbols:
        raise AutomatonError(f"{piece!r} is a range without a symbol; write the lower end first")
    return symbols


def _of_range(piece: str, first: str, mark: str, last: str) -> list[str]:
    symbols = _span(first, last)
    if not symbols:  # "C-A"
        return [piece]
    if mark in "-–" and len(symbols) < SURELY:
        raise _several(piece, f"[{first}-{last}]")
    return symbols


def _span(first: str, last: str) -> list[str]:
    """From one symbol to another of its kind; empty for two kinds, or backwards."""
    kinds = (str.isdecimal, str.islower, str.isupper)
    if first != last and not any(is_kind(first) and is_kind(last) for is_kind in kinds):
        return []
    return [chr(code) for code in range(ord(first), ord(last) + 1)]


def _bracketed(piece: str) -> str:
    """A tuple or list is one symbol; a set, and what has bars or is negated, is asked about."""
    inside = piece[1:-1].strip()
    if piece[0] == "{" and inside:
        raise _several(piece, inside)
    if piece.startswith("[^") and "," not in piece:
        raise _several(piece, "else")
    if piece[0] == "(" and len(alternatives := BAR.split(inside)) > 1 and "" not in alternatives and "(" not in inside:
        raise _several(piece, inside)
    return tidy(piece)


def _several(piece: str, symbols: str) -> AutomatonError:
    return AutomatonError(f"{piece!r:.80} may be one symbol or several; write {symbols!r:.80} for several, "
                          f"or {literal(piece):.80} for one")  # fmt: skip


def literal(piece: str) -> str:
    r"""The piece with a backslash in front of each mark: as it is written to be one symbol.

    >>> print(literal("{a, b}"))
    \{a\, b\}
    """
    return repr(re.sub(r"([^\w\s])", r"\\\1", piece)).replace("\\\\", "\\")[1:-1]
