"""`regulargpt receptive-field`: a run's receptive field as numbers, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.data import is_text
from regulargpt.data.base import Words
from regulargpt.measurements import pictures
from regulargpt.measurements.receptive_field import HELD, ReceptiveField, Targets, receptive_field, theoretical
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.subject import Subject, subject
from regulargpt.measurements.text_subject import TextSubject, text_subject
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "receptive-field"
COLUMNS = ("m", "c", "low", "high")
SHARES = (0.5, 0.9, HELD)
WORDS, SEGMENTS = 32, 48


def receptive_field_report(
    folder: RunFolder,
    *,
    length: int | None = None,
    words: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    attention: str = "full",
) -> dict[str, Any]:
    """Measure the receptive field of a finished run and write receptive-field.json, .csv and .png.

    Of a run on a language it is that of the predicted answer to 32 words, of a run on a text that of the symbol that
    comes next in 48 segments. The files go to `out`, by default RUN/receptive-field. What is returned is what the JSON
    holds. Raises UserError, before anything is written, as `subject` and `text_subject` do, and for a language model
    that depends on no symbol.
    """
    run = looked_at(folder, length=length, words=words, seed=seed, out=out, attention=attention)
    read, targets = inputs(run)
    k_hot = run.config.objective.name == "next"
    with run.seen():
        bound = theoretical(run.model, run.length)
        field = receptive_field(run.model, read, k_hot=k_hot, targets=targets)
    if targets is not None and field.erf is None:
        raise UserError(f"{atomic.shown(run.run)}: {sentence(field, run.length)}; there is nothing to measure")
    summary = sentence(field, run.length) if targets is None else text_sentence(field, run.length, run.train_len)
    report = {
        **run.facts,
        "target": "predicted" if targets is None else "true",
        "summary": summary,
        "erf": field.erf,
        "erf_words": field.erf_words,
        "erf_by_share": {f"{q:g}": field.erf_at(q) for q in SHARES},
        "share_in_train_len": field.share(run.train_len),
        "theoretical": bound,
        "deviation_from_line": field.deviation,
        "words_without_gradient": field.flat,
        "c": field.c.tolist(),
        "low": field.low.tolist(),
        "high": field.high.tolist(),
    }
    report = rounded(report)
    rows = zip(range(1, len(field.c) + 1), report["c"], report["low"], report["high"], strict=True)

    def picture(path: Path, report: dict[str, Any], title: str) -> None:
        pictures.receptive_field_png(path, field, run.train_len, title, bound)

    run.write(report, [COLUMNS, *rows], picture)
    return report


def looked_at(
    folder: RunFolder, *, length: int | None, words: int | None, seed: int | None, out: Path | None, attention: str
) -> Subject | TextSubject:
    """The run, with words of its language or segments of its text."""
    if is_text(RunConfig.parse(folder.config_text).data.name):
        count = SEGMENTS if words is None else words
        return text_subject(
            folder, FOLDER, length=length, segments=count, seed=seed, attention=attention, out=out, paired=True
        )
    count = WORDS if words is None else words
    return subject(folder, FOLDER, length=length, words=count, seed=seed, out=out, attention=attention)


def inputs(run: Subject | TextSubject) -> tuple[Words, Targets | None]:
    """What is read, and the answers that are differentiated if they are not the predicted ones."""
    return (run.words, None) if isinstance(run, Subject) else (run.segments[:, :-1], run.segments[:, -1])


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


def text_sentence(field: ReceptiveField, length: int, train_len: int) -> str:
    """The same of a text: the fewest most recent symbols for each share, and the share within the training length.

    >>> import numpy as np
    >>> c = np.array([0.5, 0.6, 1.0])
    >>> text_sentence(ReceptiveField(c, c, c, 3, (3, 3), 0.0, 0), 3, 2).split("; ")[1]
    'the last 2, the training length, hold 60.0 %'
    """
    counts = "{}, {} and {}".format(*(field.erf_at(q) for q in SHARES))
    text = f"50, 90 and 99 % of the gradient lie on the last {counts} of {length} symbols"
    if length > train_len:
        text += f"; the last {train_len}, the training length, hold {100 * (field.share(train_len) or 0.0):.1f} %"
    return text + (f"; {field.flat} segments without a gradient" if field.flat else "")
