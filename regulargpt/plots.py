"""Pictures, drawn by matplotlib without a screen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regulargpt.colours import BLUE, GREY, VERMILION
from regulargpt.config import RunConfig
from regulargpt.storage.atomic import write_bytes

if TYPE_CHECKING:
    from regulargpt.evaluation import Point


def accuracy_png(path: Path, points: Sequence[Point], config: RunConfig) -> None:
    """Accuracy by length with its 95 % interval, chance, and where training ended."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    lengths = [p.length for p in points]
    low, high = zip(*(p.interval for p in points), strict=True)
    band = {"color": BLUE, "alpha": 0.25, "linewidth": 0, "label": "95 % interval over the words"}
    axes.fill_between(lengths, [100 * x for x in low], [100 * x for x in high], **band)
    axes.plot(lengths, [100 * p.accuracy for p in points], color=BLUE, marker=".", markersize=3, linewidth=1.2)
    axes.axhline(100 / len(points[0].label_shares), color=GREY, linestyle=":", linewidth=1, label="chance")
    if config.training.steps:
        axes.axvline(config.task.train_len, color=VERMILION, linestyle="--", linewidth=1, label="longest training word")
    if lengths[-1] > 4 * config.evaluation.test_len:
        axes.set_xscale("log")
    axes.set(xlabel="length T", ylabel="accuracy (%)", ylim=(-2, 102))
    axes.set_title(title(config), parse_math=False)  # a dollar of a user's regular expression is a dollar
    axes.legend(loc="lower left", frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    write_bytes(path, buffer.getvalue())


def title(config: RunConfig) -> str:
    """The run in a line.

    >>> title(RunConfig())
    'parity, regulargpt C = 2, trained on T <= 40, seed 0'
    """
    model = f"regulargpt C = {config.model.chunk_size}" if config.model.name == "regulargpt" else config.model.name
    how = f"trained on T <= {config.task.train_len}" if config.training.steps else config.recipe
    return f"{config.task.language}, {model}, {how}, seed {config.seed}"
