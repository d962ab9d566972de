"""Golden losses: a change that should not alter training leaves them as they are, to 1e-4 on any machine.

To renew them after a change that should: `python -m tests.test_golden`.
"""

import json
from pathlib import Path

import pytest

import languages
from regulargpt.config import RunConfig
from regulargpt.objectives import objective
from regulargpt.run import make_model, prepare
from regulargpt.training import Trainer

GOLDEN = Path(__file__).parent / "golden_losses.json"
SMALL = {"device": "cpu", "task.train_len": 12, "training.batch_size": 16, "training.warmup": 5, "model.d_model": 16}
RUNS: dict[str, dict[str, object]] = {
    "regulargpt parity": {"training.state_noise": 0.1},
    "regulargpt parity post C=3": {"model.chunk_size": 3, "model.thickness": 2, "model.norm": "post"},
    "regulargpt tomita-5": {"task.near_misses": 0.5, "model.attention_bias": False, "model.activation": "relu"},
    "regulargpt modular-arithmetic:plus=true": {"task.supervision": "nodes", "training.lengths_per_step": 2},
    "regulargpt cycle-navigation nodes": {
        "task.supervision": "nodes",
        "training.compositions": 32,
        "training.alignment": 0.1,
    },
    "regulargpt symmetric-3": {"task.supervision": "every", "model.distinct_levels": 2},
    "rnn dyck-2": {"task.supervision": "next"},
    "lstm parity": {"training.optimiser": "adam", "training.weight_decay": 0.01},
    "gru cycle-navigation": {"task.supervision": "every", "training.schedule": "cosine"},
    "transformer tomita-5": {"model.encoding": "transformer_xl", "model.dropout": 0.1, "model.n_layers": 2},
    "transformer parity": {"model.encoding": "rotary", "model.norm": "post"},
    "linear-rnn flip-flop": {"model.n_layers": 2},
}
STEPS = 20


def losses(name: str) -> list[float]:
    """The losses of the first steps."""
    model, language, *_ = name.split()
    config = RunConfig().replaced({"model.name": model, "task.language": language} | SMALL | RUNS[name])
    task, device = languages.get(language), prepare(config)
    goal = objective(task, config)
    trainer = Trainer(config, task, goal, make_model(config.model, goal, config.seed, device), device)
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
