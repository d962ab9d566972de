"""Run folders and sweeps made by hand, with accuracies as a test wants them, in the format that runs write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from regulargpt.certificate import verdict
from regulargpt.certificate.verdict import Verdict
from regulargpt.storage import toml
from regulargpt.storage.folder import MODEL_CONFIG, WEIGHTS, RunFolder
from regulargpt.storage.format import FORMAT

Values = Mapping[int, float]
CONFIG: dict[str, Any] = {
    "recipe": "words",
    "protocol": "",
    "seed": 0,
    "threads": 1,
    "data.name": "parity",
    "data.train_len": 4,
    "data.near_misses": 0.0,
    "data.test.near_misses": 0.0,
    "objective.name": "last",
    "model.name": "regulargpt",
    "model.chunk_size": 2,
    "model.d_model": 64,
    "model.state_noise": 0.4,
    "training.steps": 100,
    "training.lr": 1e-3,
    "training.clip": 1.0,
    "evaluation.test_len": 8,
    "evaluation.samples": 64,
    "evaluation.extra_lengths": [1000],
}
OF_REGULARGPT = ("model.chunk_size", "model.state_noise")


def config_text(protocol: str = "", **changes: Any) -> str:
    """A config.toml with keys changed or added, as in `model__name="lstm"`; trained on up to 4, scored at 5..8."""
    dotted = CONFIG | {"protocol": protocol} | {key.replace("__", "."): value for key, value in changes.items()}
    if dotted["model.name"] != "regulargpt":
        dotted = {key: value for key, value in dotted.items() if key not in OF_REGULARGPT}
    return toml.render(nested(dotted))


def nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """Sections of dotted keys, their values before the sections in them."""
    found: dict[str, Any] = {}
    for key, value in sorted(dotted.items(), key=lambda item: item[0].count(".")):
        *sections, name = key.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return found


def a_test(values: Values, measure: str = "accuracy", **more: Any) -> dict[str, Any]:
    """What a test says in a summary."""
    by_length = {str(T): value for T, value in values.items()}
    intervals = {length: [value - 1, value + 1] for length, value in by_length.items()}
    return {
        **{"test_from": 5, "test_len": 8, "stride": 1, "measure": measure},
        "samples": dict.fromkeys(by_length, 64),
        "measures": {measure: {"values": by_length, "intervals": intervals}},
        **more,
    }


def begun(path: Path, text: str) -> RunFolder:
    """A run that was interrupted while it trained."""
    folder = RunFolder.create(path, text, {"python": "3.11"})
    folder.append_metrics([{"step": 1, "loss": 0.5}])
    return folder


def done(path: Path, values: Values, text: str = "", measure: str = "accuracy", **more: Any) -> RunFolder:
    """A finished run."""
    folder = begun(path, text or config_text())
    (path / WEIGHTS).write_bytes(b"weights")
    (path / MODEL_CONFIG).write_text("{}")
    own = a_test(values, measure)
    folder.write_measures(own["samples"], own["measures"])
    folder.write_summary({"train_len": 4, "steps": 100, "train_seconds": 1.5, "proven": None, **own, **more})
    folder.finish()
    return folder


def believe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what summaries say of proofs for the checker's word: no certificate lies in these folders."""

    def said(folder: RunFolder, *rest: object) -> Verdict:
        return Verdict(True) if folder.load_summary()["proven"] else Verdict(False, "no certificate")

    monkeypatch.setattr(verdict, "verdict", said)
    monkeypatch.setattr(verdict, "replaces_none", lambda folder: False)


def sweep(path: Path, configs: Mapping[str, str], failed: Mapping[str, str] | Sequence[str] = ()) -> Path:
    """A sweep of these configs; `failed` are reasons by name."""
    for name in ("configs", "runs", "failed"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "sweep.json").write_text(json.dumps({"format": FORMAT, "names": list(configs)}))
    for name, text in configs.items():
        (path / "configs" / f"{name}.toml").write_text(text)
    for name, reason in dict(failed).items():
        record = {"run": name, "reason": reason, "kind": "diverged"}
        (path / "failed" / f"{name}.json").write_text(json.dumps(record))
    return path
