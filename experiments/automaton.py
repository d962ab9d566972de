"""The twelve languages of Table 6.1 with the automaton: its table is what the network is trained on.

Recipe `automaton`, otherwise as in `answers`; on two cores with one seed, for Table 6.1 has three of `robust-subwords`.
D_12 with C = 3 has 203 million windows, more than are looked at.
"""

from __future__ import annotations

from experiments import answers
from experiments.experiment import Experiment, Scale
from experiments.table_6_1 import BHATTAMISHRA, DELETANG
from regulargpt.config.schema import RunConfig

NETWORKS = ("regulargpt-C2", "regulargpt-C3")
# 4.7 million windows are more than a state of 64 numbers holds without gates.
CPU_LARGE: answers.Large = {
    ("modular-arithmetic", "regulargpt-C2"): {answers.SETTLING: 14_000},
    ("modular-arithmetic", "regulargpt-C3"): {"model.d_model": 128, "model.d_ff": 512, "training.steps": 30_000},
}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell.

    >>> [(c.recipe, c.model.label) for c in runs("dyck-12", "regulargpt-C2", "smoke")]
    [('automaton', 'regulargpt-C2')]
    """
    found = answers.runs(row, name, scale, "automaton", CPU_LARGE)
    return found if scale == "full" else found[:1]


EXPERIMENT = Experiment(
    "automaton",
    "With the automaton, and proven",
    (*DELETANG, *BHATTAMISHRA),
    answers.columns(NETWORKS),
    runs,
    statistics=("mean",),
)
