"""Everything others may rely on, as `public_surface.json` beside this file has it: the shape of the command line, of
configs, folders and tables. A change there is a change of the public surface, and of CHANGELOG.md.

To renew it: `python -m tests.test_public_surface`.
"""

import json
from pathlib import Path
from typing import get_args

import click
import pytest

import languages
import regulargpt
from languages.registry import FAMILIES
from regulargpt.cli import FAILED, REFUSED, STOPPED, group, verbs
from regulargpt.config.phases import PHASES
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.config.recipes import CONSTRUCTED, RECIPES
from regulargpt.config.schema import RunConfig, keys
from regulargpt.encodings import ENCODINGS
from regulargpt.evaluation.by_length import RangeScore
from regulargpt.measurements import state_clusters
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES
from regulargpt.runs.sweep import folder as sweeps
from regulargpt.storage import folder
from regulargpt.storage.metrics import render_measures
from regulargpt.training.observers import OBSERVERS

SURFACE = Path(__file__).with_name("public_surface.json")
KINDS = {
    "model": MODELS,
    "objective": OBJECTIVES,
    "model.encoding": ENCODINGS,
    "phases": PHASES,
    "observers": OBSERVERS,
    "data": ["dyck-2"],
}


def flags(verb: str) -> list[str]:
    """The arguments of a verb, then its options."""
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    is_option = [(isinstance(p, click.Option), p) for p in command.params]
    return [str(p.opts[0] if option else p.name) for option, p in sorted(is_option, key=lambda pair: pair[0])]


def options(section: str, name: str) -> list[str]:
    """The keys of a part where it is chosen; of phases and observers there may be several, each under its name."""
    part = f"{section}.{name}"
    chosen = {"phases": {f"{part}.every": 100}, "observers": {f"{part}.count": 20}}.get(section)
    transformer = {"model.name": "transformer"} if section == "model.encoding" else {}
    place = f"{part}." if chosen else f"{section}."
    found = keys(RunConfig().replaced(transformer | (chosen or {f"{section}.name": name})))
    return [key.removeprefix(place) for key in found if key.startswith(place)]


def surface() -> dict[str, dict[str, list[str]]]:
    measures = {"accuracy": {"values": {"9": 100.0}, "intervals": {"9": [51.0, 100.0]}}}
    return {
        "command line": {verb: flags(verb) for verb in verbs()},
        "config": {
            "": keys(RunConfig()),
            **{f"{section}.{name}": options(section, name) for section, names in KINDS.items() for name in names},
        },
        "names": {
            "languages": [family.pattern for family in FAMILIES],
            "models": [*MODELS],
            "encodings": [*ENCODINGS],
            "recipes": [*RECIPES],
            "constructed": [*CONSTRUCTED],
            "protocols": [*PROTOCOLS],
            "regulargpt": regulargpt.__all__,
        },
        "files and columns": {
            "run": [*folder.FINAL, folder.DONE],
            "sweep": [sweeps.SWEEP, sweeps.CONFIGS, sweeps.RUNS, sweeps.FAILED, str(sweeps.FORMAT)],
            "states of a run": [*get_args(sweeps.State), *get_args(sweeps.Kind)],
            "measures.csv": render_measures({"9": 4}, measures).splitlines(),
            "score": [*RangeScore.__dataclass_fields__],
            "clusters": [*state_clusters.COLUMNS],
            "states": [*state_clusters.STATE_COLUMNS],
        },
    }


@pytest.mark.parametrize("part", ["command line", "config", "names", "files and columns"])
def test_the_public_surface_is_as_recorded(part: str):
    recorded = json.loads(SURFACE.read_text("utf-8"))[part]
    found = surface()[part]
    assert {name: " ".join(words) for name, words in found.items()} == recorded
    assert [*found] == [*recorded]


def test_exit_codes_and_exports():
    assert (REFUSED, FAILED, STOPPED) == (2, 1, 75)
    exported = {"Dfa", "MooreMachine", "Semiautomaton", "Task", "TransitionMonoid", "UserError", "get", "rng"}
    assert exported <= set(languages.__all__) <= set(dir(languages))
    for package in (languages, regulargpt):
        assert all(getattr(package, name) is not None for name in package.__all__)
        assert (Path(package.__path__[0]) / "py.typed").exists()
    assert all(getattr(languages, name).__name__ == name for name in languages.__all__)
    with pytest.raises(AttributeError, match="module 'languages' has no attribute 'nothing'"):
        _ = languages.nothing


if __name__ == "__main__":
    written = {part: {name: " ".join(of) for name, of in names.items()} for part, names in surface().items()}
    SURFACE.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
