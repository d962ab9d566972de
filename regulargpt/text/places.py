"""`hf:PATH` as a place: the entry point by which the core opens the checkpoints that others trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regulargpt.text.pretrained import is_of_others

if TYPE_CHECKING:
    from regulargpt.text.opened import OpenedCheckpoint


class OnDisk:
    """Checkpoints of `transformers`, in folders on disk."""

    def holds(self, folder: str) -> bool:
        return is_of_others(folder)

    def open(self, place: str, text: str | None, train_len: int | None, **how: Any) -> OpenedCheckpoint:
        from regulargpt.text.opened import open_checkpoint

        return open_checkpoint(place, text, train_len, **how)


HF = OnDisk()
