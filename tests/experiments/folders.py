"""Sweep folders of an experiment made by hand: runs with scores as a test wants them, without any training."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment, Scale
from regulargpt.config.protocols import protocol
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import MODEL_CONFIG, WEIGHTS, RunFolder

# A run's accuracy at every length, the reason why it failed, or None for a run that is missing.
Result = float | str | None
ENVIRONMENT = {
    "commit": "c0ffee",
    "python": "3.11.7",
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "device": "cpu",
    "device_name": "x86_64",
    "cpu_count": 2,
    "system": "Linux",
}


def cells_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of all cells of a page."""
    blocks = [block for section in result["sections"] for block in section["blocks"] if isinstance(block, dict)]
    cells = [cell for block in blocks for row in block.get("rows", ()) for cell in row if isinstance(cell, dict)]
    return [cell["values"] for cell in cells if "values" in cell]


def pictures_of(result: dict[str, Any]) -> list[str]:
    """The files of all pictures of a page."""
    blocks = (block for section in result["sections"] for block in section["blocks"] if isinstance(block, dict))
    return [block["file"] for block in blocks if "file" in block]


def filled(
    path: Path,
    experiment: Experiment,
    scale: Scale = "smoke",
    rows: Sequence[str] = (),
    result: Callable[[RunConfig], Result] = lambda config: 99.0,
    **more: Any,
) -> SweepFolder:
    """A sweep of the experiment's runs; `more` goes into each summary."""
    folder = SweepFolder.create(path)
    configs = {name_of(config): config for config in experiment.all_configs(scale, rows)}
    folder.add(configs)
    fill(folder, configs, result, **more)
    return folder


def fill(folder: SweepFolder, names: Iterable[str], result: Callable[[RunConfig], Result], **more: Any) -> None:
    """Bring runs of the folder to their ends."""
    for name in names:
        config = folder.config(name)
        came = result(config)
        if isinstance(came, str):
            folder.record_failure(name, came, "diverged")
        elif came is not None:
            finished(folder.run_path(name), config, came, **more)


def finished(path: Path, config: RunConfig, accuracy: float, **more: Any) -> RunFolder:
    """A finished run with this accuracy at every length."""
    own = tested(config, accuracy)
    extra = {
        other.id: tested(other.test_of(config), accuracy) for other in map(protocol, config.evaluation.extra_protocols)
    }
    known = {"train_len": config.data.train_len, "steps": 1400, "train_seconds": 2.5, "proven": None}
    return written(path, config, {**known, **own, "score": accuracy, "extra_protocols": extra, **more})


def finished_text(
    path: Path, config: RunConfig, measure: str, values: dict[int, float], spread: float = 0.0, segments: str = ""
) -> RunFolder:
    """A finished run on texts or retrieval with these values of a measure by length."""
    by_length = {str(length): value for length, value in values.items()}
    intervals = {key: [value - spread, value + spread] for key, value in by_length.items()}
    known = {"train_seconds": 60.0, "steps": 600, "parameters": 100_000, "proven": None, "extra_protocols": {}}
    test = {"test_from": config.scored[0], "test_len": config.test_len, "factor": 2, "measure": measure}
    measures = {measure: {"values": by_length, "intervals": intervals}}
    summary = {**known, **test, "samples": dict.fromkeys(by_length, 16), "measures": measures}
    return written(path, config, summary, segments)


def written(path: Path, config: RunConfig, summary: dict[str, Any], segments: str = "") -> RunFolder:
    """A finished run with this summary."""
    folder = RunFolder.create(path, config.render(), ENVIRONMENT)
    folder.append_metrics([{"step": 1, "loss": 0.5}])
    (path / WEIGHTS).write_bytes(b"weights")
    (path / MODEL_CONFIG).write_text("{}")
    folder.write_measures(summary["samples"], summary["measures"])
    if segments:
        folder.write_segments(segments)
    folder.write_summary(summary)
    folder.finish()
    return folder


def tested(config: RunConfig, accuracy: float) -> dict[str, Any]:
    """What a test says in a summary."""
    lengths = [str(T) for T in config.tested]
    values, intervals = dict.fromkeys(lengths, accuracy), {key: [accuracy, accuracy] for key in lengths}
    return {
        "test_from": config.scored[0],
        "test_len": config.test_len,
        "stride": config.evaluation.stride or 1,
        "measure": "accuracy",
        "samples": dict.fromkeys(lengths, 8),
        "measures": {"accuracy": {"values": values, "intervals": intervals}},
    }
