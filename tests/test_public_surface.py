"""Everything others may rely on, in one place: a change here is a change of the public surface and of CHANGELOG.md."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

import languages
import regulargpt
from languages.registry import FAMILIES
from regulargpt.cli import FAILED, REFUSED, STOPPED, VERBS, group
from regulargpt.config.phases import PHASES
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.config.recipes import CONSTRUCTED, RECIPES
from regulargpt.config.schema import RunConfig, keys
from regulargpt.encodings import ENCODINGS
from regulargpt.evaluation.by_length import Score
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES
from regulargpt.storage import folder
from regulargpt.storage.metrics import render_measures
from regulargpt.training.observers import OBSERVERS

FLAGS = {
    "list": "kind name --json --wide",
    "show": "language --dot --seed --json --wide",
    "sample": "language --length --count --seed --near-misses --edits --swaps --out --text --json",
    "run": (
        "language --model --recipe --protocol --chunk-size --gates --train-len --test-len --extra-lengths --samples "
        "--seed --steps --lr --batch-size --d-model --n-layers --encoding --supervision --near-misses --device "
        "--threads --snapshots --attention "
        "--certify --compile --tensorboard --set --config --out --json --wide"
    ),
    "construct": (
        "language --out --chunk-size --representation --test-len --extra-lengths --samples --seed --device --threads "
        "--json --wide"
    ),
    "sweep": (
        "languages --model --recipe --protocol --chunk-size --gates --train-len --test-len --extra-lengths --samples "
        "--seed --steps --lr --batch-size --d-model --n-layers --encoding --supervision --near-misses --device "
        "--threads --snapshots --attention "
        "--certify --set --out --engine --jobs --per-gpu --partition --account --qos --minutes --memory --cpus --gpus "
        "--retry --dry-run --json --wide"
    ),
    "resume": "folder --json --wide",
    "evaluate": (
        "folder --lengths --protocol --samples --attention --temperature --quantised --seed --device --set --json "
        "--wide"
    ),
    "shortcuts": "language --protocol --train-len --test-len --samples --seed --set --config --json --wide",
    "check": "certificate --weights --network --automaton --language --json --wide",
    "verify": "place --length --words --seed --out --json --wide",
    "extract": "folder --out --codebook --json --wide",
    "generate": "folder --prompt --symbols --temperature --seed --window --json",
    "kernels": "place --heads --length --seed --out --json --wide",
    "position-variance": "place --preset --length --updates --seed --device --out --json --wide",
    "receptive-field": "place --length --words --seed --attention --out --json --wide",
    "resolution": "place --length --words --seed --attention --out --json --wide",
    "align": "folder --length --by --on --fixed --words --seed --text --train-len --out --json --wide",
    "needles": "place --lengths --bins --words --temperature --seed --out --json --wide",
    "positions": "place --length --words --seed --out --json --wide",
    "results": "folders --group-by --pivot --where --tested --measure --format --caption --plot --json --wide",
    "reproduce": (
        "name --scale --only --model --samples --out --engine --jobs --per-gpu --partition --account --qos --minutes "
        "--memory --cpus --gpus --retry --dry-run --page-only --json --wide"
    ),
    "report": "folders --out --json",
    "demo": "language --train --run --beside --out --json",
}
KEYS = """
recipe protocol seed device threads compile tensorboard
data.name data.train_len data.train_from
objective.name objective.output_token objective.bracketings objective.merged
model.name model.chunk_size model.gates model.thickness model.d_model model.n_heads model.d_ff model.norm
model.activation model.attention_bias model.embedding_std model.embedding_scale model.state_norm model.state_noise
model.noise_loss model.noise_growth model.distinct_levels model.levels model.pad model.attention model.tied
training.steps training.batch_size training.lengths_per_step training.optimiser training.lr training.beta1
training.beta2 training.weight_decay training.clip training.warmup training.schedule training.loss_memory
training.curriculum training.stage_loss training.solved_loss training.cooldown training.log_every
training.checkpoint_every
evaluation.test_from evaluation.test_len evaluation.stride evaluation.factor evaluation.attention
evaluation.extra_lengths evaluation.samples evaluation.symbols evaluation.extra_protocols
"""
# The options of the parts that are not in the default config.
OPTIONS = {
    **dict.fromkeys(("model.rnn", "model.lstm", "model.gru", "model.linear-rnn"), "name d_model n_layers"),
    "model.ldru": "name operator d_model dropout state_noise noise_loss noise_growth",
    "model.transformer": "name d_model n_heads d_ff n_layers norm activation dropout causal encoding.name tied"
    " scale_embedding random_positions",
    "model.encoder-decoder": "name d_model n_heads d_head d_ff n_layers decoder_layers activation gated dropout"
    " encoding.name encoding.learning_rate encoding.bias_dtype encoding.buckets encoding.max_distance encoding.scale"
    " encoding.drawn encoding.train_len tied scale_readout scale_logits norm_epsilon",
    "objective.prefixes": "name",
    "objective.next": "name",
    "objective.language_model": "name",
    "objective.retrieve": "name",
    "phases.table_fine_tuning": (
        "every automaton membership_queries_from steps settling windows lr noise contraction max_error_share"
    ),
    "observers.snapshots": "count",
    "data.dyck-2": (
        "name train_len train_from members near_misses edits swaps "
        "test.members test.near_misses test.edits test.swaps test.both_classes"
    ),
    **{f"model.encoding.{name}": "name" for name in ("none", "sinusoidal")},
    **{
        f"model.encoding.kerple_{form}": "name learning_rate bias_dtype"
        for form in ("power", "log", "bias_wht", "log3")
    },
    **{f"model.encoding.gauss_{form}": "name learning_rate bias_dtype" for form in ("bias2", "bias3", "wht1", "wht2")},
    "model.encoding.learned": "name learning_rate beyond train_len",
    "model.encoding.rotary": "name layout fraction base scaling factor beta_fast beta_slow attention_factor train_len",
    "model.encoding.xpos": "name gamma scale_base zeta rotate",
    "model.encoding.alibi": "name bias_dtype slopes shift",
    "model.encoding.t5": "name learning_rate bias_dtype buckets max_distance scale drawn train_len",
    "model.encoding.sandwich": "name bias_dtype d_bar first_index",
    "model.encoding.sandwich_smooth": "name bias_dtype fit",
    "model.encoding.transformer_xl": "name learning_rate clamp",
    "model.encoding.window": "name width",
    "model.encoding.fire": "name learning_rate width train_len",
    "model.encoding.forgetting": "name learning_rate gate_bias",
    "model.encoding.cope": "name learning_rate p_max",
    "model.encoding.ssmax": "name learning_rate inner.name train_len",
    "model.encoding.log_n": "name inner.name train_len",
}
SURFACE = """
RegularGPT RunConfig Trained Transformer encodings evaluate load models objectives resume run run_with_cache
run_with_hooks verify
"""
LANGUAGES = """
parity even-pairs cycle-navigation modular-arithmetic modular-arithmetic-left-to-right tomita-N dyck-N aa-star aaaa-star
abab-star 012-02 ab-d-bc aa-bb-cc-dd-ee cyclic-N dihedral-N symmetric-N alternating-N flip-flop prefix
regex:EXPRESSION dfa:FILE
"""


@pytest.mark.parametrize("verb", FLAGS)
def test_flags(verb: str):
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    found = [
        p.opts[0] if isinstance(p, click.Option) else p.name
        for p in sorted(command.params, key=lambda p: isinstance(p, click.Option))
    ]
    assert found == FLAGS[verb].split()


def test_verbs_and_exit_codes():
    verbs = (
        "list show sample run construct sweep resume evaluate shortcuts verify check extract generate "
        "kernels position-variance receptive-field resolution needles positions align results reproduce report demo"
    )
    assert list(VERBS) == verbs.split()
    assert (REFUSED, FAILED, STOPPED) == (2, 1, 75)


def test_config_keys():
    assert keys(RunConfig()) == KEYS.split()


@pytest.mark.parametrize("part", OPTIONS)
def test_the_options_of_a_part(part: str):
    section, _, name = part.rpartition(".")
    # Of phases and observers there may be several, each in a section under its name.
    first = {"phases": {f"{part}.every": 100}, "observers": {f"{part}.count": 20}}
    chosen = first.get(section, {f"{section}.name": name})
    transformer = {"model.name": "transformer"} if section == "model.encoding" else {}
    place = f"{part}." if section in first else f"{section}."
    found = keys(RunConfig().replaced({**transformer, **chosen}))
    assert [key.removeprefix(place) for key in found if key.startswith(place)] == OPTIONS[part].split()


def test_every_part_is_here():
    default = {"model.regulargpt", "objective.last"}
    kinds = {"model": MODELS, "objective": OBJECTIVES, "model.encoding": ENCODINGS, "phases": PHASES}
    kinds["observers"] = OBSERVERS
    known = {f"{section}.{name}" for section, registry in kinds.items() for name in registry}
    assert known == (OPTIONS.keys() | default) - {"data.dyck-2"}


def test_registries():
    assert [family.pattern for family in FAMILIES] == LANGUAGES.split()
    assert list(MODELS) == [
        "regulargpt",
        "ldru",
        "rnn",
        "lstm",
        "gru",
        "transformer",
        "encoder-decoder",
        "linear-rnn",
    ]
    encodings = (
        "none sinusoidal learned rotary xpos alibi kerple_power kerple_log kerple_bias_wht kerple_log3 gauss_bias2 "
        "gauss_bias3 gauss_wht1 gauss_wht2 t5 sandwich sandwich_smooth transformer_xl window fire forgetting cope "
        "ssmax log_n"
    )
    assert " ".join(ENCODINGS) == encodings
    assert list(RECIPES) == ["answers", "words", "paper", "gpt2", "text", "retrieval"]
    expected = [
        "thesis-1",
        "regular-gpt-code-1",
        "deletang2023-1",
        "bhattamishra2020-1",
        "ldru2026-1",
        "hard-1",
        "hard-2",
    ]
    assert list(PROTOCOLS) == expected
    assert list(CONSTRUCTED) == ["constructed-matrix", "constructed-one-hot"]


def test_files_and_columns():
    assert (*folder.FINAL, folder.DONE) == (
        "config.toml",
        "environment.json",
        "metrics.jsonl",
        "measures.csv",
        "model.safetensors",
        "config.json",
        "summary.json",
        "DONE",
    )
    found = {"accuracy": {"values": {"9": 100.0}, "intervals": {"9": [51.0, 100.0]}}}
    lines = render_measures({"9": 4}, found).splitlines()
    assert lines == ["length,samples,accuracy,accuracy_low,accuracy_high", "9,4,100.0,51.0,100.0"]


def test_columns_of_the_analyses():
    from regulargpt.measurements import state_clusters

    assert " ".join(state_clusters.COLUMNS) == (
        "depth rows elements clusters gap ari purity silhouette probe control spread distance"
    )
    assert " ".join(state_clusters.STATE_COLUMNS) == "depth word start end count element least_word cluster pc1 pc2"


def test_score():
    assert list(Score.__dataclass_fields__) == [
        "measure",
        "score",
        "worst",
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

    from regulargpt.runs.sweep import folder as sweeps

    assert (sweeps.SWEEP, sweeps.CONFIGS, sweeps.RUNS, sweeps.FAILED) == ("sweep.json", "configs", "runs", "failed")
    assert sweeps.FORMAT == 2
    assert get_args(sweeps.State) == ("done", "failed", "missing")
    assert get_args(sweeps.Kind) == ("diverged", "refused", "memory", "crashed")


def test_the_package_gives_these_names_and_no_torch():
    code = "import sys, regulargpt; print(len(dir(regulargpt)) > 13, 'torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "True False\n"
    )
    assert regulargpt.__all__ == SURFACE.split()
    for name in regulargpt.__all__:
        assert getattr(regulargpt, name) is not None
    assert all((Path(package.__path__[0]) / "py.typed").exists() for package in (languages, regulargpt))
