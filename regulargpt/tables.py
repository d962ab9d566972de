"""Tables: as text for a terminal, as Markdown, as LaTeX, as CSV. A cell is text; text that stands out is `Bold`."""

from __future__ import annotations

import csv as comma_separated
import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

Line = Sequence[str]

GAP = "  "
# A column is wrapped to no less than this, and a word in it is broken only if it is longer than that.
NARROW, LONG_WORD = 16, 40
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
}
MARKDOWN = {character: "\\" + character for character in "\\`*_[]<>|~&$#"}


class Bold(str):
    """A cell that stands out: bold in Markdown and LaTeX, with a star in text."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A header, rows as long as it, a caption, and notes below. The first `names` columns are names, on the left."""

    header: Line
    rows: Sequence[Line]
    names: int = 1
    caption: str = ""
    notes: Sequence[str] = ()
    kept: Sequence[str] = ()
    """The headers of columns that are left out last, for want of room."""


def text(table: Table, room: int | None = None) -> str:
    """For a terminal that has `room` columns: the caption, then the columns.

    >>> print(text(Table(("language", "lstm", "rnn"), [("parity", Bold("100"), "98.00")], caption="Means")))
    Means
    language  lstm  rnn
    parity    100*  98.00
    """
    lines = [tuple(plain(cell, is_name=at < table.names) for at, cell in enumerate(line)) for line in table.rows]
    notes = [note if room is None else wrapped(note, room) for note in table.notes]
    return "\n".join(
        [*([table.caption] if table.caption else []), columns(lines, table.header, room, table.kept), *notes]
    )


def plain(cell: str, is_name: bool) -> str:
    """A cell in text: hyphens for dashes, but not in a name."""
    shown = cell if is_name and cell != "–" else cell.replace("–", "-")
    return f"{shown}*" if isinstance(cell, Bold) else shown


def markdown(table: Table) -> str:
    r"""As GitHub shows it, numbers on the right.

    >>> print(markdown(Table(("a_1", "mean"), [("x|y", Bold("100"))])))
    | a\_1 | mean |
    | --- | ---: |
    | x\|y | **100** |
    """
    rule = ["---"] * table.names + ["---:"] * (len(table.header) - table.names)
    head, *body = [[styled(cell, MARKDOWN, "**{}**") for cell in line] for line in (table.header, *table.rows)]
    parts = [escaped(table.caption, MARKDOWN), piped((head, rule, *body)), *(escaped(n, MARKDOWN) for n in table.notes)]
    return "\n\n".join(filter(None, parts))


def piped(lines: Iterable[Line]) -> str:
    """Lines between pipes: a table of GitHub's Markdown, if the second is the rule."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(table: Table) -> str:
    r"""A tabular in the style of the package booktabs; with a caption, in a table.

    >>> print(latex(Table(("a_1", "mean"), [("x", Bold("99.50 ± 0.50"))])))
    \begin{tabular}{lr}
    \toprule
    a\_1 & mean \\
    \midrule
    x & \textbf{99.50 $\pm$ 0.50} \\
    \bottomrule
    \end{tabular}
    """
    head, *body = (" & ".join(latex_cell(cell) for cell in line) + r" \\" for line in (table.header, *table.rows))
    places = "l" * table.names + "r" * (len(table.header) - table.names)
    lines = [rf"\begin{{tabular}}{{{places}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par {latex_cell(note)}" for note in table.notes]
    if table.caption:
        caption = rf"\caption{{{latex_cell(table.caption)}}}"
        lines = [r"\begin{table}", r"\centering", caption, *lines, r"\end{table}"]
    return "\n".join(lines)


def csv(lines: Iterable[Sequence[object]]) -> str:
    r"""Lines as CSV, quoted where they must be, None as an empty cell.

    >>> print(csv([("run", "reason", "step"), ("a", 'says "no", leaves', None)]), end="")
    run,reason,step
    a,"says ""no"", leaves",
    """
    out = io.StringIO()
    comma_separated.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def latex_cell(value: str) -> str:
    r"""A text as LaTeX shows it character by character: two hyphens are no dash.

    >>> print(latex_cell("a_b--c"), latex_cell("98.00–100 %"))
    a\_b-{}-c 98.00--100 \%
    """
    shown = re.sub("-(?=-)", "-{}", escaped(value, LATEX)).replace("–", "--")
    return rf"\textbf{{{shown}}}" if isinstance(value, Bold) else shown


def styled(value: str, escapes: Mapping[str, str], bold: str) -> str:
    """The text escaped, and marked where it stands out."""
    return bold.format(escaped(value, escapes)) if isinstance(value, Bold) else escaped(value, escapes)


def escaped(value: str, escapes: Mapping[str, str]) -> str:
    r"""The text with the characters replaced that mean something in a format.

    >>> print(escaped("regex:(a|b)*_1", MARKDOWN), escaped("100 % & more", LATEX))
    regex:(a\|b)\*\_1 100 \% \& more
    """
    return "".join(escapes.get(character, character) for character in value)


def percent(value: float) -> str:
    """A share in percent, never rounded up to 100.

    >>> percent(100.0), percent(99.9996), percent(98.1234)
    ('100', '99.99', '98.12')
    """
    return "100" if value == 100 else f"{min(value, 99.99):.2f}"


def number(value: float, unit: str = "%") -> str:
    """A value of a measure in this unit: shares as in `percent`, others with four digits.

    >>> number(99.9996), number(1.23456, "bits")
    ('99.99', '1.235')
    """
    return percent(value) if unit == "%" else f"{value:.4g}"


def columns(rows: Sequence[Line], header: Line = (), room: int | None = None, kept: Sequence[str] = ()) -> str:
    """Columns aligned on the left, two spaces between them; no wider than `room`, if it is given.

    There texts are wrapped, and if that does not do, the last columns left out, as a line below says; those that are
    `kept` after all others.

    >>> print(columns([("parity", "2"), ("tomita-3", "5")], ("language", "states")))
    language  states
    parity    2
    tomita-3  5
    """
    lines = [tuple(header), *map(tuple, rows)] if header else [tuple(row) for row in rows]
    natural = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if room is None or total(natural) <= room:
        return aligned(lines, natural)
    if header and kept:
        return keeping(lines, natural, room, kept)
    widths = fitting(lines, natural, room) if header else [*natural[:-1], max(room - total(natural[:-1]) - 2, NARROW)]
    shown = aligned([line for cells in lines for line in broken(cells, widths, bool(header))], widths)
    return noted(shown, header[len(widths) :], room)


def keeping(lines: Sequence[Line], natural: Sequence[int], room: int, kept: Sequence[str]) -> str:
    """As many columns as fit: the first, those that are `kept`, in this order, then the others.

    >>> print(keeping([("x", "64", "128", "256"), ("a", "1.00", "2.00", "3.00")], [1, 4, 4, 4], 13, ("256", "64")))
    x  64    256
    a  1.00  3.00
    not shown for
    want of room:
    128; --wide
    shows all
    """
    header = lines[0]
    rank = {name: at for at, name in enumerate(kept)}
    order = sorted(range(len(header)), key=lambda at: rank.get(header[at], len(kept)) if at else -1)
    count = len(fitting([[line[at] for at in order] for line in lines], [natural[at] for at in order], room))
    left = sorted(order[:count])
    head, *rows = [[line[at] for at in left] for line in lines]
    return noted(columns(rows, head, room), [name for at, name in enumerate(header) if at not in left], room)


def noted(shown: str, hidden: Line, room: int) -> str:
    """A table with a line below about the columns that are left out."""
    said = f"not shown for want of room: {', '.join(hidden)}; --wide shows all"
    return f"{shown}\n{wrapped(said, room)}" if hidden else shown


def wrapped(line: str, room: int) -> str:
    """The line, broken between words where it is wider than this; a longer word, such as a path, stays whole.

    >>> print(wrapped("two principal components hold 95 %", 24))
    two principal components
    hold 95 %
    """
    return "\n".join(textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False)) or line


def aligned(lines: Sequence[Line], widths: Sequence[int]) -> str:
    """The cells side by side."""
    return "\n".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def total(widths: Sequence[int]) -> int:
    """The width of a table with these columns.

    >>> total([8, 6])
    16
    """
    return sum(widths) + len(GAP) * (len(widths) - 1)


def fitting(lines: Sequence[Line], natural: Sequence[int], room: int) -> list[int]:
    """The widths of the first columns, as many as fit, the widest ones narrowed; of the first column at least.

    >>> fitting([("parity", "words with an even number of ones", "Table 6.1")], [6, 33, 9], 40)
    [6, 21, 9]
    >>> fitting([("parity", "words with an even number of ones", "Table 6.1")], [6, 33, 9], 30)
    [6, 22]
    """
    by_column = zip(*lines, strict=True)
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in by_column]
    least = [min(own, max(NARROW, min(word, LONG_WORD))) for own, word in zip(natural, words, strict=True)]
    kept = next((n for n in range(len(natural), 1, -1) if total(least[:n]) <= room), 1)
    for most in range(room, 0, -1):
        widths = [max(low, min(own, most)) for low, own in zip(least[:kept], natural, strict=False)]
        if total(widths) <= room:
            return widths
    return least[:1]


def broken(cells: Line, widths: Sequence[int], long_words: bool) -> list[Line]:
    """A line of a table as the lines that its cells are wrapped to."""
    by_column = [
        textwrap.wrap(cell, width, break_long_words=long_words, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=False)
    ]
    return list(zip_longest(*by_column, fillvalue=""))
