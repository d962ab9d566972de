"""Figure 6.3 of the thesis: the hidden states of all levels, one cluster for each monoid element."""

from __future__ import annotations

from experiments.experiment import Analysis, Experiment
from experiments.figure import COLUMNS, LENGTH, WORDS, config_of, runs, saved_report
from regulargpt.storage.folder import RunFolder


def analyse(folder: RunFolder) -> Analysis:
    """What `regulargpt verify` finds: clusters found without labels, and how they agree with the monoid elements."""
    picture, path = folder.path / "verify" / "pca.png", folder.path / "verify" / "clusters.json"
    report = saved_report(path, config_of(folder), "overall", "summary") if picture.exists() else None
    if report is None:
        from regulargpt.measurements.measuring import measured

        report = measured("clusters", folder.path, length=LENGTH, words=WORDS).report
    overall = report["overall"]
    agreement = f"adjusted Rand index {overall['ari']:.3f}, purity {overall['purity']:.3f}"
    variance = f"{100 * sum(overall['explained_variance']):.0f} % of the variance in the picture"
    # Where they do not agree, the summary ends with these numbers too.
    counted = report["summary"].partition(";")[0]
    return Analysis(overall["clusters"], (counted, agreement, variance), picture)


EXPERIMENT = Experiment(
    "figure-6.3",
    "Clusters of hidden states, one for each monoid element",
    ("parity", "cycle-navigation"),
    COLUMNS,
    runs,
    published="figure-6.3",
    analyse=analyse,
)
