"""Places that are no run folders: `hf:PATH`, the folder of a checkpoint that others trained.

A wing opens them: an entry point of the group `regulargpt.checkpoints`, whose name stands before the colon.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from languages.errors import UserError
from regulargpt.options.registry import brought, wings

if TYPE_CHECKING:
    from regulargpt.runs.opened import Opened

from regulargpt.storage.folder import CONFIG

GROUP = "regulargpt.checkpoints"


class Checkpoints(Protocol):
    """What the entry point is."""

    def holds(self, folder: str) -> bool:
        """Whether a folder has such a checkpoint in it."""
        ...

    def open(self, place: str, text: str | None, train_len: int | None, **how: Any) -> Opened:
        """The checkpoint on a text, as `open_checkpoint` gives it."""
        ...


def is_checkpoint(place: str | Path) -> bool:
    """Whether a place is written as a checkpoint's.

    >>> is_checkpoint("hf:pythia-70m"), is_checkpoint("runs/a")
    (True, False)
    """
    kind, colon, _ = str(place).partition(":")
    return bool(colon) and kind in wings(GROUP)


def is_folder(place: str) -> bool:
    """Whether this is written as a checkpoint's, and its folder holds one: no data set, which is written as hf:, too.

    >>> is_folder("hf:user/texts"), is_folder("runs/a")
    (False, False)
    """
    kind, _, folder = place.partition(":")
    return is_checkpoint(place) and brought(GROUP, kind).holds(folder)


def prefix_of(folder: str) -> str:
    """What is written before a folder that holds a checkpoint; empty of another.

    >>> prefix_of("runs/a")
    ''
    """
    is_one = os.path.isdir(folder) and not os.path.lexists(os.path.join(folder, CONFIG))  # a run is known by its own
    kinds = wings(GROUP) if is_one else ()
    return next((f"{kind}:" for kind in kinds if brought(GROUP, kind).holds(folder)), "")


def open_checkpoint(place: str | Path, text: str | None, train_len: int | None = None, **how: Any) -> Opened:
    """The checkpoint at a place, on a text that is named, opened with this `attention`, `scoring` and `device`.

    Raises UserError, before the weights are read, for what speaks against it.
    """
    kind, _, _ = str(place).partition(":")
    return brought(GROUP, kind).open(str(place), text, train_len, **how)


def refuse_text(named: str | None, train_len: int | None) -> None:
    """UserError for a text or training length that is given beside a run, which has its own."""
    for flag, value in (("--text", named), ("--train-len", train_len)):
        if value is not None:
            raise UserError(f"{flag} {value}: a run has its own; leave it out, or give a checkpoint as hf:PATH")
