"""Small runs on a text that the tests write: what `tests.regulargpt.small` is for languages."""

from pathlib import Path
from typing import Any

from languages.randomness import rng
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.storage.folder import RunFolder

TRAIN_LEN = 8
SMALL = {
    "device": "cpu",
    "data.train_len": TRAIN_LEN,
    "training.steps": 3,
    "training.batch_size": 4,
    "evaluation.test_len": 16,
    "evaluation.samples": 4,
    "model.d_model": 8,
}
ATTENTION = {"model.n_heads": 2, "model.d_ff": 16}
OPTIONS: dict[str, dict[str, Any]] = {
    "transformer": {**ATTENTION, "model.n_layers": 2},
    "regulargpt": {**ATTENTION, "model.chunk_size": 3, "model.thickness": 2},
}


def write_text(path: Path, size: int = 6_000) -> str:
    """A file of lower-case letters; its name as a corpus. Its last tenth is the test part."""
    path.write_bytes(bytes(rng(0, "text").integers(97, 123, size, dtype="uint8")))
    return f"text:{path}"


def text_config(name: str, model: str = "transformer", **changes: Any) -> RunConfig:
    """A config with options changed: `training__steps=3`."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    config = resolve(None, model, name)
    return config.replaced({**SMALL, **OPTIONS.get(model, {}), **dotted})


def text_run(folder: Path, model: str = "transformer", **changes: Any) -> RunFolder:
    """A finished run in `folder`/run, on the text `folder`/text."""
    folder.mkdir(parents=True, exist_ok=True)
    running.run(text_config(write_text(folder / "text"), model, **changes), folder / "run")
    return RunFolder.open(folder / "run")
