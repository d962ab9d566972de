"""Ten times as much training: whether encodings that fall beyond the training length in print do so here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments.claims import falls_below, stays_within
from regulargpt.config.schema import value_of
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, SANDWICH, longer
from regulargpt.text.experiments.table import Option, PublishedSource, Subject, by_data_and_length, text_table
from regulargpt.text.experiments.table_3_3 import DATA

# On two cores 24.6 million symbols in segments of 128.
TIMES = 10


def long(subject: Subject) -> Subject:
    """The same encoding with a layer more, trained on segments twice as long, for ten times as many steps."""
    options: Mapping[str, Option] = {
        "training.steps": lambda base: TIMES * base.training.steps,
        "model.n_layers": lambda base: value_of(base, "model.n_layers") + 1,
    }
    twice = longer(subject, 2)
    return replace(
        twice, title=f"{subject.title}, {TIMES} times as long", options={**twice.options, **options}, seeds=1
    )


CLAIMS = {
    "thesis, section 4.6.2": {
        "Sandwich falls below its value at L at 2x.": falls_below("sandwich"),
        "KERPLE-log falls below its value at L at 2x and 4x.": falls_below("kerple_log", (2, 4)),
        "ALiBi stays within 7 % of its value at L.": stays_within("alibi", 7, (2, 4, 8)),
    }
}
EXPERIMENT = text_table(
    "long-training",
    "Three encodings with ten times the training",
    {"sandwich": long(SANDWICH), "kerple_log": long(KERPLE_LOG), "alibi": long(ALIBI)},
    [PublishedSource("table-4.3", DATA, by_data_and_length)],
    CLAIMS,
    multiples=(1, 2, 4, 8),
    unit=2,
    remarks=("L is here the longer training length.",),
)
