"""Today's recurrent networks beside RegularGPT, LDRU and the older ones: eight tasks, one protocol, every seed.

Each network is trained on words of 3 to 40 symbols and their last answers, without a proof in training, and tested on
41 to 256 symbols as SLiCE and PD-SSM do, and on 41 to 500 as the thesis does. Nothing was chosen on test words: the
steps are what fits into minutes, the rate of today's networks is that of those two papers, and that of the older ones
had the lower loss of two on fresh words of the training lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from experiments.claims import Bound, Claim, claimed
from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.published import published
from experiments.score_claims import Average, elsewhere, solved, unsolved
from regulargpt.config.protocols import MANY
from regulargpt.config.schema import RunConfig

# Those of the published table; then groups, and what is to be kept over symbols that change nothing.
PUBLISHED = ("parity", "even-pairs", "cycle-navigation", "modular-arithmetic")
TASKS = (*PUBLISHED, "symmetric-3", "alternating-5", "symmetric-5", "flip-flop")
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class RivalNetwork:
    """A network as it is written, and the most steps: some minutes of one core, of a slow one that learns nothing 20.

    What it is trained with beside the recipe `words` is in `fields`. It may be about some of the tasks alone.
    """

    model: str
    steps: int
    fields: Fields = field(default_factory=dict)
    tasks: tuple[str, ...] = TASKS


# With a running loss this low there is little to learn from more words. It is lower than in `words`: states that hold
# for 40 symbols are to hold for 500.
SOLVED: Fields = {"training.solved_loss": 0.005, "training.cooldown": 500}
# Whatever the recipe of a network has: all see the same words, in the same order of lengths.
ALIKE: Fields = {
    **{"training.optimiser": "adamw", "training.batch_size": 128, "training.beta2": 0.98, "training.weight_decay": 0.0},
    **{"training.warmup": 100, "training.schedule": "constant", "training.curriculum": (), "training.stage_loss": 0.0},
}
OLDER: Fields = {**ALIKE, **SOLVED, "model.d_model": 64, "training.lr": 3e-3}
# Two blocks, as published; the rate of SLiCE and PD-SSM.
RIVAL: Fields = {**OLDER, "model.n_layers": 2, "training.lr": 2e-3}
ONE_LAYER: Fields = {**RIVAL, "model.n_layers": 1}
NETWORKS: Mapping[str, RivalNetwork] = {
    "gated-regulargpt": RivalNetwork("regulargpt:gates=true", 12_000),
    "ldru": RivalNetwork("ldru", 8_000),
    "rnn": RivalNetwork("rnn:activation=tanh", 20_000, OLDER),
    "lstm": RivalNetwork("lstm", 20_000, OLDER),
    "gru": RivalNetwork("gru", 20_000, OLDER),
    "signed-delta": RivalNetwork("delta:range=signed", 4_000, RIVAL),
    "signed-delta-2": RivalNetwork("delta:range=signed,householders=2", 2_500, RIVAL),
    "signed-mamba": RivalNetwork("mamba:range=signed", 2_500, RIVAL),
    "mlstm": RivalNetwork("mlstm", 4_000, RIVAL),
    "slstm": RivalNetwork("slstm", 5_000, RIVAL),
    "gla": RivalNetwork("gla", 6_000, RIVAL),
    "pd-ssm": RivalNetwork("pd-ssm", 2_500, RIVAL),
    "rwkv7": RivalNetwork("rwkv7", 2_000, RIVAL),
    "mamba-3": RivalNetwork("mamba2:version=3", 4_000, RIVAL),
    "signed-delta-one-layer": RivalNetwork("delta:range=signed", 8_000, ONE_LAYER, ("symmetric-3",)),
    "signed-delta-2-one-layer": RivalNetwork("delta:range=signed,householders=2", 6_000, ONE_LAYER, ("symmetric-3",)),
}
# An odd stride, for arithmetic words have odd lengths only.
CPU_TEST: Fields = {"evaluation.samples": 128, "evaluation.stride": 13}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 8, "evaluation.stride": 51}
FULL: Fields = {"training.steps": published("related-pd-ssm").steps, **MANY}
TO_500 = "thesis-1"
LEARNED = 39
"""A training length at which every task has words: whether a network has learned at all."""


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `row` is a network, `name` the task.

    >>> [(c.data.name, c.protocol, c.training.steps) for c in runs("gru", "parity", "cpu")][:1]
    [('parity', 'walker2025-1', 20000)]
    """
    network = NETWORKS[row]
    if name not in network.tasks:
        return []
    fields: dict[str, object] = {"evaluation.extra_lengths": (LEARNED,), "evaluation.extra_protocols": (TO_500,)}
    fields |= network.fields
    fields |= {"smoke": SMOKE, "cpu": {**CPU_TEST, "training.steps": network.steps}, "full": FULL}[scale]
    return configs(name, "words", network.model, "walker2025", fields, SEEDS[:1] if scale == "smoke" else SEEDS)


def columns(tasks: Iterable[str]) -> tuple[Column, ...]:
    """Of these tasks the score, that of each run, that to 500 symbols, the accuracy at the training length, the first
    wrong word, and how many runs are proven.

    >>> [column.title for column in columns(["parity"])][1:]
    ['parity, each run', 'parity, to 500', 'parity, at 39', 'parity, first wrong at', 'parity, proven']
    """
    shown = (
        ("", "", Shows()),
        ("-each", ", each run", Shows("each")),
        ("-to-500", ", to 500", Shows(tested=TO_500)),
        ("-learned", f", at {LEARNED}", Shows(length=LEARNED)),
        ("-wrong", ", first wrong at", Shows("first wrong")),
        ("-proven", ", proven", Shows("proven")),
    )
    return tuple(
        Column(f"{task}{key}", f"{task}{says}", task, shows, task if task in PUBLISHED and shows == Shows() else None)
        for key, says, shows in shown
        for task in tasks
    )


TABLE = "Terzić et al. 2025, the table of regular languages"
# Of the papers whose claims these are, SLiCE's alone states its steps.
OTHERS: Mapping[tuple[str, str], Bound] = {
    ("Grazzi et al. 2025, Table 3", "Signed range learns parity."): solved(["signed-delta", "signed-mamba"], "parity"),
    ("Grazzi et al. 2025, Theorem 2", "A diagonal signed range does not learn to count modulo 5."): unsolved(
        ["signed-mamba"], "cycle-navigation"
    ),
    ("Siems et al. 2025, section 4", "n_h = 2 learns S_3 in one layer."): solved(
        ["signed-delta-2-one-layer"], "symmetric-3"
    ),
    ("Walker et al. 2025, Table 2", "mLSTM fails parity."): unsolved(["mlstm"], "parity"),
    ("Sarrof et al. 2024", "Positive diagonal steps do not learn parity."): unsolved(["gla", "mlstm"], "parity"),
    ("Beck et al. 2024", "sLSTM learns modular arithmetic."): solved(["slstm"], "modular-arithmetic"),
    ("Lahoti et al. 2026, Table 5b", "Turns that depend on the symbol learn parity and modular arithmetic."): solved(
        ["mamba-3"], "parity", "modular-arithmetic"
    ),
}
STATED = {"Walker et al. 2025, Table 2": published("related-slice").steps}
CLAIMS = (
    *claimed(
        {
            TABLE: {
                "PD-SSM averages 98.8.": Bound((Average("pd-ssm", PUBLISHED),), "above", 98.0),
                "RWKV-7 fails parity.": unsolved(["rwkv7"], "parity"),
                "An LSTM solves all four tasks.": solved(["lstm"], *PUBLISHED),
            }
        },
        published("related-pd-ssm").steps,
    ),
    *(
        Claim(sentence, source, (elsewhere(test),), steps=STATED.get(source, 0))
        for (source, sentence), test in OTHERS.items()
    ),
)
EXPERIMENT = Experiment(
    "rivals",
    "Today's recurrent networks: trained to 40 symbols, scored on 41 to 256",
    tuple(NETWORKS),
    columns(TASKS),
    runs,
    published="related-pd-ssm",
    related=("related-slice", "related-grazzi", "related-xlstm", "related-mamba-3", "related-path"),
    statistics=("mean", "worst"),
    claims=CLAIMS,
)
