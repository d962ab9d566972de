"""What the tests of the command line point at: finished runs of every kind, and files that cannot be read."""

import contextlib
import os
from pathlib import Path

import pytest

from regulargpt.cli import call
from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from tests.regulargpt.forging import without_kept
from tests.regulargpt.results import made
from tests.regulargpt.small import ATTENTION, COMMON, config
from tests.regulargpt.texts import text_run

ON_TEXT = ("--steps", "3", "--batch-size", "2", "--d-model", "8", "--train-len", "8", "--samples", "4")
ON_RETRIEVAL = ("--steps", "3", "--batch-size", "4", "--d-model", "8", "--test-len", "128", "--samples", "8")
WORDS = "alpha beta gamma delta use def\n"
FILES = {
    "a-file": "precious",
    "thesis.json": "precious",
    "occupied/thesis.tex": "precious",
    "broken.toml": "seed",
    "typo.toml": "[model]\nname = 'regulargpt'\nchunk_sise = 3\n",
    "nameless.toml": "[model]\nchunk_size = 3\n",
    "steps.toml": f"[training]\nsteps = 1{'0' * 400}",
    "curriculum.toml": f"[training]\ncurriculum = [8, 1{'0' * 20}]\nstage_loss = 0.1",
    "rate.toml": f"[training]\nlr = 1{'0' * 400}",
    "recipe.toml": "recipe = 'nonsense'",
    "protocol.toml": "protocol = 'thesys'",
    "hex.toml": "seed = 0x" + "f" * 5000,
    "broken.json": "{",
    "incomplete.json": '{"states": ["p"], "alphabet": ["a"], "transitions": {"p": {}}, "initial": "p", '
    '"accepting": []}',
    "digits.json": "9" * 5000,
    "half.json": '{"states": ["\\ud800"], "alphabet": ["a"], "transitions": {"\\ud800": {"a": "\\ud800"}}, '
    '"initial": "\\ud800", "accepting": []}',
    "broken.dot": "digraph { a -> ",
    "machine.txt": "a",
    "empty.txt": "",
    "short.txt": "abc def ghi",
}


def build(home: Path) -> None:
    """Everything, in an empty folder."""
    for name in ("folder", "folder.png", "occupied"):
        (home / name).mkdir()
    for name, text in FILES.items():
        (home / name).write_text(text)
    os.mkfifo(home / "fifo")
    os.symlink("nowhere", home / "dangling")
    write_text(home / "small.txt")
    with contextlib.chdir(home), open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert call(["run", "text:small.txt", *ON_TEXT, "--out", "text"]) == 0
        for name, model in (("documents", "transformer"), ("recurrent", "gru")):
            assert call(["run", "retrieval:line", "--model", model, *ON_RETRIEVAL, "--out", name]) == 0
    running.run(config("brackets", training__steps=3), home / "brackets")
    runs_on_languages(home)
    runs_on_texts(home)
    tables(home)


def write_text(path: Path, size: int = 4000, seed: int = 0) -> Path:
    """A small text, other bytes for another seed."""
    path.write_text("".join(WORDS[(i * i + i // 7 + seed) % len(WORDS)] for i in range(size)))
    return path


def runs_on_languages(home: Path) -> None:
    """`run`, `half`, which is not finished, `odd`, of odd lengths, `language`, and one a model on Parity."""
    small = config("gru", data__name="parity", objective__name="last", training__steps=11, evaluation__falsify=20)
    running.run(small, home / "run")
    unfinished(home / "half")
    odd = config("linear-rnn", data__name="modular-arithmetic", evaluation__test_len=13, training__steps=2)
    running.run(odd, home / "odd")
    running.run(config("gru", training__steps=2, evaluation__samples=2), home / "language")
    models = {"tree": "regulargpt", "attention": "transformer", "linear": "linear-rnn", "rnn": "rnn"}
    for name, model in models.items():
        own = {"model.name": model, "training.steps": 3, **(ATTENTION if name in ("tree", "attention") else {})}
        running.run(RunConfig().replaced(COMMON | own), home / name)


def runs_on_texts(home: Path) -> None:
    """A run with ALiBi, one without encodings, a recurrent one, and one whose text has changed since."""
    text_run(home / "alibi", model__encoding__name="alibi")
    for name in ("none", "changed"):
        text_run(home / name, model__encoding__name="none")
    text_run(home / "gru", "gru")
    (home / "changed" / "text").write_bytes(b"another text. " * 500)
    without_kept(home / "changed" / "run")  # one that keeps its text knows no change


def tables(home: Path) -> None:
    """A sweep of two runs, tested under two protocols, and a run that is not finished."""
    configs = {f"parity-{seed}": made.config_text("thesis-1", seed=seed) for seed in range(2)}
    made.sweep(home / "sweep", configs)
    for name, text in configs.items():
        harder = {"hard-1": made.a_test({5: 90.0, 1000: 50.0})}
        made.done(home / "sweep" / "runs" / name, {5: 100.0, 6: 100.0}, text, extra_protocols=harder)
    made.begun(home / "begun", made.config_text())


def unfinished(folder: Path, settings: RunConfig | None = None, step: int = 25) -> None:
    """A run that was stopped after this step."""

    class Stop(Exception):
        pass

    def on_step(trainer: running.Trainer) -> None:
        if trainer.step_count == step:
            raise Stop

    with pytest.raises(Stop):
        running.run(settings or config("gru"), folder, running.Watch(on_step=on_step))
