"""Groups as a table: for the terminal, for Markdown, for LaTeX, and as CSV with every digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from regulargpt.cli.output import percent, table
from regulargpt.results.row import Value, cell, render_csv
from regulargpt.results.statistics import Group

HEADER = ("max", "mean", "sd", "range", "below 99 % at", "runs", "failed", "proven")
INTERVAL = "median, 95 % interval"
NUMBERS = ("max", "mean", "sd", "min", "low", "high", "first_below_99", "n_runs", "n_failed", "n_proven", "n_asked")

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
}
MARKDOWN = {character: "\\" + character for character in "\\`*_[]<>|~&$#"}


def text(groups: Sequence[Group], by: Sequence[str]) -> str:
    """For the terminal.

    >>> group = Group(("parity",), 3, 1, (98.0, 100.0), 100.0, 99.0, 1.41421, 98.0, None, None, 73, 1, 2)
    >>> print(text([group], ["language"]))
    language  max  mean   sd    range      below 99 % at  runs  failed  proven
    parity    100  99.00  1.41  98.00-100  73             3     1       1 of 2
    """
    return table(lines(groups, "-", "-"), (*by, *header(groups)))


def markdown(groups: Sequence[Group], by: Sequence[str]) -> str:
    """A table of GitHub's Markdown, numbers on the right."""
    names = header(groups)
    rule = ["---"] * len(by) + ["---:"] * len(names)
    return markdown_table((*by, *names), rule, lines(groups, "–", "–"))


def markdown_table(header: Sequence[str], rule: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Any table in Markdown, its texts as they are; `rule` says how its columns are set.

    >>> print(markdown_table(["a"], ["---:"], [["x|y"]]))
    | a |
    | ---: |
    | x\\|y |
    """
    first, *rest = ([escaped(part, MARKDOWN) for part in line] for line in (header, *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in (first, rule, *rest))


def latex(groups: Sequence[Group], by: Sequence[str]) -> str:
    """A tabular in the style of the package booktabs."""
    names = header(groups)
    all_lines = [(*by, *names), *lines(groups, "–", "–")]
    first, *rest = (" & ".join(latex_cell(part) for part in line) + r" \\" for line in all_lines)
    columns = "l" * len(by) + "r" * len(names)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *rest, r"\bottomrule", r"\end{tabular}"]
    )


def latex_cell(value: str) -> str:
    """A text as LaTeX shows it character by character: two hyphens are no dash.

    >>> print(latex_cell("a_b--c"), latex_cell("98.00–100 %"))
    a\\_b-{}-c 98.00--100 \\%
    """
    return re.sub("-(?=-)", "-{}", escaped(value, LATEX)).replace("–", "--")


def comma_separated(groups: Sequence[Group], by: Sequence[str]) -> str:
    """CSV: numbers as they are, nothing for what there is not."""
    values = [[cell(value) for value in (*group.key, *numbers(group))] for group in groups]
    return render_csv([(*by, *NUMBERS), *values]).removesuffix("\n")


FORMATS: dict[str, Callable[[Sequence[Group], Sequence[str]], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
}


def numbers(group: Group) -> list[Value]:
    """The statistics of a group, in the order of NUMBERS."""
    return [getattr(group, name) for name in NUMBERS]


def header(groups: Sequence[Group]) -> tuple[str, ...]:
    """The names of the statistics; that of the interval only where a group has one."""
    after = HEADER.index("range") + 1
    return (*HEADER[:after], *[INTERVAL] * has_interval(groups), *HEADER[after:])


def has_interval(groups: Iterable[Group]) -> bool:
    """Whether a group has so many runs that there is an interval."""
    return any(group.low is not None for group in groups)


def lines(groups: Sequence[Group], dash: str, blank: str) -> list[tuple[str, ...]]:
    """The groups as people read them, in the columns of their header."""
    shown = has_interval(groups)
    return [cells(group, dash, blank, shown) for group in groups]


def cells(group: Group, dash: str, blank: str, interval: bool) -> tuple[str, ...]:
    """A group as people read it: shares in percent with two digits, never rounded up to 100."""
    return (
        *(one_line(value) or blank for value in group.key),
        *(blank if value is None else percent(value) for value in (group.max, group.mean)),
        blank if group.sd is None else f"{group.sd:.2f}",
        span(group.min, group.max, dash, blank),
        *[span(group.low, group.high, dash, blank)] * interval,
        blank if group.first_below_99 is None else f"{group.first_below_99}",
        f"{group.n_runs}",
        f"{group.n_failed}",
        f"{group.n_proven} of {group.n_asked}" if group.n_asked else blank,
    )


def span(low: float | None, high: float | None, dash: str, blank: str) -> str:
    """From the one to the other.

    >>> span(98.0, 100.0, "-", "none"), span(None, None, "-", "none")
    ('98.00-100', 'none')
    """
    return blank if low is None or high is None else f"{percent(low)}{dash}{percent(high)}"


def escaped(value: str, escapes: dict[str, str]) -> str:
    """The text with the characters replaced that mean something in a format.

    >>> print(escaped("regex:(a|b)*_1", MARKDOWN), escaped("100 % & more", LATEX))
    regex:(a\\|b)\\*\\_1 100 \\% \\& more
    """
    return "".join(escapes.get(character, character) for character in value)


def one_line(value: Value) -> str:
    """A value without what would break a line or steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in cell(value)).split())
