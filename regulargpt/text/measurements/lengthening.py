"""`regulargpt lengthen`: a bias trained beside a network's own encoding, and what a text costs with it and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt import findings
from regulargpt.evaluation.bias import Bias
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.findings.files import refuse_file
from regulargpt.measurements.rounding import rounded
from regulargpt.plots import Line
from regulargpt.runs.again import Retest
from regulargpt.runs.opened import Opened
from regulargpt.runs.run import UNWATCHED, Watch
from regulargpt.storage import metrics
from regulargpt.storage.folder import METRICS
from regulargpt.text.lengthening import FILE, Lengthening, lengthen
from regulargpt.text.measurements.method_scores import BITS, SCORES, Points
from regulargpt.text.measurements.method_tables import TRAINED, data, line, samples, sentence, tables, values_of
from regulargpt.text.measurements.methods import lengths_of

FOLDER, UNBIASED = "lengthen", "the same without bias"


def lengthen_report(
    run: Opened,
    training: Lengthening,
    *,
    lengths: str | None = None,
    words: int = 32,
    out: Path | None = None,
    watch: Watch = UNWATCHED,
) -> Finding:
    """Train the bias, test the network with it and without on the test part, and write bias.json and the finding.

    Tested is at the training length and its doubles up to that of the segments, or at `lengths`. Raises UserError as
    `lengthen` does, and for a length that cannot be tested, before anything is written.
    """
    run = replace(run, config=run.config.replaced({"evaluation.samples": words}))  # type: ignore[type-var]
    training = replace(training, length=training.length or 2 * run.train_len)
    out = refuse_file(run.results(FOLDER) if out is None else out)
    training.config(run)
    given = lengths or ",".join(map(str, sorted({training.length, *doubles(run.train_len, training.length)})))
    tested, _ = lengths_of(run, given)
    without = {TRAINED: {}, **({UNBIASED: training.changes} if training.changes else {})}
    bias = lengthen(run, training, out, watch)
    tests = {name: points(run, tested, changes, None, watch) for name, changes in without.items()}
    tests[bias.kernel] = points(run, tested, bias.changes, bias, watch)
    finding = finding_of(run, training, bias, tests, metrics.read_rows(out / METRICS), out / FILE)
    findings.write(finding, out)
    return finding


def doubles(train_len: int, length: int) -> list[int]:
    """The training length and its doubles up to a length.

    >>> doubles(64, 300)
    [64, 128, 256]
    """
    return [train_len << n for n in range(length.bit_length()) if train_len << n <= length]


def points(run: Opened, lengths: Sequence[int], changes: Mapping[str, Any], bias: Bias | None, watch: Watch) -> Points:
    """The test at those lengths that the network, so changed, has positions for."""
    config = run.config.replaced({f"model.{key}": value for key, value in changes.items()})
    fitting = [T for T in lengths if config.network.too_long(T) is None]
    if not fitting:
        raise UserError(f"length {lengths[0]}: {config.network.too_long(lengths[0])}")
    test = Retest.prepare(run, config, fitting, config.seed)
    return {point.length: point for point in test.points(test.model(changes, bias=bias), watch)}


def finding_of(
    run: Opened,
    training: Lengthening,
    bias: Bias,
    tests: Mapping[str, Points],
    rows: Sequence[Mapping[str, Any]],
    file: Path,
) -> Finding:
    """Tables with the bias and without, the curve of its training, and how far its perplexity lies from the other's."""
    base, trained, before = run.train_len, tests[TRAINED], run.facts("train_len")
    values = rounded({"tests": {name: values_of(of, trained, base, SCORES) for name, of in tests.items()}})
    lengths = [str(T) for T in sorted({T for of in tests.values() for T in of})]
    said = sentence(values["tests"], max(set(lengths) & {*map(str, trained)}, key=int))
    steps = [(row["step"], row["loss"], row[BITS.measure]) for row in rows]
    title = f"{run.data.name}, {before['model']}: {samples(trained)} segments, {run.trained_on}"
    facts = {key: getattr(training, key) for key in ("length", "steps", "batch_size", "lr", "seed")}
    facts |= {"changes": dict(training.changes or {}), "bias": str(bias), "file": str(file)}
    return Finding(
        name="lengthen",
        title=title,
        facts=before | facts,
        values={**values, "numbers": rounded(dict(bias.numbers)), "summary": said},
        data=data(values["tests"], SCORES),
        more={"training": Data(("step", "loss", BITS.measure), steps)},
        picture=picture(title, values["tests"], steps, base),
        tables=tables(values["tests"], lengths, BITS),
        sentence=said,
        notes=[*run.notes, f"{bias}; use it with --bias {file}"],
    )


def picture(title: str, tests: Mapping[str, Any], steps: Sequence[tuple[int, float, float]], base: int) -> Picture:
    """Bits per byte by length, a line a test, and those of the training by step."""
    by_length = [line(name, of[BITS.measure], [int(T) for T in of[BITS.measure]]) for name, of in tests.items()]
    training = Line("training segments", [step for step, _, _ in steps], [bits for _, _, bits in steps])
    return Picture(
        [
            Curves(by_length, Axis("length", True), Axis(BITS.label), {"training length": base}),
            Curves([training], Axis("step", False), Axis(BITS.label)),
        ],
        title,
    )
