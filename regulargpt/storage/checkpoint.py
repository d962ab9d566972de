"""Checkpoints: folder/checkpoints/000001000/{model.safetensors,state.pt,manifest.json}, the last two kept.

A checkpoint is built under another name, synced, and renamed when complete, so that a name of digits always
means a whole checkpoint. Loading trusts nothing: the newest checkpoint whose digests hold is used, and reports those
that it skipped.
"""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError
from regulargpt.storage import atomic, manifest, tensors

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = "checkpoints"
WEIGHTS = "model.safetensors"
STATE = "state.pt"
KEPT = 2
# Counted up with what a checkpoint keeps. Another version is refused; before 1.0 none is converted.
FORMAT = 5
_NAME = re.compile(r"(\.replaced-)?([0-9]{9,})")


@dataclass(frozen=True)
class Checkpoint:
    """What training needs to go on after `step`, and why newer checkpoints, if any, were passed over."""

    step: int
    weights: dict[str, "Tensor"]
    state: dict[str, Any]
    skipped: tuple[str, ...] = ()


def save(folder: Path, step: int, weights: Mapping[str, "Tensor"], state: Mapping[str, Any]) -> Path:
    """Save a checkpoint of the run in `folder` and remove all but the last two; returns where it lies.

    `weights` is a model's state dict; `state` holds tensors and plain values only (TypeError otherwise).
    Checkpoints of later steps are removed: they are those that loading passed over. After a crash at any
    moment `load_latest` finds the old or the new checkpoint, whole. Raises StorageError if the disk refuses;
    the old checkpoint is then intact.
    """
    if step < 0:
        raise ValueError(f"step {step} is negative; steps count from 0")
    files = _render(step, weights, state)
    parent = folder / FOLDER
    final = parent / f"{step:09d}"
    atomic.make_folder(parent)
    draft = parent / f".building-{final.name}"
    with atomic.reported(final):
        try:
            _build(draft, files)
            _install(draft, final)
        except BaseException:
            # The first failure is what to report; what cannot be removed now is removed by the next save.
            with contextlib.suppress(OSError):
                atomic.remove_tree(draft)
            raise
        # Last: until the new checkpoint is in place, the old ones are all that there is.
        _prune(parent, final, step)
    return final


def _render(step: int, weights: Mapping[str, "Tensor"], state: Mapping[str, Any]) -> dict[str, bytes]:
    files = {
        WEIGHTS: tensors.render_weights(weights),
        STATE: tensors.render_state({"format": FORMAT, "step": step, "state": state}),
    }
    digests = {name: manifest.digest(data) for name, data in files.items()}
    return files | {manifest.NAME: manifest.render(digests)}


def load_latest(folder: Path) -> Checkpoint | None:
    """The newest valid checkpoint of the run in `folder`, with what was passed over; None if there is none.

    Raises IntegrityError if there are checkpoints but all are damaged, UserError for a checkpoint of another version.
    """
    skipped: list[str] = []
    for step, path in _candidates(folder / FOLDER):
        try:
            return _load(path, step, tuple(skipped))
        except (manifest.IntegrityError, atomic.FormatError, atomic.StorageError) as error:
            # A newer checkpoint that merely cannot be opened now must not be overwritten by training on from an older.
            if not manifest.is_damage(error):
                raise
            skipped.append(str(error))
    if skipped:
        place = atomic.shown(folder / FOLDER)
        raise manifest.IntegrityError(
            f"no checkpoint in {place} can be used ({'; '.join(skipped)}); remove that folder to start again"
        )
    return None


def _load(path: Path, step: int, skipped: tuple[str, ...]) -> Checkpoint:
    contents = manifest.read_verified(path, (WEIGHTS, STATE))
    saved = tensors.parse_state(contents[STATE], path / STATE)
    # The folder's name is in no digest; a renamed folder would put wrong steps behind right weights.
    if not isinstance(saved, dict) or saved.get("step") != step or not isinstance(saved.get("state"), dict):
        place = atomic.shown(path / STATE)
        raise atomic.FormatError(f"{place} is not the state of step {step}; undo a renaming of its folder")
    if saved.get("format") != FORMAT:
        # Not damaged: whole, and of use to the version that wrote it.
        place = atomic.shown(path.parent)
        message = f"{place} was saved by another version of this program; use that one"
        raise UserError(f"{message}, or remove that folder to start again")
    return Checkpoint(step, tensors.parse_weights(contents[WEIGHTS], path / WEIGHTS), saved["state"], skipped)


def _candidates(parent: Path) -> list[tuple[int, Path]]:
    # Newest first; of a step the new before the old that it replaces.
    with atomic.reported(parent):
        names = atomic.disk.names(parent) if atomic.disk.is_folder(parent) else []
    matches = [(int(match[2]), match[1] is None, name) for name in names if (match := _NAME.fullmatch(name))]
    return [(step, parent / name) for step, _, name in sorted(matches, reverse=True)]


def _build(draft: Path, files: Mapping[str, bytes]) -> None:
    if atomic.disk.is_folder(draft):
        atomic.remove_tree(draft)
    atomic.disk.make_folder(draft)
    for name, data in files.items():
        atomic.write_new(draft / name, data)
    atomic.disk.sync_folder(draft)


def _install(draft: Path, final: Path) -> None:
    if atomic.disk.is_folder(final):
        # A folder cannot be renamed over another: the old keeps a name that `load_latest` still knows.
        aside = final.with_name(f".replaced-{final.name}")
        if atomic.disk.is_folder(aside):
            atomic.remove_tree(aside)
        atomic.disk.replace(final, aside)
    atomic.disk.replace(draft, final)
    atomic.disk.sync_folder(final.parent)


def _prune(parent: Path, final: Path, step: int) -> None:
    # Two: should the newest be damaged later, the checkpoint before it is still there.
    older = [path for other, path in _candidates(parent) if other < step]
    kept = {final.name, *(path.name for path in older[: KEPT - 1])}
    for name in atomic.disk.names(parent):
        path = parent / name
        if name not in kept and (_NAME.fullmatch(name) or name.startswith(".building-")):
            atomic.remove_tree(path)
