"""Twenty random visibly pushdown machines (`experiments/nested/machines.py`) from final answers alone, one run each."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.nested.table import ACCURACY, AT_DEPTH, LANGUAGES, OF_PROOF, columns, is_random, runs

EXPERIMENT = Experiment(
    "nested-random",
    "Random visibly pushdown machines, from final answers alone",
    tuple(filter(is_random, LANGUAGES)),
    columns([ACCURACY, AT_DEPTH, *OF_PROOF], [ACCURACY]),
    runs,
    statistics=("mean", "worst"),
)
