"""An experiment in a folder: a sweep of its runs, and beside them its page, written from whatever is there.

DIR/sweep.json, configs/, runs/, failed/, results.csv    the sweep, shared by all experiments in the folder
DIR/NAME-SCALE/page.html, page.md, page.json             the page, with the pictures of the Markdown
DIR/NAME-SCALE/sittings.json                             seconds that were spent, one number a sitting
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments.cells import Comparison
from experiments.compare import compare
from experiments.experiment import Experiment, Scale
from experiments.figure import Figure, Finding
from experiments.page.files import RECORD, to_json, write_from_record
from experiments.page.recording import Made, record
from experiments.shortcuts import with_panels
from languages.errors import UserError
from regulargpt.results.rows import rows
from regulargpt.storage import atomic
from regulargpt.storage.folder import ENVIRONMENT, RunFolder
from regulargpt.sweep.folder import SweepFolder

SITTINGS = "sittings.json"
# Of environment.json, what a reader of the page wants to know.
SHOWN = ("commit", "source", "python", "torch", "numpy", "device", "device_name", "cpu_count", "system")


def place(path: Path, experiment: Experiment, scale: Scale) -> Path:
    """Where the page lies."""
    return path / f"{experiment.name}-{scale}"


def write_page(path: Path, experiment: Experiment, scale: Scale) -> dict[str, Any]:
    """Write the page from the runs in the sweep folder `path`; what page.json holds.

    Raises UserError if `path` is no sweep folder, or nothing of the experiment was asked for there.
    """
    folder = SweepFolder.open(path)
    found = with_panels(look(experiment, scale, folder), path)
    made = Made(command(found, path), tuple(sittings(path, experiment, scale)), environments(folder, found.names))
    values, pictures = record(found, made)
    out = place(path, experiment, scale)
    atomic.make_folder(out)
    for picture in pictures:
        atomic.make_folder((out / picture.file).parent)
        data = picture.data
        atomic.write_bytes(out / picture.file, data if isinstance(data, bytes) else data.encode())
    result = to_json(values)
    atomic.write_json(out / RECORD, result)
    write_from_record(out)
    return {**result, "page": str(out / "page.html")}


def look(experiment: Experiment, scale: Scale, folder: SweepFolder) -> Comparison:
    """Every cell from the runs of the folder."""
    asked = frozenset(folder.names)
    findings = find(experiment, scale, folder) if isinstance(experiment, Figure) else {}
    found = compare(experiment, scale, rows(folder.path), asked, findings)
    if not found.cells:
        where = atomic.shown(folder.path)
        raise UserError(f"no run of {experiment.name} at scale {scale} was asked for in {where}; leave --page-only out")
    return found


def find(figure: Figure, scale: Scale, folder: SweepFolder) -> dict[str, Finding]:
    """What the figure's analysis says of each finished run."""
    from regulargpt.sweep.names import name_of

    names = dict.fromkeys(name_of(config) for config in figure.all_configs(scale))
    found = {}
    for name in names:
        if folder.state(name) == "done":
            try:
                found[name] = figure.look(RunFolder.open(folder.run_path(name)))
            except UserError as error:
                found[name] = Finding("not analysed", (str(error),), None)
    return found


def command(found: Comparison, path: Path) -> str:
    """What was called, as far as it matters for the page."""
    only = ["--only", ",".join(cells[0].row for cells in found.cells)] if found.left_out else []
    out = [] if path == Path("reproduced") / found.scale else ["--out", shlex.quote(str(path))]
    return " ".join(["regulargpt reproduce", found.experiment.name, "--scale", found.scale, *only, *out])


def sittings(path: Path, experiment: Experiment, scale: Scale) -> list[float]:
    """The seconds of each sitting so far; FormatError if the file says something else."""
    file = place(path, experiment, scale) / SITTINGS
    if not file.exists():
        return []
    seconds = atomic.parse_json(atomic.read_bytes(file), file).get("seconds")
    if not isinstance(seconds, list) or not all(isinstance(one, int | float) for one in seconds):
        raise atomic.FormatError(f"{atomic.shown(file)} has no list of seconds; restore it from a copy, or delete it")
    return seconds


def add_sitting(path: Path, experiment: Experiment, scale: Scale, seconds: float) -> None:
    """Remember how long a sitting was."""
    out = place(path, experiment, scale)
    before = sittings(path, experiment, scale)
    atomic.make_folder(out)
    atomic.write_json(out / SITTINGS, {"seconds": [*before, round(seconds, 1)]})


def environments(folder: SweepFolder, names: Sequence[str]) -> tuple[tuple[Mapping[str, Any], int], ...]:
    """The environments in which the finished runs were made, and how many were made in each."""
    found: Counter[str] = Counter()
    for name in names:
        if folder.state(name) == "done":
            file = folder.run_path(name) / ENVIRONMENT
            # A damaged file makes the run a damaged one, which the table says.
            with suppress(UserError):
                known = atomic.parse_json(atomic.read_bytes(file), file)
                found[json.dumps({key: known.get(key) for key in SHOWN})] += 1
    return tuple((json.loads(text), count) for text, count in found.most_common())
