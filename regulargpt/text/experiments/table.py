"""A table of text models: its rows, the runs behind them at each scale, where it was published, and what it claims.

Perplexities of small models on other text are not compared with published ones: a page shows both, and tests claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.claims import MULTIPLES, Claim, Claims, claimed
from experiments.experiment import Column, Experiment, Fields, Scale
from experiments.published import Published, most_steps, published
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig, flat
from regulargpt.text.experiments.testing import LAST_K, Measuring, Test

CPU_CORPUS, FULL_CORPUS = "text:code", "text:code-large"
PUBLISHED_LENGTH = 512
# It runs, and nothing else.
SMOKE: Fields = {
    **{"data.train_len": 16, "data.last": 8, "data.region": 1024},
    **{"model.d_model": 16, "model.d_ff": 32},
    **{"training.steps": 4, "training.batch_size": 4, "training.warmup": 1},
    **{"evaluation.samples": 8},
}
# The published sizes and optimisers; the data are code all the same, since the published are in no package.
THESIS: Fields = {
    **{"data.train_len": PUBLISHED_LENGTH, "model.n_layers": 12, "model.d_model": 768},
    **{"model.d_ff": 3072, "model.n_heads": 12},
    **{"training.steps": 50_000, "training.batch_size": 32, "training.lr": 6e-4, "training.optimiser": "adam"},
    **{"training.beta2": 0.999, "training.weight_decay": 0.0, "training.warmup": 500, "evaluation.samples": 1000},
}
LEX: Fields = {
    **{"data.train_len": 1024, "model.d_model": 1024, "model.d_ff": 4096, "model.n_heads": 16, "model.n_layers": 24},
    **{"training.steps": 50_000, "training.batch_size": 512, "training.lr": 3e-4, "training.optimiser": "adam"},
    **{"training.beta2": 0.98, "training.weight_decay": 0.01, "training.warmup": 20_000, "training.clip": 2.0},
    **{"evaluation.samples": 1000},
}
FULL_SEEDS = 5
TEXTS = (
    "Small models on another text cannot show whether the published perplexities are right. They can show whether "
    "what was concluded from them also holds here."
)
# An option that depends on the scale is a function of the config that it is set in.
Option = Any | Callable[[RunConfig], Any]


@dataclass(frozen=True)
class Subject:
    """A row: which model is trained, on how many seeds on two cores, and what its positions see in the test.

    `full` are options of the full scale alone. In `attention`, `{L}` and `{4L}` stand for as many training lengths.
    `sharpened` is the strategy by which a temperature is found for each longer length, if any is. `base` is the config
    of each scale that the options are set in, if the row is not about text. A run that comes to less than `learned` at
    its training length, in its own measure, has nothing to lose beyond it: it is named, and counts in no figure.
    """

    title: str
    options: Mapping[str, Option]
    seeds: int = 1
    attention: str = "full"
    model: str = "transformer"
    full: Fields = field(default_factory=dict)
    sharpened: str = ""
    base: Callable[[Scale], RunConfig] | None = None
    learned: float = 0.0

    def fields(self, base: RunConfig) -> dict[str, Any]:
        """The options of the config, set over those of its scale."""
        return {key: value(base) if callable(value) else value for key, value in self.options.items()}

    def view(self, train_len: int) -> str:
        """The attention in the test.

        >>> Subject("ALiBi", {}, attention="sliding:{4L}").view(64)
        'sliding:256'
        """
        return self.attention.replace("{L}", str(train_len)).replace("{4L}", str(4 * train_len))


@dataclass(frozen=True)
class PublishedSource:
    """A published table, its data by name, and the place of a value: (data, row, length) to (row, column) there.

    Values that are numbers of symbols may be taken `in_lengths`, as multiples of the training length.
    """

    name: str
    data: Mapping[str, str]
    at: Callable[[str, str, int], tuple[str, str]]
    train_len: int = PUBLISHED_LENGTH
    groups: tuple[str, ...] = ()
    in_lengths: bool = False

    @property
    def table(self) -> Published:
        """The table."""
        return published(self.name)

    def stated(self) -> list[Mapping[str, Any]]:
        """The conditions of these data, or of the `groups` named."""
        groups = self.groups or ("", *self.data.values())
        return [known for group, known in self.table.conditions.items() if group in groups]

    def value(self, data: str, row: str, length: int) -> float | None:
        """The published value at a length; None where there is none."""
        printed = self.table.value(*self.at(data, row, length), self.table.statistics[0])
        if not isinstance(printed, float | int):
            return None
        return printed / self.train_len if self.in_lengths else printed

    def point(self, data: str) -> Callable[[str, int], float | None]:
        """The values of one data set by row and multiple of the training length."""
        return lambda row, multiple: self.value(data, row, multiple * self.train_len)


def by_data_and_length(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are lengths within a data set, columns are models."""
    return f"{data}/{length}", row


def by_length(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are lengths, columns are models."""
    return str(length), row


def by_length_and_data(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are lengths, columns are models within a data set."""
    return str(length), f"{data}/{row}"


def by_model(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are models, columns are lengths."""
    return row, str(length)


def by_data_and_model(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are models within a data set, columns are lengths."""
    return f"{data}/{row}", str(length)


@dataclass(frozen=True, kw_only=True)
class TextTable(Experiment):
    """An experiment whose cells are losses by length and whose page says which published claims hold.

    `test` is what losses are of, `multiples` the lengths shown, each so many times `unit` training lengths of the
    scale, `whole` the published sizes, `remarks` what is scaled down and how. `measuring` are further measures by name,
    and `sharpening` those that ask how attention is sharpened: that which is `shown` stands in the cells instead of
    the perplexity. Of a figure another measure is `drawn` over its `axis`, and no losses are tested.
    """

    subjects: Mapping[str, Subject]
    sources: tuple[PublishedSource, ...]
    claims: tuple[Claim, ...] = ()
    test: Test = LAST_K
    multiples: tuple[int, ...] = MULTIPLES
    unit: int = 1
    whole: Fields = field(default_factory=lambda: THESIS)
    remarks: tuple[str, ...] = ()
    measuring: Mapping[str, Measuring] = field(default_factory=dict)
    sharpening: Mapping[str, Measuring] = field(default_factory=dict)
    shown: str = ""
    drawn: str = ""
    axis: str = "length"
    about: str = TEXTS

    @property
    def is_tested(self) -> bool:
        """Whether losses are requested."""
        return not self.drawn

    def train_len(self, scale: Scale) -> int:
        """The length that multiples are of."""
        first = next(iter(self.subjects.values()))
        base = first.base(scale) if first.base else sized("transformer", scale, self.whole)
        return self.unit * base.data.train_len


def text_table(
    name: str,
    title: str,
    subjects: Mapping[str, Subject],
    sources: Sequence[PublishedSource],
    claims: Claims,
    **more: Any,
) -> TextTable:
    """The table of these rows; what a figure draws is shown in its cells, if nothing else is."""
    whole, shown = more.get("whole", THESIS), more.pop("shown", more.get("drawn", ""))
    steps = most_steps(stated for source in sources for stated in source.stated())
    return TextTable(
        name=name,
        title=title,
        rows=tuple(subjects),
        columns=(Column("trained", "trained", "trained"),),
        configs=lambda row, runs, scale: trained(subjects[row], scale, whole),
        subjects=subjects,
        sources=tuple(sources),
        claims=claimed(claims, steps),
        shown=shown,
        **more,
    )


def trained(subject: Subject, scale: Scale, whole: Fields = THESIS) -> list[RunConfig]:
    """The runs of a row, one a seed. Rows that differ in the test alone have the same."""
    base = subject.base(scale) if subject.base else sized(subject.model, scale, whole)
    fields = {**subject.fields(base), **(subject.full if scale == "full" else {})}
    seeds = {"smoke": 1, "cpu": subject.seeds, "full": FULL_SEEDS}[scale]
    return [base.replaced({**fields, "seed": seed}) for seed in range(seeds)]


def sized(model: str, scale: Scale, whole: Fields) -> RunConfig:
    """A text model's config at a scale: what all rows share."""
    base = resolve("text", model, FULL_CORPUS if scale == "full" else CPU_CORPUS)
    sizes, known = {"smoke": SMOKE, "cpu": {}, "full": whole}[scale], flat(base)
    return base.replaced({key: value for key, value in sizes.items() if key in known})
