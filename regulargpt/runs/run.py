"""One run from its config to its summary: what `regulargpt run` and `regulargpt resume` do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from languages.errors import UserError
from regulargpt import data, models, objectives, plots
from regulargpt.config.phases import PHASES
from regulargpt.config.protocols import protocol
from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.data.base import Data
from regulargpt.evaluation import segments
from regulargpt.evaluation.by_length import Point, as_result, measures_by_length, samples_at, shortest_wrong
from regulargpt.evaluation.segmented import Segmented
from regulargpt.falsification.sentences import in_summary
from regulargpt.models.base import Model, refuse_shapes
from regulargpt.objectives.answers import Objective
from regulargpt.options.lengths import spread
from regulargpt.runs import keep, tracking
from regulargpt.runs.configured import config_of
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import refuse_other_data
from regulargpt.runs.outside import changed, digests, mistakes, notice, outside
from regulargpt.runs.verdict import verdict_line
from regulargpt.storage.atomic import at_work, read_bytes
from regulargpt.storage.environment import environment
from regulargpt.storage.folder import MODEL_CONFIG, WEIGHTS, RunFolder
from regulargpt.storage.signals import StopRequested
from regulargpt.training.observers import OBSERVERS
from regulargpt.training.phase import Conclusion, FurtherPhase, Observer
from regulargpt.training.trainer import Interrupted, Trainer, train

Heard = TypeVar("Heard")


@dataclass(frozen=True)
class Watch:
    """What a run tells its caller on the way: a training step, a row of metrics, the words of a test a length that
    begins, a tested length, how far the check of its certificate has come (part, entries done, entries in all), and
    so the search for wrong words; and how many words of a length a test has read."""

    on_step: Callable[[Trainer], None] = lambda trainer: None
    on_row: Callable[[dict[str, Any]], None] = lambda row: None
    on_test: Callable[[Mapping[int, int]], None] = lambda words: None
    on_point: Callable[[Point], None] = lambda point: None
    on_notice: Callable[[str], None] = lambda text: None
    on_check: Callable[[str, int, int], None] = lambda part, done, count: None
    on_search: Callable[[str, int, int], None] = lambda part, done, count: None
    on_words: Callable[[int, int], None] = lambda length, count: None


UNWATCHED = Watch()
FEW = 10
"""Scored lengths at which a proven network is tested: of the usual ones odd and even ones in turn."""
SHARE, LEAST = 0.3, 1.0
"""Of the time of training, and seconds: the search for wrong words ends then, whichever is more. With its report that
is a third of the training at most."""


def run(
    config: RunConfig, out: str | Path, watch: Watch = UNWATCHED, further: Sequence[FurtherPhase] | None = None
) -> dict[str, Any]:
    """Train and test one config in a new folder; the summary. `further` are its phases, if they were made already.

    >>> import tempfile
    >>> config = RunConfig().replaced({"training.steps": 2, "model.d_model": 8, "evaluation.test_len": 42})
    >>> summary = run(config, Path(tempfile.mkdtemp()) / "parity")
    >>> summary["steps"], sorted(summary["measures"]["accuracy"]["values"])
    (2, ['41', '42'])
    """
    words = validate(config)
    if config.recipe in CONSTRUCTED:
        from regulargpt.construct import configuration

        configuration.check(config, data.of_words(config.data).tree_task)
    refuse_faulty(config, words)
    files = keep.to_keep(config.data, words)
    for file in keep.too_large(config.data):
        watch.on_notice(keep.notice(file))
    # All refusals are behind us: from here on there is a folder.
    device = prepare(config)
    made_with = {**environment(str(device)), **words.fingerprint(), "classes": digests(config)}
    folder = RunFolder.create(out, config.render(), made_with, files)
    with at_work():
        # From the folder: the user's files may be others before this run has ended.
        config = config_of(folder)
    return finish(folder, config, words, device, watch, further)


def refuse_faulty(config: RunConfig, words: Data) -> None:
    """Let a class from outside read two words, so that a mistake in it is found before a folder is made.

    Raises UserError in a line for a class that cannot be built, or does not give the logits that it should.
    """
    if outside(config):
        goal = objectives.build(config.objective, words)
        with mistakes(config):
            refuse_shapes(make_model(config, words, goal, torch.device("cpu")), goal.n_outputs)


def resume(path: str | Path, watch: Watch = UNWATCHED) -> dict[str, Any]:
    """Go on with an interrupted run where it stopped, bit for bit; of a finished run, its summary.

    What that says of a proof is what the checker says now.
    """
    folder = RunFolder.open(path)
    config = config_of(folder)
    if folder.is_done:
        summary = unproven(folder.load_summary())
        for options in config.phases:
            summary = PHASES[options.name].load().restore(folder, summary)
        return summary if config.phases else summary | {"proven": None}
    words = data.build(config.data)
    refuse_other_data(folder, words)
    if places := changed(folder, config):
        watch.on_notice(notice(places))
    return finish(folder, config, words, prepare(config), watch)


def unproven(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without families that it calls proven: a run proves no network wrong, and only a checker may say so."""
    falsified = summary.get("falsified")
    if falsified is None:
        return summary
    observed = [family for family in falsified["families"] if family["evidence"] == "observed"]
    return summary | {"falsified": falsified | {"families": observed}}


def finish(
    folder: RunFolder,
    config: RunConfig,
    words: Data,
    device: torch.device,
    watch: Watch,
    further: Sequence[FurtherPhase] | None = None,
) -> dict[str, Any]:
    """Build, train, conclude, test, save: of a network that is proven less is tested.

    Raises Interrupted after Ctrl-C or SIGTERM; `resume` then goes on from the last step.
    """
    with at_work(), folder.locked(), StopRequested() as stop:
        work = Work(folder, config, words, objectives.build(config.objective, words), device, watch, stop)
        trainer = build(work, further)
        fit(work, trainer)
        conclusions = conclude(work, trainer)
        results = test(work, trainer.model, conclusions)
        return save(work, trainer, results, conclusions, falsify(work, trainer, results, conclusions))


@dataclass(frozen=True)
class Work:
    """What all parts of a run share; `seconds` collects how long each took."""

    folder: RunFolder
    config: RunConfig
    data: Data
    objective: Objective
    device: torch.device
    watch: Watch
    stop: StopRequested
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TestResults:
    """What a test said: of the run's own words, and by protocol of others'; each segment's number, of a text; of each
    length the first word that was `wrong`."""

    own: dict[str, Any]
    extra_protocols: dict[str, Any]
    segments: str = ""
    wrong: tuple[tuple[int, ...], ...] = ()


def build(work: Work, further: Sequence[FurtherPhase] | None = None) -> Trainer:
    """The model before the first step, or as a checkpoint has it, and the phases of its training."""
    model = first_model(work.config, work.data, work.objective, work.device)
    if work.config.compile:
        for part in model.compiled_parts():
            part.compile(dynamic=True)

    def leave_out(phase: str, error: UserError) -> None:
        work.watch.on_notice(f"phase {phase} is left out: {error}")

    if further is None:
        further = phases_of(work.config, work.data, leave_out)
    trainer = Trainer(work.config, work.data, work.objective, model, work.device, further)
    for skipped in trainer.load(work.folder):
        work.watch.on_notice(skipped)
    return trainer


def phases_of(config: RunConfig, words: Data, on_refusal: Callable[[str, UserError], None]) -> list[FurtherPhase]:
    """The phases beside the training on words; one that cannot be had is left out, and its name and why are told."""
    phases = []
    for options in config.phases:
        if options.is_on:
            try:
                phases.append(PHASES[options.name].load()(options, config, words))
            except UserError as error:
                on_refusal(options.name, error)
    return phases


def fit(work: Work, trainer: Trainer) -> None:
    """Train to the end, before the eyes of the observers."""
    observers: list[Observer] = [OBSERVERS[o.name].load()(o, work.config) for o in work.config.observers]

    def see(trainer: Trainer) -> None:
        for observer in observers:
            observer.see(trainer, work.folder)

    see(trainer)
    with tracking.tensorboard(work.folder.path, work.config.tensorboard) as log:
        on_step, on_row = call_both(see, work.watch.on_step), call_both(work.watch.on_row, log)
        train(trainer, work.folder, work.stop, time.monotonic, on_step, on_row)
    work.seconds["train_seconds"] = trainer.seconds


def test(work: Work, model: nn.Module, conclusions: Sequence[Conclusion]) -> TestResults:
    """The measures at the lengths of a test, under the run's own protocol and under further ones."""
    is_proven = any(conclusion.proven for conclusion in conclusions)

    def tested(config: RunConfig, words: Data, goal: Objective) -> list[Point]:
        return measures_by_length(
            model,
            words,
            goal,
            lengths_of_test(config, words, is_proven),
            config=config.evaluation,
            seed=config.seed,
            device=work.device,
            train_len=config.data.train_len,
            on_test=work.watch.on_test,
            on_point=call_both(work.watch.on_point, between_lengths(work.stop)),
        )

    with timed(work.seconds, "test_seconds"):
        # The run's own words have been prepared already; another protocol's language may be drawn otherwise.
        points, extra = tested(work.config, work.data, work.objective), {}
        for name in work.config.evaluation.extra_protocols:
            other = protocol(name).test_of(work.config)
            words = data.build(other.data)
            results = tested(other, words, objectives.build(other.objective, words))
            extra[other.protocol] = {"language": other.data.name, **as_result(results, other)}
        beside = facts_beside(work, model, points)
        wrong = shortest_wrong(points, work.data, model, work.objective, work.device)
    return TestResults(
        as_result(points, work.config) | wrong | beside,
        extra,
        segments.render(segments.of_points(points)),
        tuple(tuple(point.wrong.tolist()) for point in points if point.wrong is not None),
    )


def facts_beside(work: Work, model: nn.Module, points: Sequence[Point]) -> dict[str, Any]:
    """What a test on segments says beside its measures; nothing of other words."""
    if not isinstance(work.data, Segmented):
        return {}
    config, base = work.config, work.config.data.train_len
    against = work.data.reference(model, work.objective, config, config.seed, work.device, base)
    return work.data.facts(points, config, against, base)


test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest


def lengths_of_test(config: RunConfig, words: Data, is_proven: bool) -> list[int]:
    """All lengths; of a network that is proven few of those scored, where nothing says which.

    >>> lengths_of_test(RunConfig(), data.read_data("parity"), True)
    [41, 92, 143, 194, 245, 296, 347, 398, 449, 500]
    """
    if not is_proven or config.protocol or config.evaluation.stride or config.evaluation.factor > 1:
        return config.tested
    few = spread([length for length in config.scored if words.is_tested(length)], FEW)
    return sorted({*few, *config.evaluation.extra_lengths})


def conclude(work: Work, trainer: Trainer) -> list[Conclusion]:
    """Write the weights; what the phases can say of them, as a proof."""
    work.folder.write_weights(trainer.model.state_dict(), model_record(work.config, work.data, work.objective))
    weights, network = (read_bytes(work.folder.path / name) for name in (WEIGHTS, MODEL_CONFIG))
    conclusions = []
    for phase in trainer.further:
        with timed(work.seconds, phase.timer):
            conclusions.append(phase.conclude(trainer.model, weights, network, while_checking(work)))
    return conclusions


def falsify(
    work: Work, trainer: Trainer, results: TestResults, conclusions: Sequence[Conclusion]
) -> dict[str, Any] | None:
    """Look for words that the network answers wrongly, among no more than a test has, by their symbols; the report.

    It ends after a share of the training's time, or a second. None where none is due: for a network that is proven
    as it is, and where nothing says which answers are right.
    """
    if work.data.kind != "words" or any(conclusion.proven_as_it_is for conclusion in conclusions):
        return None
    # With the checkers of refutations, which a proven run does without.
    from regulargpt.falsification.hunt import SYMBOLS
    from regulargpt.falsification.known import Known
    from regulargpt.runs.falsify import report_of

    model, config, options = trainer.model, work.config, work.config.evaluation
    lengths = filter(work.data.is_tested, config.tested)  # all of them, also where a proof leaves some out
    words = min(options.falsify, sum(length * samples_at(length, options) for length in lengths) // SYMBOLS)
    if not words:
        return None
    assert isinstance(model, Model), "a run has one"
    budget = {"seconds": max(LEAST, round(SHARE * trainer.seconds, 1)), "clock": time.monotonic, "seed": config.seed}
    budget |= {"progress": while_searching(work), "known": Known.of_test(results.wrong)}
    try:
        with timed(work.seconds, "falsify_seconds"):
            return report_of(model, work.data, work.objective, config, work.device, words, **budget)
    except UserError as error:  # an objective from outside, say, whose right answers it alone knows
        work.watch.on_notice(f"no wrong words are looked for: {error}")
        return None


def save(
    work: Work,
    trainer: Trainer,
    results: TestResults,
    conclusions: Sequence[Conclusion],
    falsified: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the results, then the files that come with a conclusion; the summary."""
    folder, config = work.folder, work.config
    folder.write_measures(results.own["samples"], results.own["measures"])
    if results.segments:
        folder.write_segments(results.segments)
    summary = summarise(work, trainer, results, conclusions)
    if falsified is not None:
        from regulargpt.runs import falsify as falsifying

        summary["falsified"] = in_summary(falsified)
        falsifying.write(folder, read_bytes(folder.path / WEIGHTS), falsified)
    folder.write_summary(summary)
    plots.of_run(folder.path / plots.name_of(summary), summary, heading(config, summary))
    folder.finish()
    # After DONE: a run whose process is killed here is finished, and `resume` writes what it still owes.
    for conclusion in conclusions:
        conclusion.write(folder)
    return summary


def heading(config: RunConfig, summary: Mapping[str, Any]) -> str:
    """What stands above the picture of a run: the run in a line, and below it the verdict, if it is proven."""
    return "\n".join([plots.title(config), *[verdict_line(summary)] * bool(summary["proven"])])


def summarise(work: Work, trainer: Trainer, results: TestResults, conclusions: Sequence[Conclusion]) -> dict[str, Any]:
    """summary.json: what was run, how far it went and how long each part took."""
    config = work.config
    return {
        "language": config.data.name,
        "model": config.model.title,
        "recipe": config.recipe,
        "protocol": config.protocol,
        "supervision": config.objective.name,
        "train_len": config.data.train_len,
        "seed": config.seed,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "steps": trainer.step_count,
        **trainer.words.summary(),
        "phases": {phase.name: phase.summary() for phase in trainer.further},
        "proven": next((conclusion.proven for conclusion in conclusions), None),
        **{name: round(value, 3) for name, value in work.seconds.items()},
        **symbols_trained(work, trainer),
        **results.own,
        "extra_protocols": results.extra_protocols,
        "run_dir": str(work.folder.path),
    }


def symbols_trained(work: Work, trainer: Trainer) -> dict[str, float]:
    """Symbols of a text that were trained on, in all and a second; nothing for words of a language: lengths vary."""
    if work.data.kind != "text":
        return {}
    symbols = trainer.step_count * work.config.training.batch_size * work.config.data.train_len
    speed = {"symbols_per_second": round(symbols / trainer.seconds, 1)} if trainer.seconds else {}
    return {"symbols_trained": symbols, **speed}


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


def call_both(first: Callable[[Heard], None], second: Callable[[Heard], None]) -> Callable[[Heard], None]:
    """A listener that calls two."""

    def tell(news: Heard) -> None:
        first(news)
        second(news)

    return tell


def between_lengths(stop: StopRequested) -> Callable[[Point], None]:
    """A listener that ends the test when a stop was requested."""

    def listen(point: Point) -> None:
        if stop:
            raise Interrupted(f"stopped by {stop.name} while testing, after length {point.length}")

    return listen


def while_checking(work: Work) -> Callable[[str, int, int], None]:
    """A listener that ends the check of a certificate, which may take long, when a stop was requested."""

    def listen(part: str, done: int, count: int) -> None:
        if work.stop:
            raise Interrupted(f"stopped by {work.stop.name} while the certificate was checked")
        work.watch.on_check(part, done, count)

    return listen


def while_searching(work: Work) -> Callable[[str, int, int], None]:
    """The same of the search for wrong words."""

    def listen(part: str, done: int, count: int) -> None:
        if work.stop:
            raise Interrupted(f"stopped by {work.stop.name} while wrong words were looked for")
        work.watch.on_search(part, done, count)

    return listen


def make_model(config: RunConfig, words: Data, goal: Objective, device: torch.device) -> Model:
    """The model with the weights that the seed gives, on every device the same."""
    generator = torch.Generator().manual_seed(config.seed)
    direction = words.record().get("direction")
    return models.build(config.network, goal.n_inputs, goal.n_outputs, generator, direction).to(device)


def first_model(config: RunConfig, words: Data, goal: Objective, device: torch.device) -> Model:
    """The model before the first step: constructed, or drawn at random."""
    if config.recipe in CONSTRUCTED:
        from regulargpt.construct import configuration

        return configuration.build(config, data.of_words(config.data).tree_task).to(device)
    return make_model(config, words, goal, device)


def model_record(config: RunConfig, words: Data, goal: Objective) -> dict[str, Any]:
    """config.json: what is needed to build the model again and to use it."""
    return {
        "model": config.network.record(),
        "n_symbols": goal.n_inputs,
        "n_outputs": goal.n_outputs,
        **words.record(),
        "supervision": config.objective.name,
    }
