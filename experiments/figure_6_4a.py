"""Figure 6.4a of the thesis: how far back the answer depends on the word, on Parity."""

from __future__ import annotations

from experiments.experiment import Analysis, Experiment
from experiments.figure import COLUMNS, LENGTH, WORDS, config_of, runs, saved_report
from regulargpt.storage.folder import RunFolder


def analyse(folder: RunFolder) -> Analysis:
    """What `regulargpt receptive-field` measures: the symbols that hold 99 % of the gradient, and how straight."""
    where = folder.path / "receptive-field"
    picture, path = where / "receptive-field.png", where / "receptive-field.json"
    report = saved_report(path, config_of(folder), "erf", "summary") if picture.exists() else None
    if report is None:
        from regulargpt.measurements.measuring import measured

        report = measured("receptive-field", folder.path, length=LENGTH, words=WORDS).report
    if report["erf"] is None:
        return Analysis("no gradient", (report["summary"],), picture)
    reach = f"reaches {report['erf']} of {report['length']} symbols back"
    straight = f"{report['deviation_from_line']:.3f} off a straight line"
    return Analysis(f"{reach}, {straight}", (report["summary"],), picture)


EXPERIMENT = Experiment(
    "figure-6.4a",
    "The receptive field covers the whole word",
    ("parity",),
    COLUMNS,
    runs,
    published="figure-6.4a",
    analyse=analyse,
)
