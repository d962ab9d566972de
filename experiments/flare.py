"""Table 2 of Butoi et al. 2025 (FLaRe), left half: networks that recognise formal languages.

Of its eighteen languages the values of six are in our notes, and three of these are languages here. Members and
non-members are equally likely, and half of the non-members are near misses, in training and in the test. Words are
drawn anew, where theirs are 10,000, and scored beyond the lengths of the training, every length alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.experiment import Column, Experiment, Fields, Scale, configs
from experiments.table_6_1 import SEEDS
from regulargpt.config.schema import RunConfig

LANGUAGES: Mapping[str, str] = {
    "modular-arithmetic": "",
    "parity": "parity",
    "dyck-2-3": "brackets-2:bound=3",
    "stack-manipulation": "",
    "marked-reversal": "marked-reversal",
    "marked-copy": "",
}
"""Of each row our language. Empty: theirs is of words with their answers behind them, which are none here."""
TITLES = {"transformer": "Transformer", "rnn": "RNN", "lstm": "LSTM", "stack-rnn": "stack-rnn, signs"}
CPU_STEPS = {"transformer": 600, "rnn": 3_000, "lstm": 3_000, "stack-rnn": 6_000}
FULL_SEEDS, FULL_STEPS = tuple(range(10)), 100_000
TEST: Fields = {"evaluation.extra_lengths": ()}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 8, "evaluation.stride": 49}
CPU_TEST: Fields = {"evaluation.samples": 64, "evaluation.stride": 21}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `name` is the network.

    >>> [(c.data.name, c.recipe, len(c.tested)) for c in runs("dyck-2-3", "lstm", "smoke")]
    [('brackets-2:bound=3', 'words', 10)]
    >>> runs("marked-copy", "lstm", "cpu")
    []
    """
    if not LANGUAGES[row]:
        return []
    fields: dict[str, object] = {**TEST}
    if scale == "smoke":
        fields |= SMOKE
    if scale == "cpu":
        fields |= {**CPU_TEST, "training.steps": CPU_STEPS[name]}
    if scale == "full":
        fields |= {"training.steps": FULL_STEPS, "evaluation.samples": 512}
    seeds = FULL_SEEDS if scale == "full" else SEEDS[:1] if scale == "smoke" or name != "stack-rnn" else SEEDS
    return configs(LANGUAGES[row], "answers" if name == "stack-rnn" else "words", name, "", fields, seeds)


EXPERIMENT = Experiment(
    "flare-2025",
    "Training Neural Networks as Recognizers of Formal Languages, Table 2: words of at most 500 symbols",
    tuple(LANGUAGES),
    tuple(Column(name, title, name, published=None if name == "stack-rnn" else name) for name, title in TITLES.items()),
    runs,
    published="related-flare",
    statistics=("mean",),
)
