"""The page of a comparison of methods: what helps, by length, what each method is, and how it was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regulargpt.classroom.document import document
from regulargpt.findings import Curves, Finding, Picture
from regulargpt.findings.html import html, table
from regulargpt.findings.markup import section, tag, text
from regulargpt.storage.atomic import write_text
from regulargpt.tables import Table
from regulargpt.text.evaluation.methods import METHODS

RATIO = (
    "x as trained is the perplexity over that of the network as it was trained, at the same length: below 1 a method "
    "helps. In brackets stand 95 % intervals."
)
TRAINED, MOST_BANDS = next(iter(METHODS)), 3
BANDS = (
    f"Bands are 95 % intervals. Of more than {MOST_BANDS} lines two have one, the others would hide each other: the "
    "network as it was trained, and the method that is best at the longest length."
)
MADE_WITH = {
    **{"device": "device", "device_name": "processor", "threads": "threads", "torch": "PyTorch", "numpy": "NumPy"},
    **{"python": "Python", "regulargpt": "regulargpt", "source": "SHA-256 of the source"},
}


def write(finding: Finding, out: Path) -> None:
    """Write the page. StorageError if the disk refuses."""
    write_text(out, render(finding))


def render(finding: Finding) -> str:
    """The page as text: one file, with nothing fetched from anywhere."""
    report = finding.report
    named = tag("h2", text(f"{report['model']} on {report['language']}"), id="run-0")
    badge = tag("p", tag("strong", text(f"{finding.sentence[0].upper()}{finding.sentence[1:]}.")), class_="badge")
    parts = [
        tag("header", named, tag("p", text(finding.title), class_="identity"), badge),
        html(plain(finding), "By length", kind="lengths", folded=False),
        section("methods", "What each method is", methods(report)),
        *([section("left-out", "What was left out", left_out(report))] if report["left_out"] else []),
        section("facts", "How it was measured", facts(report)),
    ]
    article = tag("article", *parts, class_="run text", data_run=0, aria_labelledby="run-0")
    return document(
        title=f"What helps on longer texts: {report['model']}",
        heading="What helps on longer texts",
        skip=("runs", "To the tables"),
        body=tag("main", article, id="runs", class_="runs"),
        data={},
        styles=("page.css", "regulargpt.text.classroom:text.css"),
    )


def plain(finding: Finding) -> Finding:
    """The curves with few bands, and the tables, the ratios first."""
    first, second, *more = finding.tables
    captioned = [Table(each.header, each.rows, caption=each.header[0]) for each in (second, first, *more)]
    left = len(finding.report["left_out"])  # said in a section of its own
    curves = [few_bands(panel) for panel in finding.picture.panels if isinstance(panel, Curves)]
    return Finding(
        name="lengths",
        title="",
        picture=Picture(curves),
        tables=captioned,
        notes=[BANDS, RATIO, *finding.notes[: len(finding.notes) - left]],
    )


def few_bands(panel: Curves) -> Curves:
    """Of many lines only that of the network as it was trained and the lowest at the longest length keep their bands.

    >>> from regulargpt.findings import Axis
    >>> from regulargpt.plots import Line
    >>> ends = {"trained": 5.0, "yarn": 4.0, "bca": 3.0, "ntk": math.nan}
    >>> lines = [Line(name, [64], [end], [end], [end]) for name, end in ends.items()]
    >>> [line.name for line in few_bands(Curves(lines, Axis("length"), Axis("bits"))).lines if line.low]
    ['trained', 'bca']
    """
    if len(panel.lines) <= MOST_BANDS:
        return panel
    ends = {line.name: line.values[-1] for line in panel.lines if line.name != TRAINED}
    best = min(ends, key=lambda name: (math.isnan(ends[name]), ends[name]))
    plain = {line.name: replace(line, low=(), high=()) for line in panel.lines if line.name not in (TRAINED, best)}
    return replace(panel, lines=[plain.get(line.name, line) for line in panel.lines])


def methods(report: dict[str, Any]) -> str:
    """Each method that was tried, with who published it and how a test is asked for it."""
    rows = [(name, *told(name), settings_text(report["settings"][name])) for name in report["methods"]]
    return table(Table(("method", "what", "source", "flags of evaluate"), rows, caption="The methods"))


def told(name: str) -> tuple[str, str]:
    """What a method is, and its source.

    >>> told("bca")
    ('the block of half a training length, and the one before', 'Sun et al. 2023')
    """
    return METHODS[name].summary, METHODS[name].source


def settings_text(settings: Mapping[str, Any]) -> str:
    """The flags of a method: once, or by length where they differ.

    >>> settings_text({"64": {"flags": "--set factor=1.0"}, "128": {"flags": "--set factor=2.0"}})
    '64: --set factor=1.0; 128: --set factor=2.0'
    """
    by_length = {int(T): of["flags"] for T, of in settings.items()}
    if len(set(by_length.values())) == 1:
        return min(by_length.values())
    return "; ".join(f"{T:,}: {text}" for T, text in sorted(by_length.items()))


def left_out(report: dict[str, Any]) -> str:
    """Each method that this network cannot be tested by, and why."""
    return tag("dl", *(tag("dt", text(name)) + tag("dd", text(why)) for name, why in report["left_out"].items()))


def facts(report: dict[str, Any]) -> str:
    """How it was measured, in a list."""
    return tag("dl", *(tag("dt", text(name)) + tag("dd", text(value)) for name, value in lines(report)))


def lines(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each fact with its name."""
    how, segments = report["how"], report["segments"]
    yield "protocol", protocol(how)
    yield "segments", "; ".join(f"{count:,} of {int(length):,} symbols" for length, count in segments.items())
    yield "training length", f"{report['train_len']:,}"
    yield "seed of the segments", f"{report['seed']}"
    yield "SHA-256 of the text", how["corpus"]["sha256"]
    yield "digest of the weights", how["weights"]
    yield from ((name, f"{how['made_with'][key]}") for key, name in MADE_WITH.items())
    if how["classes"]:
        yield "classes from outside", json.dumps(how["classes"])


def protocol(how: dict[str, Any]) -> str:
    """The scoring with its number.

    >>> protocol({"scoring": "last_k", "last": 32}), protocol({"scoring": "position"})
    ('last_k: the last 32 symbols of each segment', 'position: all symbols')
    """
    more = {
        "last_k": f"the last {how.get('last')} symbols of each segment",
        "last": "the last symbol of each segment",
        "sliding": f"the last {how.get('step')} symbols of windows that move by as many",
    }
    return f"{how['scoring']}: {more.get(how['scoring'], 'all symbols')}"
