"""What tests of checkpoints share, of whatever architecture: `transformers` in silence, and folders that are spoilt."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from languages.errors import UserError


def quiet() -> Any:
    """`transformers`, without what it prints."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def refused(load: Callable[[Path], Any], folder: Path, reason: str) -> None:
    """That it is refused in one line, for this reason."""
    with pytest.raises(UserError, match=reason) as error:
        load(folder)
    assert "\n" not in str(error.value)


def taken_apart(folder: Path, kind: str) -> Iterator[str]:
    """A folder loses one thing after the other, and what is said each time."""
    (folder / "model.safetensors").unlink()
    yield "has no model.safetensors; give the folder of a checkpoint in safetensors"
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    yield "pytorch_model.bin is a pickle, which may run code when it is opened; .* writes safetensors"
    (folder / "config.json").write_text("[]")
    yield "config.json is not a JSON object"
    (folder / "config.json").unlink()
    yield f"has no config.json; give the folder of a {kind} checkpoint, as `save_pretrained` writes it"
    shutil.rmtree(folder)
    yield "no such folder; a checkpoint is read from disk: download it first"
