"""`regulargpt receptive-field`: a run's receptive field as numbers, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regulargpt import tables
from regulargpt.analysis import pictures
from regulargpt.analysis.receptive_field import ReceptiveField, receptive_field
from regulargpt.analysis.rounding import rounded
from regulargpt.analysis.subject import subject
from regulargpt.plots import title
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "receptive-field"
COLUMNS = ("m", "c", "low", "high")


def receptive_field_report(
    folder: RunFolder, *, length: int | None = None, words: int = 32, seed: int | None = None, out: Path | None = None
) -> dict[str, Any]:
    """Measure the receptive field of a finished run and write receptive-field.json, .csv and .png.

    They go to `out`, by default RUN/receptive-field. What is returned is what the JSON holds. Raises UserError, before
    anything is written, as `subject` does.
    """
    run = subject(folder, FOLDER, length=length, words=words, seed=seed, out=out)
    field = receptive_field(run.model, run.words, k_hot=run.config.objective.name == "next")
    report = {
        **run.facts,
        "summary": sentence(field, run.length),
        "erf": field.erf,
        "erf_words": field.erf_words,
        "deviation_from_line": field.deviation,
        "words_without_gradient": field.flat,
        "c": field.c.tolist(),
        "low": field.low.tolist(),
        "high": field.high.tolist(),
    }
    report, out = rounded(report), run.out
    atomic.make_folder(out)
    rows = zip(range(1, len(field.c) + 1), report["c"], report["low"], report["high"], strict=True)
    atomic.write_text(out / "receptive-field.csv", tables.csv([COLUMNS, *rows]))
    train_len = run.config.data.train_len
    pictures.receptive_field_png(out / "receptive-field.png", field, train_len, title(run.config))
    atomic.write_json(out / "receptive-field.json", report)
    return report


def sentence(field: ReceptiveField, length: int) -> str:
    """What was found, in words.

    >>> import numpy as np
    >>> c = np.array([0.5, 1.0])
    >>> sentence(ReceptiveField(c, c, c, 2, (2, 2), 0.0, 0), 2)
    '99 % of the gradient lies on 2 of 2 symbols, the most recent (2-2 in single words), 0.000 off a straight line'
    """
    if field.erf is None or field.erf_words is None:
        return f"the prediction depends on no symbol of any word of length {length}: all gradients are 0 or not finite"
    low, high = field.erf_words
    text = f"99 % of the gradient lies on {field.erf} of {length} symbols, the most recent"
    text += f" ({low}-{high} in single words), {field.deviation:.3f} off a straight line"
    return text + (f"; {field.flat} words without a gradient" if field.flat else "")
