"""The networks of the atlas: a model, a recipe, and the caps that let all of them fit into hours of a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.atlas.algebra import SCORED
from experiments.experiment import Fields
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig, value_of

SAMPLES = 64
"""Words that are tested at each length."""
TEST: Fields = {
    "evaluation.test_len": SCORED[-1],
    "evaluation.stride": SCORED.step,
    "evaluation.samples": SAMPLES,
    "evaluation.extra_lengths": (),
    # Seconds are lost where a run is killed without warning, and 3,564 folders are smaller.
    "training.checkpoint_every": 2_000,
}
TREE_STEPS, RNN_STEPS, LSTM_STEPS, TRANSFORMER_STEPS, TANH_STEPS, RIVAL_STEPS = 1_200, 1_500, 1_200, 700, 6_000, 1_000
BATCH, WIDTH = 64, 128
TABLE = "phases.table_fine_tuning"
# A table of at most 60 x 60 windows: fewer of them a step, and a shorter end.
TREES: Fields = {
    "training.steps": TREE_STEPS,
    "training.batch_size": 128,
    f"{TABLE}.windows": 128,
    f"{TABLE}.steps": 600,
    f"{TABLE}.settling": 0,
}
BASELINE: Fields = {"training.batch_size": BATCH, "training.cooldown": 100}
# On five drawn languages half the batch learned as well in as many steps, by the loss at training lengths.
RIVAL: Fields = {
    **{"model.d_model": 32, "model.n_layers": 2, "training.lr": 2e-3},
    **{"training.batch_size": BATCH // 2, "training.cooldown": 100, "training.steps": RIVAL_STEPS},
}
# As in `encodings-languages`.
SMALL: Fields = {
    **{"model.n_layers": 2, "model.norm": "pre", "model.activation": "gelu", "model.dropout": 0.0},
    **{"model.causal": True, "training.lr": 1e-3, "training.steps": TRANSFORMER_STEPS},
}


@dataclass(frozen=True)
class AtlasNetwork:
    """A network: its column in tables, its model and recipe, and what differs from that."""

    name: str
    title: str
    model: str
    recipe: str
    fields: Fields = field(default_factory=dict)

    def config(self, file: Path, changes: Fields | None = None) -> RunConfig:
        """The run on the language in this file; `changes` are options set over those of the network."""
        config = resolve(self.recipe, self.model, f"dfa:{file}")
        return config.replaced({**TEST, **self.fields, **(changes or {})})


def budget(config: RunConfig) -> int:
    """The most steps of a run: those of the config and, where a table is found by then, those that it is trained for.

    >>> budget(resolve("answers", "rnn", "parity", {"training.steps": 6_000}))
    6000
    >>> budget(resolve("answers", "ldru", "parity", TREES))
    1800
    """
    return config.training.steps + sum(value_of(config, f"{TABLE}.{part}") or 0 for part in ("steps", "settling"))


def networks(*rows: AtlasNetwork) -> Mapping[str, AtlasNetwork]:
    """By their names."""
    return {network.name: network for network in rows}


NETWORKS: Mapping[str, AtlasNetwork] = networks(
    AtlasNetwork("gated", "gated RegularGPT", "regulargpt:gates=true", "answers", TREES),
    AtlasNetwork("regulargpt", "RegularGPT", "regulargpt:gates=false", "answers", TREES),
    AtlasNetwork(
        "regulargpt-known",
        "RegularGPT, automaton known",
        "regulargpt:gates=false",
        "answers",
        {**TREES, f"{TABLE}.automaton": "known"},
    ),
    AtlasNetwork("ldru", "ldru", "ldru", "answers", TREES),
    AtlasNetwork("rnn", "RNN", "rnn", "words", {**BASELINE, "model.d_model": WIDTH, "training.steps": RNN_STEPS}),
    AtlasNetwork("tanh-rnn", "RNN, tanh", "rnn", "answers", {"training.steps": TANH_STEPS}),
    AtlasNetwork("lstm", "LSTM", "lstm", "words", {**BASELINE, "model.d_model": WIDTH, "training.steps": LSTM_STEPS}),
    AtlasNetwork("signed-delta", "DeltaNet, signed", "delta:range=signed", "words", RIVAL),
    AtlasNetwork("signed-mamba", "Mamba, signed", "mamba:range=signed", "words", RIVAL),
    AtlasNetwork(
        "transformer-none",
        "Transformer, no encoding",
        "transformer",
        "words",
        {**BASELINE, **SMALL, "model.encoding": "none"},
    ),
    AtlasNetwork(
        "transformer-alibi",
        "Transformer, ALiBi",
        "transformer",
        "words",
        {**BASELINE, **SMALL, "model.encoding": "alibi"},
    ),
)
