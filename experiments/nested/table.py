"""Languages above the regular ones from final answers alone: RegularGPT along the brackets, and others without them.

Eight families, three languages of our own and twenty random machines (`experiments/nested/machines.py`). All networks
are shown the same words of at most 40 symbols and their answers, by the recipe `answers`, which also proves what it
can. Scored on 41 to 500 symbols, half near misses where there are members; of the families and our own also at 10,000;
and under the protocol `deep-1`, 1,000 brackets deep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.nested.machines import OWN, language
from experiments.table_6_1 import SEEDS
from regulargpt.config.schema import RunConfig

FAMILIES = ("brackets-2", "formula", "arithmetic-brackets", "json", "xml-4")
# Those that are known to take longer.
SLOW: Mapping[str, str] = {
    "arithmetic-precedence": "arithmetic-brackets:precedence=true",
    "equation": "equation",
    "list-ops": "list-ops",
}
# The first twenty of which `machines.why_skipped` says nothing, as tried.csv there has it.
RANDOM = (0, 1, 2, 4, 6, 8, 9, 10, 12, 15, 19, 20, 25, 27, 29, 30, 31, 34, 39, 40)
LANGUAGES: Mapping[str, str] = {
    **{name: name for name in FAMILIES},
    **SLOW,
    **{name: language(name) for name in OWN},
    **{f"random-{number}": language(f"random-{number}") for number in RANDOM},
}

# Model and options; a tree that is not flat follows the brackets.
NETWORKS: Mapping[str, tuple[str, str, Fields]] = {
    "gated": ("gated RegularGPT", "regulargpt", {"model.gates": True}),
    "regulargpt": ("RegularGPT", "regulargpt", {"model.gates": False}),
    "flat": ("gated RegularGPT, flat tree", "regulargpt", {"model.gates": True, "model.tree": "flat"}),
    "lstm": ("LSTM", "lstm", {"model.d_model": 256}),
    "gru": ("GRU", "gru", {"model.d_model": 256}),
    "transformer": ("Transformer", "transformer", {}),
}

NESTED = ("gated", "regulargpt")

# On two cores. Training ends before if the recipe has what it waits for.
CPU_STEPS = {"gated": 8_000, "regulargpt": 8_000, "flat": 3_000, "lstm": 2_000, "gru": 2_000, "transformer": 1_000}
CPU_SLOW_STEPS = {"gated": 20_000, "regulargpt": 20_000}
CPU_TEST: Fields = {"evaluation.samples": 64, "evaluation.stride": 13, "evaluation.symbols": 327_680}
CPU_SYMBOLS_RANDOM = 81_920
FULL_STEPS, FULL_SYMBOLS = 1_000_000, 655_360
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 4, "evaluation.stride": 51, "evaluation.symbols": 20_000}
DEEP, LONG = "deep-1", 10_000
Shown = tuple[str, str, Shows]  # of a column: what its name begins with, how its title ends, what it shows


def is_random(row: str) -> bool:
    """Whether the language of a row was drawn at random."""
    return row.startswith("random-")


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `name` is the network. A random machine is learned once, as there are twenty.

    >>> [(c.data.name, c.recipe, c.model.title) for c in runs("arithmetic-precedence", "gated", "smoke")]
    [('arithmetic-brackets:precedence=true', 'answers', 'gated-regulargpt')]
    >>> len(runs("json", "lstm", "cpu")), len(runs("random-0", "lstm", "cpu"))
    (3, 1)
    """
    _, model, options = NETWORKS[name]
    fields: dict[str, object] = {
        **options,
        # From each of 10,000 symbols to each other is more than many memories hold.
        "evaluation.extra_lengths": () if is_random(row) or name == "transformer" else (long(row),),
        # Deep words of random machines take longer to draw than such networks to train.
        "evaluation.extra_protocols": (DEEP,) if not is_random(row) or name in NESTED else (),
    }
    if scale == "smoke":
        fields |= SMOKE
    if scale == "cpu":
        steps = CPU_SLOW_STEPS.get(name, CPU_STEPS[name]) if row in SLOW else CPU_STEPS[name]
        fields |= {**CPU_TEST, "training.steps": steps}
        fields |= {"evaluation.symbols": CPU_SYMBOLS_RANDOM} if is_random(row) else {}
    if scale == "full":
        fields |= {"training.steps": FULL_STEPS, "evaluation.samples": 512, "evaluation.symbols": FULL_SYMBOLS}
    seeds = SEEDS[:1] if scale == "smoke" or is_random(row) else SEEDS
    return configs(LANGUAGES[row], "answers", model, "", fields, seeds)


def long(row: str) -> int:
    """The length of the long words: about 10,000 symbols.

    >>> long("json"), long("arithmetic-precedence")
    (10000, 10001)
    """
    return LONG + ("precedence" in row)  # with precedence all words have odd lengths


ACCURACY: Shown = ("", "", Shows())
AT_LONG: Shown = ("long-", ", 10,000 symbols", Shows(length=LONG))
AT_DEPTH: Shown = ("deep-", ", 1,000 deep", Shows(tested=DEEP))
OF_PROOF: tuple[Shown, ...] = (("proven-", ", proven", Shows("proven")), ("training-", ", training", Shows("training")))


def columns(nested: Sequence[Shown], others: Sequence[Shown]) -> tuple[Column, ...]:
    """What is shown of the trees along the brackets, then what of the other networks.

    >>> [column.title for column in columns([ACCURACY, AT_LONG], [])][:2]
    ['gated RegularGPT', 'gated RegularGPT, 10,000 symbols']
    """
    return tuple(
        Column(f"{key}{name}", f"{title}{says}", name, shows)
        for name, (title, _, _) in NETWORKS.items()
        for key, says, shows in (nested if name in NESTED else others)
    )


def shows(row: str, column: Column) -> Shows:
    """What the cells show: the long words of a row have a length of their own."""
    return replace(column.shows, length=column.shows.length and long(row))


EXPERIMENT = Experiment(
    "nested",
    "Nested words: from final answers alone, at every depth",
    tuple(row for row in LANGUAGES if not is_random(row)),
    columns([ACCURACY, AT_LONG, AT_DEPTH, *OF_PROOF], [ACCURACY, AT_LONG, AT_DEPTH]),
    runs,
    related=("related-deletang", "related-mlp-ldru", "related-ldru-list-ops"),
    shows=shows,
    statistics=("mean", "worst"),
)
