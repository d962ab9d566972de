"""One run from its config to its summary: what `regulargpt run` and `regulargpt resume` do."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

import languages
from languages.errors import UserError
from languages.task import Task
from regulargpt import models, plots, tracking
from regulargpt.certificate.certify import Certifier
from regulargpt.certificate.verdict import certificate_report, judge
from regulargpt.certificate.verdict import write as write_verdict
from regulargpt.config import ModelConfig, RunConfig, from_mapping
from regulargpt.construct import configuration
from regulargpt.construct.weights import constructed
from regulargpt.evaluation import Point, accuracy_by_length, score
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.objectives import Objective, objective
from regulargpt.protocols import Protocol, protocol
from regulargpt.recipes import CONSTRUCTED
from regulargpt.storage.atomic import at_work, read_bytes
from regulargpt.storage.environment import environment
from regulargpt.storage.folder import CERTIFICATE, MODEL_CONFIG, WEIGHTS, RunFolder
from regulargpt.storage.signals import StopRequested
from regulargpt.training import Interrupted, Trainer, train
from regulargpt.validation import validate

Told = TypeVar("Told")


@dataclasses.dataclass(frozen=True)
class Watch:
    """What a run tells its caller on the way: a training step, a row of metrics, the words of a test a length that
    begins, a tested length, how far the check of its certificate has come (part, entries done, entries in all)."""

    on_step: Callable[[Trainer], None] = lambda trainer: None
    on_row: Callable[[dict[str, Any]], None] = lambda row: None
    on_test: Callable[[Mapping[int, int]], None] = lambda words: None
    on_point: Callable[[Point], None] = lambda point: None
    on_notice: Callable[[str], None] = lambda text: None
    on_check: Callable[[str, int, int], None] = lambda part, done, count: None


UNWATCHED = Watch()


def run(config: RunConfig, out: str | Path, watch: Watch = UNWATCHED) -> dict[str, Any]:
    """Train and test one config in a new folder; the summary.

    >>> import tempfile
    >>> config = RunConfig().replaced({"training.steps": 2, "model.d_model": 8, "evaluation.test_len": 42})
    >>> summary = run(config, Path(tempfile.mkdtemp()) / "parity")
    >>> summary["steps"], sorted(summary["accuracy"])
    (2, ['41', '42'])
    """
    task = languages.get(config.task.language)
    validate(config, task)
    if config.recipe in CONSTRUCTED:
        configuration.check(config, task)
    device = prepare(config)
    folder = RunFolder.create(out, config.render(), environment(str(device)))
    return finish(folder, config, task, device, watch)


def resume(path: str | Path, watch: Watch = UNWATCHED) -> dict[str, Any]:
    """Go on with an interrupted run where it stopped, bit for bit; of a finished run, its summary."""
    folder = RunFolder.open(path)
    config = RunConfig.parse(folder.config_text)
    if folder.is_done:
        summary = folder.load_summary()
        if summary.get("proven") and not (folder.path / CERTIFICATE).exists():
            certificate_report(folder)
        return summary
    task = languages.get(config.task.language)
    return finish(folder, config, task, prepare(config), watch)


def finish(folder: RunFolder, config: RunConfig, task: Task, device: torch.device, watch: Watch) -> dict[str, Any]:
    """Train to the end, test by length, write the results.

    Raises Interrupted after Ctrl-C or SIGTERM; `resume` then goes on from the last step.
    """
    with at_work(), folder.locked(), StopRequested() as stop:
        goal = objective(task, config)
        certifier = make_certifier(config, task, watch)
        training = config if certifier else config.replaced({"training.certify_every": 0})
        model = first_model(config, task, goal, device)
        if config.compile:
            compile_model(model)
        trainer = Trainer(training, task, goal, model, device)
        if certifier is not None:
            trainer.judge = certifier.judge
        for skipped in trainer.load(folder):
            watch.on_notice(skipped)
        with tracking.tensorboard(folder.path, config.tensorboard) as log:
            train(trainer, folder, stop, time.monotonic, watch.on_step, both(watch.on_row, log))
        seconds = {"train_seconds": trainer.seconds}
        with timed(seconds, "test_seconds"):
            stopping = dataclasses.replace(watch, on_point=both(watch.on_point, between_lengths(stop)))
            points = test(config, task, goal, model, device, stopping)
            others = map(protocol, config.evaluation.also)
            also = {other.id: under(other, config, model, device, stopping) for other in others}
        folder.write_weights(model.state_dict(), model_record(config, task, goal))
        folder.write_accuracy([(p.length, p.accuracy, p.samples) for p in points])
        verdict = None
        if certifier is not None:
            with timed(seconds, "certify_seconds"):
                snapped = certifier.certify(model, trainer.anchors and trainer.anchors.prototypes)
                weights, network = (read_bytes(folder.path / name) for name in (WEIGHTS, MODEL_CONFIG))
                verdict = judge(certifier, task, model, snapped, weights, network, watch.on_check)
        proven = None if verdict is None else verdict.report["proven"]
        summary = summarise(config, model, trainer, points, proven, seconds, str(folder.path)) | {"also": also}
        folder.write_summary(summary)
        plots.accuracy_png(folder.path / "accuracy.png", points, config)
        folder.finish()
        if verdict is not None:
            write_verdict(folder, verdict)
    return summary


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note how long the block took.

    >>> seconds = {}
    >>> with timed(seconds, "sum_seconds"):
    ...     total = sum(range(10))
    >>> list(seconds)
    ['sum_seconds']
    """
    began = time.monotonic()
    yield
    seconds[name] = time.monotonic() - began


def make_certifier(config: RunConfig, task: Task, watch: Watch) -> Certifier | None:
    """What is asked for the certificate; None if nothing is, or if the language is too large for it."""
    if not config.training.certify_every:
        return None
    try:
        return Certifier.of(task, config.model.chunk_size)
    except UserError as error:
        watch.on_notice(f"no certificate is tried: {error}")
        return None


def both(first: Callable[[Told], None], second: Callable[[Told], None]) -> Callable[[Told], None]:
    """Tell two listeners."""

    def tell(what: Told) -> None:
        first(what)
        second(what)

    return tell


def between_lengths(stop: StopRequested) -> Callable[[Point], None]:
    """A listener that ends the test when a stop was requested."""

    def listen(point: Point) -> None:
        if stop:
            raise Interrupted(f"stopped by {stop.name} while testing, after length {point.length}")

    return listen


def prepare(config: RunConfig) -> torch.device:
    """The device, with the process's threads set to the config's: results are equal only at equal thread counts."""
    torch.set_num_threads(config.threads)
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if config.device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError("device = 'cuda': this machine has no GPU that torch can use; choose --device cpu or auto")
    return torch.device(config.device)


def make_model(config: ModelConfig, goal: Objective, seed: int, device: torch.device) -> nn.Module:
    """The model with the weights that this seed gives, on every device the same."""
    generator = torch.Generator().manual_seed(seed)
    return models.build(config, goal.n_inputs, goal.n_outputs, generator).to(device)


def first_model(config: RunConfig, task: Task, goal: Objective, device: torch.device) -> nn.Module:
    """The model before the first step: constructed, or drawn at random."""
    if config.recipe in CONSTRUCTED:
        return constructed(config.model, task, CONSTRUCTED[config.recipe]).to(device)
    return make_model(config.model, goal, config.seed, device)


def compile_model(model: nn.Module) -> None:
    """torch.compile in place. Of RegularGPT the blocks: around them the tree depends on the words."""
    for part in model.blocks if isinstance(model, RegularGPT) else [model]:
        part.compile(dynamic=True)


def model_record(config: RunConfig, task: Task, goal: Objective) -> dict[str, Any]:
    """config.json: what is needed to build the model again and to use it."""
    return {
        "model": dataclasses.asdict(config.model),
        "n_symbols": goal.n_inputs,
        "n_outputs": goal.n_outputs,
        "alphabet": list(task.alphabet),
        "output_names": list(task.output_names),
        "supervision": config.task.supervision,
    }


def load_model(folder: RunFolder) -> nn.Module:
    """The trained model of a finished run, its weights checked against the run's digests.

    Raises UserError for one that reads its answer at an output token: it is no map from words of the alphabet.
    """
    record = folder.load_model_config()
    if record["n_symbols"] != len(record["alphabet"]):
        raise UserError(f"{folder.path} reads its answer at an output token; only `regulargpt evaluate` asks it there")
    return load_reader(folder)


def load_reader(folder: RunFolder) -> nn.Module:
    """The trained model of a finished run, wherever it reads its answer."""
    record = folder.load_model_config()
    config = from_mapping(ModelConfig, record["model"], "model.")
    model = models.build(config, record["n_symbols"], record["n_outputs"], torch.Generator().manual_seed(0))
    model.load_state_dict(folder.load_weights())
    return model.eval()


def test(
    config: RunConfig,
    task: Task,
    goal: Objective,
    model: nn.Module,
    device: torch.device,
    watch: Watch,
) -> list[Point]:
    """Accuracy at the scored lengths and at those beyond."""
    return accuracy_by_length(
        model,
        task,
        goal,
        sorted({*config.scored, *config.evaluation.beyond}),
        config=config.evaluation,
        seed=config.seed,
        device=device,
        on_test=watch.on_test,
        on_point=watch.on_point,
    )


test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest


def under(other: Protocol, config: RunConfig, model: nn.Module, device: torch.device, watch: Watch) -> dict[str, Any]:
    """What the trained model scores under another protocol."""
    config = other.test_of(config)
    task = languages.get(config.task.language)
    points = test(config, task, objective(task, config), model, device, watch)
    return {"language": config.task.language, **accuracies(config, points)}


def accuracies(config: RunConfig, points: list[Point]) -> dict[str, Any]:
    """The results of a test: where it was scored, the score, and every length."""
    return {
        "test_from": config.scored.start,
        "test_len": config.evaluation.test_len,
        "stride": config.evaluation.stride,
        **dataclasses.asdict(score(points, config.scored)),
        "accuracy": {str(p.length): 100 * p.accuracy for p in points},
        "interval": {str(p.length): [100 * bound for bound in p.interval] for p in points},
        "samples": {str(p.length): p.samples for p in points},
    }


def summarise(
    config: RunConfig,
    model: nn.Module,
    trainer: Trainer,
    points: list[Point],
    proven: bool | None,
    seconds: Mapping[str, float],
    run_dir: str,
) -> dict[str, Any]:
    """summary.json: what was run, how far it went and how long each part took."""
    return {
        "language": config.task.language,
        "model": config.model.name,
        "recipe": config.recipe,
        "protocol": config.protocol,
        "supervision": config.task.supervision,
        "chunk_size": config.model.chunk_size if config.model.name == "regulargpt" else None,
        "train_len": config.task.train_len,
        "seed": config.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": trainer.progress.step,
        "solved_at": trainer.progress.solved_at,
        "anchored_at": trainer.progress.anchored_at,
        "certified_at": trainer.progress.certified_at,
        "proven": proven,
        **{name: round(value, 3) for name, value in seconds.items()},
        **accuracies(config, points),
        "run_dir": run_dir,
    }
