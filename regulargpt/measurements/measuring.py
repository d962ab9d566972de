"""Measuring a run: opened, measured, what comes out written into its folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from regulargpt import plots
from regulargpt.findings import Finding, write
from regulargpt.findings.draw import figure
from regulargpt.findings.files import refuse_file
from regulargpt.measurements import MEASUREMENTS
from regulargpt.measurements.options import ClusterOptions, MeasurementOptions
from regulargpt.options.registry import load
from regulargpt.runs.opened import HasResults, Opened
from regulargpt.storage import atomic


def measured(
    name: str,
    place: str | Path | None,
    out: Path | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, count: None,
    notice: Callable[[str], None] = lambda text: None,
    begun: Callable[[], None] = lambda: None,
    ending: str = "png",
    inches: float | None = None,
    **values: Any,
) -> Finding:
    """Measure a finished run, or what else a measurement can be of, and write the files of what comes out.

    They go to `out`, by default RUN/`name`; of what is no run, only where `out` is given. `values` are options. A
    measurement that keeps results on its way is given `out`, and tells `notice` of them. `begun` is called once what is
    measured is open. Pictures have the `ending` png, pdf or svg, and are so many `inches` wide.

    Raises UserError, before anything is computed, for what speaks against it, and for an `out` that is a file.
    """
    row = MEASUREMENTS[name]
    options = row.options(**values)
    assert isinstance(options, MeasurementOptions)
    if out is not None:
        refuse_file(out)
    subject = options.subject(None if place is None else str(place))
    begun()
    if out is None and isinstance(subject, HasResults):
        out = refuse_file(subject.results(options.files or name))
    loaded = row.load()
    measure = loaded.measure if isinstance(loaded, type) else loaded  # a class is from outside
    given, wanted = {"progress": progress, "notice": notice, "out": out}, inspect.signature(measure).parameters
    more = {key: value for key, value in given.items() if key in wanted}
    finding = measure(subject, options, **more)
    if isinstance(subject, Opened):
        from regulargpt.measurements.sample import notes_of_length  # with torch, which a refusal does without

        is_chosen = getattr(options, "length", 0) is None
        chosen = notes_of_length(subject, finding.report.get("length")) if is_chosen else []
        finding = replace(finding, notes=[*subject.notes, *chosen, *finding.notes])
    if out is not None:
        write(finding, out, ending, inches)
        if options.page:
            load(options.page)(finding, out / f"{finding.name}.html")
    return finding


def draw_map(folder: Path) -> Path:
    """Draw the map of a run's states into its folder, as `measured("clusters", folder)` does, alone; where it is."""
    from regulargpt.measurements.state_clusters import map_of

    options = ClusterOptions()
    subject = options.subject(str(folder))
    place = refuse_file(subject.results(options.files)) / "pca.png"
    drawn = figure(map_of(subject, options))
    atomic.make_folder(place.parent)
    plots.save(place, drawn)
    return place
