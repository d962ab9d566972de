"""Networks that carry a state from answers alone, proven at every length: the rows of Table 6.1, D_12 and S_5.

Recipe `answers` of rnn (tanh), gru and lstm: the automaton that the network's own answers give, points for its states,
and boxes round the points. Modular Arithmetic is left out: final answers do not teach it to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.table_6_1 import BHATTAMISHRA, DELETANG, SEEDS
from regulargpt.config.protocols import MANY
from regulargpt.config.schema import RunConfig

LANGUAGES: Mapping[str, str] = {
    **{name: name for name in (*DELETANG, *BHATTAMISHRA) if name != "modular-arithmetic"},
    "abab-star": "abab-star",
    "symmetric-5": "symmetric-5",
}
TITLES = {"rnn": "RNN, tanh", "gru": "GRU", "lstm": "LSTM"}
# Every thirteenth length, even and odd ones, 496 among them.
CPU_TEST: Fields = {"evaluation.samples": 128, "evaluation.stride": 13, "training.steps": 6_000}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 8, "evaluation.stride": 51}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell; `name` is the network.

    >>> [(c.data.train_len, c.recipe, c.model.label) for c in runs("parity", "gru", "smoke")]
    [(40, 'answers', 'gru')]
    """
    fields: dict[str, object] = {"evaluation.extra_lengths": ()}
    fields |= {"smoke": SMOKE, "cpu": CPU_TEST, "full": MANY}[scale]
    return configs(LANGUAGES[row], "answers", name, "", fields, SEEDS[:1] if scale == "smoke" else SEEDS)


def columns(names: Iterable[str]) -> tuple[Column, ...]:
    """Of these networks the accuracy, how many runs are proven with points, and as they are, the first wrong word, and
    the seconds.

    >>> [column.title for column in columns(["gru"])][1:3]
    ['GRU, proven', 'GRU, proven as it is']
    """
    shown = (("", "", Shows()), ("proven-", ", proven", Shows("proven")))
    shown += (("boxes-", ", proven as it is", Shows("as it is")), ("wrong-", ", first wrong at", Shows("first wrong")))
    shown += (("training-", ", training", Shows("training")),)
    return tuple(
        Column(f"{key}{name}", f"{TITLES[name]}{says}", name, shows) for key, says, shows in shown for name in names
    )


EXPERIMENT = Experiment(
    "chains",
    "Networks that carry a state, from final answers alone, and proven",
    tuple(LANGUAGES),
    columns(TITLES),
    runs,
    statistics=("mean", "worst"),
)
