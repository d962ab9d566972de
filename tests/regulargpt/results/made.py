"""Run folders and sweeps made by hand, with accuracies as a test wants them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regulargpt.config import RunConfig
from regulargpt.storage.folder import MODEL_CONFIG, WEIGHTS, RunFolder

Accuracy = Mapping[int, float]


def config_text(protocol: str = "", **changes: Any) -> str:
    """A config.toml with fields changed, as in `model__name="lstm"`, trained on up to 4 and scored at 5..8 symbols."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return (
        RunConfig().replaced({"task.train_len": 4, "evaluation.test_len": 8, "protocol": protocol, **dotted}).render()
    )


def tested(accuracy: Accuracy, **more: Any) -> dict[str, Any]:
    """What a test says in a summary."""
    lengths = {str(T): share for T, share in accuracy.items()}
    return {"test_len": 8, "accuracy": lengths, "samples": dict.fromkeys(lengths, 64), **more}


def summary(accuracy: Accuracy, **more: Any) -> dict[str, Any]:
    """What `results` reads of a summary."""
    return {"train_len": 4, "steps": 100, "train_seconds": 1.5, "proven": None, **tested(accuracy), **more}


def begun(path: Path, text: str) -> RunFolder:
    """A run that was interrupted while it trained."""
    folder = RunFolder.create(path, text, {"python": "3.11"})
    folder.append_metrics([{"step": 1, "loss": 0.5}])
    return folder


def done(path: Path, accuracy: Accuracy, text: str = "", **more: Any) -> RunFolder:
    """A finished run."""
    folder = begun(path, text or config_text())
    (path / WEIGHTS).write_bytes(b"weights")
    (path / MODEL_CONFIG).write_text("{}")
    folder.write_accuracy([(T, share / 100, 64) for T, share in accuracy.items()])
    folder.write_summary(summary(accuracy, **more))
    folder.finish()
    return folder


def kept(path: Path, accuracy: Accuracy, text: str = "") -> RunFolder:
    """A config with its accuracies, as in docs/results."""
    folder = RunFolder.create(path, text or config_text(), {"python": "3.11"})
    folder.write_accuracy([(T, share / 100, 64) for T, share in accuracy.items()])
    return folder


def sweep(path: Path, configs: Mapping[str, str], failed: Mapping[str, str] | Sequence[str] = ()) -> Path:
    """A sweep of these configs; `failed` are reasons by name."""
    for name in ("configs", "runs", "failed"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "sweep.json").write_text(json.dumps({"format": 1, "names": list(configs)}))
    for name, text in configs.items():
        (path / "configs" / f"{name}.toml").write_text(text)
    for name, reason in dict(failed).items():
        record = {"run": name, "reason": reason, "kind": "diverged"}
        (path / "failed" / f"{name}.json").write_text(json.dumps(record))
    return path
