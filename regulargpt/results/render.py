"""Groups as a table: for the terminal, for Markdown, for LaTeX, and as CSV with every digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from regulargpt.cli.output import percent, table
from regulargpt.results.row import Value, cell, render_csv
from regulargpt.results.statistics import Group

HEADER = ("max", "mean", "sd", "95 % interval", "below 99 % at", "runs", "failed", "proven")
NUMBERS = ("max", "mean", "sd", "low", "high", "first_below_99", "n_runs", "n_failed", "n_proven", "n_asked")

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

    >>> group = Group(("parity",), 3, 1, (98.0, 100.0), 100.0, 99.0, 1.41421, 98.0, 100.0, 73, 1, 2)
    >>> print(text([group], ["language"]))
    language  max  mean   sd    95 % interval  below 99 % at  runs  failed  proven
    parity    100  99.00  1.41  98.00-100      73             3     1       1 of 2
    """
    return table([cells(group, "-", "-") for group in groups], (*by, *HEADER))


def markdown(groups: Sequence[Group], by: Sequence[str]) -> str:
    """A table of GitHub's Markdown, numbers on the right."""
    rule = ["---"] * len(by) + ["---:"] * len(HEADER)
    return markdown_table((*by, *HEADER), rule, [cells(group, "–", "–") for group in groups])


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
    lines = [(*by, *HEADER), *(cells(group, "–", "–") for group in groups)]
    first, *rest = (" & ".join(latex_cell(part) for part in line) + r" \\" for line in lines)
    columns = "l" * len(by) + "r" * len(HEADER)
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
    lines = [[cell(value) for value in (*group.key, *numbers(group))] for group in groups]
    return render_csv([(*by, *NUMBERS), *lines]).removesuffix("\n")


FORMATS: dict[str, Callable[[Sequence[Group], Sequence[str]], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
}


def numbers(group: Group) -> list[Value]:
    """The statistics of a group, in the order of NUMBERS."""
    return [getattr(group, name) for name in NUMBERS]


def cells(group: Group, dash: str, blank: str) -> tuple[str, ...]:
    """A group as people read it: shares in percent with two digits, never rounded up to 100."""
    interval = blank if group.low is None or group.high is None else f"{percent(group.low)}{dash}{percent(group.high)}"
    return (
        *(one_line(value) or blank for value in group.key),
        *(blank if value is None else percent(value) for value in (group.max, group.mean)),
        blank if group.sd is None else f"{group.sd:.2f}",
        interval,
        blank if group.first_below_99 is None else f"{group.first_below_99}",
        f"{group.n_runs}",
        f"{group.n_failed}",
        f"{group.n_proven} of {group.n_asked}" if group.n_asked else blank,
    )


def escaped(value: str, escapes: dict[str, str]) -> str:
    """The text with the characters replaced that mean something in a format.

    >>> print(escaped("regex:(a|b)*_1", MARKDOWN), escaped("100 % & more", LATEX))
    regex:(a\\|b)\\*\\_1 100 \\% \\& more
    """
    return "".join(escapes.get(character, character) for character in value)


def one_line(value: Value) -> str:
    """A value without what would break a line or steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in cell(value)).split())
