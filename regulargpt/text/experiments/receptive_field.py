"""Figures of receptive fields: how the gradient of the last symbol lies on those before it (thesis, chapter 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.claims import Bound, Claims, above, below
from regulargpt.measurements.options import HELD, REACH
from regulargpt.text.experiments.table import PublishedSource, Subject, TextTable, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import FIELD, GRADIENT

REMARK = f"Gradients are those of the true next symbol, of segments of {REACH} L symbols, as in print."


def field_figure(
    name: str,
    title: str,
    subjects: Mapping[str, Subject],
    claims: Claims,
    *,
    remarks: tuple[str, ...] = (),
    **more: Any,
) -> TextTable:
    """The curves of these rows, and in the cells their empirical receptive fields, if nothing else is `shown`."""
    usual = {"measuring": quantities(FIELD, GRADIENT), "shown": FIELD, "multiples": (REACH,)}
    source = PublishedSource(name, {"arxiv": "ArXiv"}, by_length, in_lengths=usual["shown"] == more.get("shown", FIELD))
    return text_table(
        name,
        title,
        subjects,
        [source],
        claims,
        remarks=(REMARK, *remarks),
        drawn=GRADIENT,
        axis="recent symbols",
        **{**usual, **more},
    )


def reaches_beyond(row: str, is_printed: bool = True) -> Bound:
    """The empirical receptive field is longer than a training segment."""
    return above(FIELD, row, 1, at=REACH, is_printed=is_printed)


def stays_inside(row: str) -> Bound:
    """The empirical receptive field is within a training segment; printed as less than that."""
    return below(FIELD, row, 1, at=REACH)


def spreads(row: str) -> Bound:
    """The last L symbols hold less than 99 % of the gradient."""
    return below(GRADIENT, row, HELD, at=1)
