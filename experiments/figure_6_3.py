"""Figure 6.3 of the thesis: the hidden states of all levels, one cluster for each transition."""

from __future__ import annotations

from experiments.figure import COLUMNS, LENGTH, WORDS, Figure, Finding, config_of, kept, runs
from regulargpt.storage.folder import RunFolder


def look(folder: RunFolder) -> Finding:
    """What `regulargpt verify` finds: clusters without looking at labels, and how they agree with the transitions."""
    picture, path = folder.path / "verify" / "pca.png", folder.path / "verify" / "clusters.json"
    report = kept(path, config_of(folder), "overall", "summary") if picture.exists() else None
    if report is None:
        from regulargpt.analysis.verify import clusters_report

        report = clusters_report(folder, length=LENGTH, words=WORDS)
    found = report["overall"]
    agreement = f"adjusted Rand index {found['ari']:.3f}, purity {found['purity']:.3f}"
    variance = f"{100 * sum(found['explained_variance']):.0f} % of the variance in the picture"
    # Where they do not agree, the summary ends with these numbers too.
    counted = report["summary"].partition(";")[0]
    return Finding(found["clusters"], (counted, agreement, variance), picture)


EXPERIMENT = Figure(
    "figure-6.3",
    "Clusters of hidden states, one for each transition",
    ("parity", "cycle-navigation"),
    COLUMNS,
    runs,
    published="figure-6.3",
    look=look,
)
