"""All encodings on formal languages: a causal Transformer each, with RegularGPT and recurrent models beside them."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.experiment import Column, Experiment, Fields, Scale
from regulargpt.config.protocols import MANY
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig

LANGUAGES = (
    *("parity", "even-pairs", "cycle-navigation", "modular-arithmetic"),
    *("tomita-3", "tomita-4", "tomita-5", "tomita-6", "dyck-2", "dyck-4"),
)
# As on the command line. A learned table gives every position behind it its last vector; with `random` the positions of
# a training word are drawn from as many as the longest test word has.
RANDOM = "+random"
ENCODINGS = (
    *("none", "sinusoidal", "sinusoidal+random", "learned:beyond=clamp", "rotary", "xpos", "alibi", "window:width=8"),
    *("transformer_xl", "t5", "kerple_power", "kerple_log", "kerple_log3", "kerple_bias_wht", "sandwich"),
    *("sandwich_smooth", "gauss_bias2", "gauss_bias3", "gauss_wht1", "gauss_wht2"),
    *("fire", "forgetting", "cope", "ssmax", "ssmax:inner=rotary", "log_n:inner=rotary"),
)
LONGEST = 100
BESIDE = ("regulargpt", "rnn", "lstm", "linear-rnn")
TRANSFORMER: Fields = {
    **{"model.n_layers": 2, "model.norm": "pre", "model.activation": "gelu", "model.dropout": 0.0},
    **{"model.causal": True, "training.lr": 1e-3},
}
# About a minute of one core a cell, or less where training is solved.
STEPS: Mapping[str, int] = {"transformer": 1_500, "regulargpt": 6_000, "rnn": 2_000, "lstm": 1_500, "linear-rnn": 1_500}
SMOKE: Fields = {"training.steps": 5, "evaluation.samples": 8, "evaluation.stride": 30}
CPU: Fields = {"training.cooldown": 100, "evaluation.samples": 128, "evaluation.stride": 3}
FULL: Fields = {"training.steps": 20_000, **MANY}
FULL_SEEDS = 3


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `row` is an encoding, or a model beside them, `name` the language.

    >>> [(c.model.encoding.name, c.scored[0], c.test_len) for c in runs("alibi", "parity", "cpu")]
    [('alibi', 41, 100)]
    """
    model = row if row in BESIDE else "transformer"
    base = resolve("words", model, name)
    fields: dict[str, object] = {"evaluation.test_len": LONGEST, "evaluation.extra_lengths": ()}
    if model == "transformer":
        encoding = row.removesuffix(RANDOM)
        fields |= {**TRANSFORMER, "model.encoding": encoding}
        fields |= {"model.random_positions": LONGEST} if encoding != row else {}
    if scale == "cpu":
        fields |= {**CPU, "training.steps": STEPS[model]}
    fields |= {"smoke": SMOKE, "cpu": {}, "full": FULL}[scale]
    return [base.replaced({**fields, "seed": seed}) for seed in range(FULL_SEEDS if scale == "full" else 1)]


EXPERIMENT = Experiment(
    "encodings-languages",
    "Every encoding on formal languages: trained to 40 symbols, scored on 41 to 100",
    (*ENCODINGS, *BESIDE),
    tuple(Column(name, name, name, fails_at=True) for name in LANGUAGES),
    runs,
    statistics=("mean",),
)
