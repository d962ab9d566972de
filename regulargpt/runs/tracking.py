"""Metrics to TensorBoard, for those who watch there; metrics.jsonl remains the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def tensorboard(folder: Path, wanted: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What to call with each row of metrics; it does nothing unless wanted."""
    if not wanted:
        yield lambda row: None
        return
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder / "tensorboard")) as writer:

        def log(row: dict[str, Any]) -> None:
            for name, value in row.items():
                if name != "step":
                    writer.add_scalar(name, value, row["step"])

        yield log
