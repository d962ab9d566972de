"""What a model is asked and how its answers are scored: one objective for each kind of supervision.

This module only lists them: it imports torch no earlier than the first `build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from regulargpt.objectives.options import (
    LastOptions,
    NextOptions,
    ObjectiveOptions,
    PrefixesOptions,
    TransductionOptions,
)
from regulargpt.options.registry import Registry, Row

if TYPE_CHECKING:
    from regulargpt.data.base import Data
    from regulargpt.objectives.answers import Objective

PLACE = "regulargpt.objectives"
OBJECTIVES = Registry(
    "supervision",
    {
        "last": Row(f"{PLACE}.answers:Last", LastOptions, "the answer to the word"),
        "prefixes": Row(f"{PLACE}.answers:Prefixes", PrefixesOptions, "the answer to every prefix"),
        "next": Row(
            f"{PLACE}.answers:Next",
            NextOptions,
            "the legal next symbols after every prefix",
            "Bhattamishra et al. 2020",
        ),
        "transduction": Row(
            f"{PLACE}.transduction:Transduction",
            TransductionOptions,
            "a row of answers behind the word",
            "Deletang et al. 2023",
        ),
    },
    ObjectiveOptions,
    "regulargpt.objectives",
)


def build(options: ObjectiveOptions, data: Data) -> Objective:
    """The objective of these options over the data.

    >>> from regulargpt.data import read_data
    >>> build(LastOptions("last"), read_data("parity")).n_outputs
    2
    """
    return OBJECTIVES[options.name].load()(data, **options.arguments())
