"""LDRU (Pert, Alrajeh, Russo 2026) beside gated RegularGPT and recurrent networks: its 21 languages, its protocol.

Every network is shown final answers only: the trees by the recipe `answers`, which also proves what it can, the
recurrent ones by `words`, whose near misses the protocol takes out. The optimiser is the recipe's, not the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.answers import SETTLING
from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.table_6_1 import SEEDS
from regulargpt.config.schema import RunConfig

# No commas in the names of rows: `--only` has them between rows.
PREFIXES = {f"prefix-p{p}-k{k}": f"prefix:p={p},k={k}" for p in (1, 2, 4) for k in (2, 4)}
LANGUAGES: Mapping[str, str] = {
    **{name: name for name in ("even-pairs", "modular-arithmetic-left-to-right", "parity", "cycle-navigation")},
    **{f"dyck-{n}": f"dyck-{n}" for n in (2, 3, 4, 6, 8, 12)},
    **{f"tomita-{n}": f"tomita-{n}" for n in range(3, 8)},
    **PREFIXES,
}
RECIPES = {"ldru": "answers", "gated-regulargpt": "answers", "rnn": "words", "lstm": "words"}
MODELS = {"gated-regulargpt": "regulargpt:gates=true"}  # the others by their names
TITLES = {"ldru": "ldru", "gated-regulargpt": "gated RegularGPT", "rnn": "RNN", "lstm": "LSTM"}
SHOWN = "answers"  # in training; the header of a column says it
TREES, PROVEN = ("ldru", "gated-regulargpt"), Shows("proven")

# On two cores: of the recurrent networks as many steps as fit into three minutes of one core, the test included.
CPU_STEPS = {"rnn": 8_000, "lstm": 4_000}
# D_12 has 339,066 windows: more than other tables, and it takes thousands of steps to settle.
CPU_LARGE: Mapping[tuple[str, str], Fields] = {
    ("dyck-12", "gated-regulargpt"): {"model.d_ff": 1024, SETTLING: 12_000},
    ("dyck-12", "ldru"): {SETTLING: 16_000},
}
# The paper's steps; training ends before if the recipe has what it waits for.
FULL_STEPS, FULL_STEPS_LONG = 100_000, 1_000_000
LONG = ("modular-arithmetic-left-to-right", "dyck-4", "dyck-6", "dyck-8", "dyck-12")
# An odd stride, for D_n has members of even lengths only and arithmetic words of odd ones; 500 is among them.
CPU_TEST: Fields = {"evaluation.samples": 128, "evaluation.stride": 9}
TINY: Fields = {"model.d_model": 16}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 8, "evaluation.stride": 51}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `name` is the network.

    >>> [(c.data.name, c.recipe, c.protocol) for c in runs("prefix-p2-k4", "ldru", "cpu")]
    [('prefix:p=2,k=4', 'answers', 'ldru2026-1')]
    >>> len(runs("dyck-8", "rnn", "full")), runs("dyck-8", "rnn", "full")[0].training.steps
    (3, 1000000)
    """
    fields: dict[str, object] = {"evaluation.extra_lengths": ()}
    if scale == "smoke":
        fields |= {**SMOKE, **TINY}
    if scale == "cpu":
        steps: Fields = {"training.steps": CPU_STEPS[name]} if name in CPU_STEPS else {}
        fields |= {**CPU_TEST, **steps, **CPU_LARGE.get((row, name), {})}
    if scale == "full":
        fields["training.steps"] = FULL_STEPS_LONG if row in LONG else FULL_STEPS
    seeds = SEEDS if scale == "full" else SEEDS[:1]
    return configs(LANGUAGES[row], RECIPES[name], MODELS.get(name, name), "ldru2026", fields, seeds)


EXPERIMENT = Experiment(
    "ldru-2026",
    "LDRU's 21 languages: trained to 40 symbols, scored on 41 to 500",
    tuple(LANGUAGES),
    (
        *(Column(name, f"{title}, {SHOWN}", name) for name, title in TITLES.items()),
        *(Column(f"proven-{name}", f"{TITLES[name]}, {SHOWN}, proven", name, PROVEN) for name in TREES),
    ),
    runs,
    statements="related-mlp-ldru",
    statistics=("mean",),
)
