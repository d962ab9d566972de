"""Everything others may rely on, in one place: a change here is a change of the public surface and of CHANGELOG.md."""

import importlib

import click
import pytest

import languages
from languages.registry import FAMILIES
from regulargpt.cli import FAILED, REFUSED, STOPPED, VERBS
from regulargpt.config import keys
from regulargpt.encodings import ENCODINGS
from regulargpt.evaluation import Score
from regulargpt.models import MODELS
from regulargpt.protocols import PROTOCOLS
from regulargpt.recipes import CONSTRUCTED, RECIPES
from regulargpt.storage import folder
from regulargpt.storage.metrics import render_accuracy

FLAGS = {
    "list": "kind --json --wide",
    "show": "language --dot --seed --json --wide",
    "sample": "language --length --count --seed --near-misses --edits --exchanges --out --text --json",
    "run": (
        "language --model --recipe --protocol --chunk-size --train-len --test-len --beyond --samples --seed --steps "
        "--lr --batch-size --d-model --n-layers --encoding --supervision --near-misses --device --threads --certify "
        "--compile --tensorboard --set --config --out --json --wide"
    ),
    "construct": (
        "language --out --chunk-size --representation --test-len --beyond --samples --seed --device --threads "
        "--json --wide"
    ),
    "sweep": (
        "languages --model --recipe --protocol --chunk-size --train-len --test-len --beyond --samples --seed --steps "
        "--lr --batch-size --d-model --n-layers --encoding --supervision --near-misses --device --threads --certify "
        "--set --out --engine --jobs --per-gpu --partition --account --qos --minutes --memory --cpus --gpus --retry "
        "--dry-run --json --wide"
    ),
    "resume": "folder --json --wide",
    "evaluate": "folder --lengths --protocol --samples --seed --device --set --json --wide",
    "shortcuts": "language --protocol --train-len --test-len --samples --seed --set --config --json --wide",
    "check": "certificate --weights --network --automaton --language --json --wide",
    "verify": "folder --length --words --seed --out --json --wide",
    "extract": "folder --out --codebook --json --wide",
    "receptive-field": "folder --length --words --seed --out --json --wide",
    "results": "folders --group-by --where --tested --format --plot --json --wide",
    "reproduce": (
        "name --scale --only --out --engine --jobs --per-gpu --partition --account --qos --minutes --memory --cpus "
        "--gpus --retry --dry-run --page-only --json --wide"
    ),
    "report": "folders --out --json",
}
KEYS = """
recipe protocol seed device threads compile tensorboard
task.language task.train_from task.train_len task.supervision task.members task.near_misses task.edits task.exchanges
task.output_token
model.name model.d_model model.n_heads model.d_ff model.n_layers model.norm model.activation model.dropout model.causal
model.encoding model.chunk_size model.thickness model.attention_bias model.embedding_std model.embedding_scale
model.state_norm model.distinct_levels model.levels model.pad model.attention
training.steps training.batch_size training.lengths_per_step training.optimiser training.lr training.beta1
training.beta2 training.weight_decay training.clip training.warmup training.schedule training.loss_memory
training.node_weight training.compositions training.alignment
training.state_noise training.noise_below training.noise_growth training.curriculum
training.stage_below training.solved_below training.cooldown training.certify_every
training.anchor_steps training.anchor_windows training.anchor_lr
training.anchor_noise training.anchor_contraction training.anchor_missed
training.log_every training.checkpoint_every
evaluation.test_from evaluation.test_len evaluation.stride evaluation.beyond evaluation.samples evaluation.symbols
evaluation.members evaluation.near_misses evaluation.edits evaluation.exchanges evaluation.both_classes evaluation.also
"""
LANGUAGES = """
parity even-pairs cycle-navigation modular-arithmetic modular-arithmetic-left-to-right tomita-N dyck-N aa-star aaaa-star
abab-star 012-02 ab-d-bc aa-bb-cc-dd-ee cyclic-N dihedral-N symmetric-N alternating-N flip-flop
regex:EXPRESSION dfa:FILE
"""


@pytest.mark.parametrize("verb", FLAGS)
def test_flags(verb: str):
    command: click.Command = importlib.import_module(f"regulargpt.cli.{verb.replace('-', '_')}_").command
    found = [
        p.opts[0] if isinstance(p, click.Option) else p.name
        for p in sorted(command.params, key=lambda p: isinstance(p, click.Option))
    ]
    assert found == FLAGS[verb].split()


def test_verbs_and_exit_codes():
    verbs = (
        "list show sample run construct sweep resume evaluate shortcuts verify check extract receptive-field results "
        "reproduce report bench"
    )
    assert list(VERBS) == verbs.split()
    assert (REFUSED, FAILED, STOPPED) == (2, 1, 75)


def test_config_keys():
    assert keys() == KEYS.split()


def test_registries():
    assert [family.pattern for family in FAMILIES] == LANGUAGES.split()
    assert list(MODELS) == ["regulargpt", "rnn", "lstm", "gru", "transformer", "linear-rnn"]
    assert list(ENCODINGS) == ["none", "sinusoidal", "rotary", "alibi", "transformer_xl"]
    assert list(RECIPES) == ["robust", "robust-nodes", "paper", "gpt2"]
    expected = ["thesis-1", "regular-gpt-code-1", "deletang2023-1", "bhattamishra2020-1", "hard-1", "hard-2"]
    assert list(PROTOCOLS) == expected
    assert list(CONSTRUCTED) == ["constructed-matrix", "constructed-one-hot"]


def test_files_and_columns():
    assert (*folder.FINAL, folder.DONE) == (
        "config.toml",
        "environment.json",
        "metrics.jsonl",
        "accuracy.csv",
        "model.safetensors",
        "config.json",
        "summary.json",
        "DONE",
    )
    assert render_accuracy([]) == "length,accuracy,samples\n"


def test_columns_of_the_analyses():
    from regulargpt.analysis import dependence, verify

    assert " ".join(verify.COLUMNS) == (
        "depth rows elements clusters gap ari purity silhouette probe control spread distance"
    )
    assert " ".join(verify.STATE_COLUMNS) == "depth word start end count element least_word cluster pc1 pc2"
    assert " ".join(dependence.COLUMNS) == "m c low high"


def test_score():
    assert list(Score.__dataclass_fields__) == [
        "score",
        "min_accuracy",
        "first_below_99",
        "first_below_90",
        "chance",
        "majority",
    ]


def test_python():
    exported = {"Dfa", "MooreMachine", "Semiautomaton", "Task", "TransitionMonoid", "UserError", "get", "rng"}
    assert exported <= set(languages.__all__)
    assert all(hasattr(languages, name) for name in languages.__all__)


def test_the_folder_of_a_sweep():
    from typing import get_args

    from regulargpt.sweep import folder as sweeps

    assert (sweeps.SWEEP, sweeps.CONFIGS, sweeps.RUNS, sweeps.FAILED) == ("sweep.json", "configs", "runs", "failed")
    assert sweeps.FORMAT == 1
    assert get_args(sweeps.State) == ("done", "failed", "missing")
    assert get_args(sweeps.Kind) == ("diverged", "refused", "memory", "crashed")
