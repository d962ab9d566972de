"""One run folder as rows of the table. Nothing is skipped silently: what cannot be read is a row that says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from languages.errors import UserError
from regulargpt.models import MODELS
from regulargpt.options.lengths import scored_lengths
from regulargpt.options.presets import leaves
from regulargpt.results.places import Place
from regulargpt.results.row import DAMAGED, DONE, FAILED, RunRow, Value
from regulargpt.runs.sweep.folder import UNKNOWN
from regulargpt.storage import atomic, toml
from regulargpt.storage.folder import CERTIFICATE, FALSIFIED, MEASURES, UNCERTIFIED, RunFolder
from regulargpt.training.given import given

Progress = Callable[[str, int, int], None]
NOT_PROVEN = "not proven of its language: "


def read(place: Place, progress: Progress = lambda part, done, count: None) -> list[RunRow] | None:
    """The rows of a run, sorted by protocol tested under and length, its own protocol first; None if not finished.

    `progress` is told how far the check of a certificate has come, as the checker tells it.
    """
    folder = RunFolder(place.folder)
    try:
        # Also a run that was done and failed then, over its certificate, is not what was requested.
        if place.failure and atomic.disk.exists(place.failure):
            return [failed(place)]
        return finished(place.name, folder, progress) if folder.is_done else None
    except UserError as error:
        return [damaged(place, str(error))]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [damaged(place, f"its files are not what a run writes ({error!r}); restore them from a copy")]


def finished(name: str, folder: RunFolder, progress: Progress) -> list[RunRow]:
    """The rows of a finished run, each file that says something of it checked against the manifest."""
    config, summary = named_config(folder.config_text), folder.load_summary()
    folder.final_bytes(MEASURES)
    of_run = {key: summary.get(key) for key in ("steps", "train_seconds")} | {"measure": summary["measure"]}
    wrong = first_wrong(folder, int(config.get("data.train_from") or 1))
    proven = proof(folder, summary, str(config["data.name"]), progress)
    of_run |= wrong | proven | {"reason": "; ".join(filter(None, (of.get("reason") for of in (proven, wrong))))}
    if (had := given(config, summary.get("phases"))) is not None:
        of_run |= {"given": str(had), "n_given": had.count}
    own = str(config.get("protocol", ""))
    others = sorted(item for item in summary.get("extra_protocols", {}).items() if item[0] != own)
    return [
        RunRow(name, DONE, config=config, tested=tested, **of_run, **point, guesses=guesses(result))
        for tested, result in [(own, summary), *others]
        for point in points(result)
    ]


def first_wrong(folder: RunFolder, least: int) -> dict[str, Any]:
    """The length of the shortest word that falsified.json names and the network has wrong now, if any; and why there is
    none, where it names some. Words shorter than all of training promise nothing."""
    named = folder.load_falsified() or {"wrong": []}
    if not any(word["length"] >= least for word in named["wrong"]):
        return {"first_wrong": None}
    from regulargpt.falsification.sentences import NONE_WRONG
    from regulargpt.runs.borne_out import known_wrong
    from regulargpt.runs.opened import open_run

    try:
        known = known_wrong(open_run(folder, reads=False), folder, least, families=False)
    except UserError as error:
        return {"first_wrong": None, "reason": f"{FALSIFIED} is not borne out: {error}"}
    if known is None or not known["wrong"]:
        return {"first_wrong": None, "reason": NONE_WRONG}
    return {"first_wrong": known["wrong"][0]["length"]}


def guesses(result: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Chance and the best single answer of each measure that can be guessed.

    >>> guesses({"scores": {"accuracy": {"chance": 50.0, "majority": 52.0}, "nll": {"chance": None, "majority": None}}})
    {'accuracy': (50.0, 52.0)}
    """
    if "scores" not in result and "measure" in result:  # of a run that was measured before there were several
        result = {"scores": {result["measure"]: result}}
    scores = result.get("scores", {}).items()
    return {name: (of["chance"], of["majority"]) for name, of in scores if of.get("majority") is not None}


def proof(folder: RunFolder, summary: Mapping[str, Any], language: str, progress: Progress) -> dict[str, Any]:
    """Whether the run is proven now, of its language, and whether as it is; and why not, if it was when it ended, or
    another automaton is.

    None where none was requested, by the training or, later, by `verify`.
    """
    tried = (atomic.disk.exists(folder.path / name) for name in (CERTIFICATE, UNCERTIFIED))
    if summary.get("proven") is None and not any(tried):
        return {"proven": None}
    from regulargpt.certificate.verdict import replaces_none, verdict

    checked = verdict(folder, language, progress)
    # A file that stands in the certificate's place, and is none, says of itself that something is proven.
    is_lost = not checked.proven and (summary.get("proven") or atomic.disk.exists(folder.path / CERTIFICATE))
    as_it_is = checked.proven and replaces_none(folder)
    return {
        "proven": checked.proven,
        "as_it_is": as_it_is,
        "reason": f"{NOT_PROVEN}{checked.reason}" if is_lost else "",
    }


def points(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What every length of a test has of its own; of a test without lengths, nothing once.

    >>> test = {"test_from": 41, "test_len": 500, "samples": {"41": 512}, "measures": {"accuracy": {"values": {"41": 99.0}}}}
    >>> points(test)
    [{'length': 41, 'samples': 512, 'in_score': True, 'measures': {'accuracy': 99.0}}]
    """  # noqa: E501
    scored = scored_lengths(result["test_from"], result["test_len"], result.get("stride", 1), result.get("factor", 1))
    by_length: dict[int, dict[str, float]] = {int(length): {} for length in result["samples"]}
    for name, measured in result["measures"].items():
        for length, value in measured["values"].items():
            by_length[int(length)][name] = float(value)
    return [
        {"length": T, "samples": result["samples"][str(T)], "in_score": T in scored, "measures": by_length[T]}
        for T in sorted(by_length)
    ] or [{}]


def failed(place: Place) -> RunRow:
    """The row of a run that a sweep gave up."""
    assert place.failure is not None
    reason = atomic.parse_json(atomic.read_bytes(place.failure), place.failure).get("reason")
    return unfinished(place, FAILED, str(reason or UNKNOWN))


def damaged(place: Place, reason: str) -> RunRow:
    """The row of a run that cannot be read.

    Files are named from the run's folder or the sweep's on: the table says the same wherever it is made.
    """
    for folder in [place.folder, *(place.config.parents[1:2] if place.config else ())]:
        reason = reason.replace(f"{atomic.shown(folder)}/", "")
    return unfinished(place, DAMAGED, reason)


def unfinished(place: Place, status: str, reason: str) -> RunRow:
    """A row without a test, with what can still be known of the run's config; the reason in a line."""
    config: dict[str, Value] = {}
    for text in texts(place):
        with suppress(UserError):
            config = named_config(text)
            break
    return RunRow(place.name, status, " ".join(reason.split()), config, tested=str(config.get("protocol", "")))


def texts(place: Place) -> Iterator[str]:
    """The config.toml of a run, then that of its sweep: those that can be read."""
    with suppress(UserError):
        yield RunFolder(place.folder).config_text
    if place.config:
        with suppress(UserError):
            yield atomic.parse_text(atomic.read_bytes(place.config), place.config)


def named_config(text: str) -> dict[str, Value]:
    """The values of a config.toml; the model's name is what the network is called.

    >>> named_config("[model]\\nname = 'regulargpt'\\ngates = true")
    {'model.name': 'gated-regulargpt', 'model.gates': True}
    """
    sections = toml.parse(text)
    values = flat(sections)
    if values.get("model.name") in MODELS:  # a class from outside is not imported for its options
        with suppress(UserError):
            values["model.name"] = MODELS.options(sections["model"], "model").title
    return values


def flat(sections: Mapping[str, Any]) -> dict[str, Value]:
    """The values of a config.toml by their dotted keys, lists as they are written on the command line.

    >>> flat({"seed": 0, "model": {"name": "lstm", "encoding": {"name": "none"}, "sizes": [8, 16]}})
    {'seed': 0, 'model.name': 'lstm', 'model.encoding.name': 'none', 'model.sizes': '8,16'}
    """
    return {key: listed(value) if isinstance(value, list) else value for key, value in leaves(sections)}


def listed(values: list[Any]) -> str:
    """A list as text."""
    return ",".join(value if isinstance(value, str) else json.dumps(value, default=str) for value in values)
