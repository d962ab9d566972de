"""Golden losses: a change that should not alter training leaves them as they are, to 1e-4 on any machine.

To renew them after a change that should: `python -m tests.test_golden`.
"""

import json
from pathlib import Path

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.runs.device import prepare
from tests.regulargpt.small import trainer_of

GOLDEN = Path(__file__).parent / "golden_losses.json"
SMALL = {"device": "cpu", "data.train_len": 12, "training.batch_size": 16, "training.warmup": 5, "model.d_model": 16}
RUNS: dict[str, dict[str, object]] = {
    "regulargpt parity": {"model.state_noise": 0.1},
    "regulargpt parity post C=3": {"model.chunk_size": 3, "model.thickness": 2, "model.norm": "post"},
    "regulargpt tomita-5": {"data.near_misses": 0.5, "model.attention_bias": False, "model.activation": "relu"},
    "regulargpt cycle-navigation bracketings": {"objective.bracketings": 0.5, "training.lengths_per_step": 2},
    "regulargpt symmetric-3": {"objective.name": "prefixes", "model.distinct_levels": 2},
    "regulargpt parity gates": {"model.gates": True, "model.state_noise": 0.1, "objective.bracketings": 0.5},
    "regulargpt tomita-5 gates post C=3": {
        "model.gates": True,
        "model.chunk_size": 3,
        "model.thickness": 2,
        "model.norm": "post",
        "model.attention_bias": False,
    },
    "regulargpt symmetric-3 gates": {"model.gates": True, "objective.name": "prefixes", "model.distinct_levels": 2},
    "rnn dyck-2": {"objective.name": "next"},
    "lstm parity": {"training.optimiser": "adam", "training.weight_decay": 0.01},
    "gru cycle-navigation": {"objective.name": "prefixes", "training.schedule": "cosine"},
    "transformer tomita-5": {"model.encoding.name": "transformer_xl", "model.dropout": 0.1, "model.n_layers": 2},
    "transformer parity": {"model.encoding.name": "rotary", "model.norm": "post"},
    "encoder-decoder parity": {"model.n_layers": 2, "model.dropout": 0.1, "model.gated": True},
    "linear-rnn flip-flop": {"model.n_layers": 2},
}
STEPS = 20


def losses(name: str) -> list[float]:
    """The losses of the first steps."""
    model, language, *_ = name.split()
    config = RunConfig().replaced({"model.name": model, "data.name": language} | SMALL | RUNS[name])
    prepare(config)
    trainer = trainer_of(config)
    for _ in range(STEPS):
        trainer.step()
    return [round(loss, 6) for loss, _ in trainer.since_log]


@pytest.mark.parametrize("name", RUNS)
def test_losses(name: str):
    assert losses(name) == pytest.approx(json.loads(GOLDEN.read_text())[name], abs=1e-4)


def test_every_golden_run_is_one_of_these_and_its_losses_differ():
    golden = json.loads(GOLDEN.read_text())
    assert set(golden) == set(RUNS)
    assert all(len(set(found)) > STEPS // 2 for found in golden.values())


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: losses(name) for name in RUNS}, indent=1) + "\n")
