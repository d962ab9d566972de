"""What a forger does: a change of a certificate, or of a file beside it together with its digest."""

import json
from collections.abc import Callable, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from regulargpt.certificate.checker import check
from regulargpt.certificate.checker.claims import unquantised_claim
from regulargpt.construct.configuration import configuration
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import run
from regulargpt.storage.folder import ENVIRONMENT, RunFolder
from regulargpt.storage.manifest import digest

Record = dict[str, Any]
Change = Callable[[Record], object]
Cases = Mapping[tuple[str, type[ValueError]], Mapping[str, tuple[Change, str]]]
FILES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}
SHORT = {"evaluation.test_len": 42, "evaluation.extra_lengths": ()}


def made(folder: Path, language: str) -> RunFolder:
    """A certified run, whose weights are made, not trained."""
    run(configuration(language).replaced(SHORT), folder)
    assert certificate_report(RunFolder.open(folder))["proven"]
    return RunFolder.open(folder)


def checked(folder: Path, **options: Any) -> Any:
    """What the checker says of the certificate in a folder."""
    return check(folder / "certificate.json", **options)


def without_kept(folder: Path) -> None:
    """Make a run folder one from before runs kept the files of their languages."""
    environment = json.loads((folder / ENVIRONMENT).read_text())
    for kept in environment.pop("kept").values():
        (folder / kept["file"]).unlink()
    (folder / ENVIRONMENT).write_text(json.dumps(environment))
    if RunFolder(folder).is_done:
        RunFolder(folder).finish()


def put(place: str, value: Any) -> Change:
    """The value at a place such as `nodes/images/0` is this one."""
    *way, last = keys(place)
    return lambda record: reduce(getitem, way, record).__setitem__(last, value)


def drop(place: str) -> Change:
    """What stands at a place is not there."""
    *way, last = keys(place)
    return lambda record: reduce(getitem, way, record).__delitem__(last)


def keys(place: str) -> list[Any]:
    """The keys of objects and the places in lists that a path has."""
    return [int(key) if key.lstrip("-").isdigit() else key for key in place.split("/")]


def slack(value: float) -> Change:
    """Another slack, and the claim that it makes."""
    return lambda r: r["unquantised"].update(slack=value, claim=unquantised_claim(value))


def edit(path: Path, change: Change) -> None:
    """Change a JSON file."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def resign(folder: Path, name: str) -> None:
    """Put the digest of a changed file into the certificate, as a careful forger would."""
    edit(folder / "certificate.json", put(f"{name}/sha256", digest((folder / FILES[name]).read_bytes())))


def forge(folder: Path, name: str, change: Change) -> None:
    """Change the certificate, or a file beside it and its digest."""
    if name == "certificate":
        edit(folder / "certificate.json", change)
        return
    if name == "weights":
        weights = load_file(folder / FILES[name])
        change(weights)
        save_file(weights, folder / FILES[name])
    else:
        edit(folder / FILES[name], change)
    resign(folder, name)


def refused_each(cases: Cases) -> pytest.MarkDecorator:
    """Each change of a file, how it is refused, and with which message."""
    rows = [
        pytest.param(name, change, kind, message, id=f"{name}: {what}")
        for (name, kind), changes in cases.items()
        for what, (change, message) in changes.items()
    ]
    return pytest.mark.parametrize(("name", "change", "kind", "message"), rows)


def assert_refused(folder: Path, name: str, change: Change, kind: Any, message: str) -> None:
    """Once a file is changed the checker refuses with this kind of error, and says why."""
    forge(folder, name, change)
    with pytest.raises(kind, match=message):
        checked(folder)
