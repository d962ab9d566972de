"""10,000 argument lists and damaged files in one process: each is answered, or refused in one line.

None brings a traceback, none hangs, none needs much memory, and what is refused leaves every file as it was. Of what
the verbs do only that is replaced which takes long: training, long tests, measurements, pictures.
"""

import contextlib
import functools
import io
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import languages
from experiments.bench.memory import STATUS
from regulargpt.classroom.cli import demo
from regulargpt.cli import call
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.shortcuts import scores
from regulargpt.findings import files
from regulargpt.results import curves
from regulargpt.runs import again as evaluate
from regulargpt.runs import run as running
from regulargpt.runs.sweep import driver
from regulargpt.storage import atomic
from tests.cli.conftest import Answer, for_a_moment
from tests.cli.generator import DAMAGES, Arguments
from tests.cli.world import World, build

N_ARGUMENTS, N_DAMAGED = 2_500, 700
PATIENCE = 20
"""Seconds, after which a command hangs. The slowest takes half a second."""
MOST_MEMORY = 2 << 30
MOST_SYMBOLS = 4_000
"""Of a test that is really made."""
MEASURED: dict[str, Any] = {
    **{"measure": "accuracy", "score": 50.0, "worst": 50.0, "majority": 50.0, "chance": 50.0, "samples": {"9": 4}},
    "measures": {"accuracy": {"values": {"9": 50.0}, "intervals": {"9": [40.0, 60.0]}}},
}
SUMMARY = MEASURED | {"train_len": 1, "test_from": 2, "test_len": 9, "steps": 1, "train_seconds": 0.0}
SUMMARY |= {"first_below_99": None, "first_below_90": None, "run_dir": "nowhere", "parameters": 1}
SHORTCUTS: dict[str, Any] = {"language": "parity", "test_from": 9, "test_len": 9, "train_from": 1, "train_len": 8}
RULE = {"score": 50.0, "worst": 50.0, "trained": 50.0, "rule": "x", "accuracy": {"9": 50.0}}
SHORTCUTS |= {"best": "first", "shortcuts": {"first": RULE}}
TESTED = MEASURED | {"scored": ["9"], "changed_classes": []}


class Confined(atomic.Disk):
    """The disk, of which only one folder may be changed."""

    def __init__(self, folder: Path):
        self.folder = folder.resolve()

    def inside(self, path: Path) -> Path:
        assert path.parent.resolve().is_relative_to(self.folder), path
        return path

    def create(self, path: Path) -> int:
        return super().create(self.inside(path))

    def append(self, path: Path) -> int:
        return super().append(self.inside(path))

    def replace(self, source: Path, target: Path) -> None:
        super().replace(self.inside(source), self.inside(target))

    def make_folder(self, path: Path) -> None:
        super().make_folder(self.inside(path))

    def remove(self, path: Path) -> None:
        super().remove(self.inside(path))


class Hangs(BaseException):
    """A command took too long."""


def language_only(language: str, *more: Any) -> int:
    """A lesson for which nothing is made."""
    languages.get(language)
    return 0


@pytest.fixture
def world(tmp_path: Path, tiny: None, monkeypatch) -> Iterator[World]:
    """A folder with all kinds of files, in which nothing trains and nothing is drawn."""
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.1")  # what is too large is refused as well, and sooner
    monkeypatch.setattr(atomic, "disk", Confined(tmp_path))
    monkeypatch.setattr(running, "run", lambda *arguments: SUMMARY)
    monkeypatch.setattr(demo, "trained", language_only)
    monkeypatch.setattr(demo, "at_once", language_only)
    monkeypatch.setattr(driver, "sweep", lambda *arguments: pytest.fail("a sweep was run"))
    monkeypatch.setattr(scores, "shortcut_report", lambda config: SHORTCUTS)
    monkeypatch.setattr(evaluate, "evaluate", short_only(evaluate.evaluate))
    for_a_moment(monkeypatch)
    monkeypatch.setattr(metadata, "entry_points", functools.cache(metadata.entry_points))  # nothing is installed now
    monkeypatch.setattr(curves, "picture", lambda *arguments: None)
    monkeypatch.setattr(files, "figure", lambda *arguments: None)
    monkeypatch.setattr(files.plots, "save", lambda path, figure: None)
    signal.signal(signal.SIGALRM, hangs)
    yield World(tmp_path)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def short_only(test: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make the test of a model if it takes a moment."""

    def tested(folder: Any, config: RunConfig, lengths: tuple[int, ...], *rest: Any) -> dict[str, Any]:
        is_short = sum(lengths) * config.evaluation.samples <= MOST_SYMBOLS
        return test(folder, config, lengths, *rest) if is_short else TESTED

    return tested


def hangs(number: int, frame: Any) -> None:
    """Called when the time is over."""
    raise Hangs


def answered(arguments: list[str]) -> Answer:
    """What the command line did."""
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(PATIENCE)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call(arguments)
    signal.alarm(0)
    return Answer(code, out.getvalue(), err.getvalue())


def judge(world: World, arguments: list[str], *more: Any) -> int:
    """Run a command and hold it to what is promised, its files put back after it; its exit code."""
    case = ([argument[:80] for argument in arguments], *more)
    try:
        answer = answered(arguments)
    except BaseException as error:
        raise AssertionError(case) from error
    assert answer.code in (0, 1, 2), (case, answer)
    if answer.code == 2 and not answer.out.startswith("Usage: "):
        assert answer.out == "", (case, answer)
        *notices, last, end = answer.err.split("\n")
        assert (last.startswith("error: "), end) == (True, ""), (case, answer)
        assert all(line.startswith(("warning: ", "error: ")) for line in notices), (case, answer)
        assert len(last) < 4000, (case, answer)
    if changed := world.changed():
        assert answer.code != 2, (case, changed, answer)
        world.restore()
    return answer.code


def peak() -> tuple[int, int]:
    """Memory in use and the most that was, in bytes."""
    sizes = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(sizes["VmRSS"].split()[0]) << 10, int(sizes["VmHWM"].split()[0]) << 10


@pytest.fixture
def thrifty() -> Iterator[None]:
    """Fails if the test takes more memory than a small machine has."""
    if not STATUS.exists():
        yield
        return
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, _ = peak()
    yield
    assert peak()[1] - before < MOST_MEMORY


@pytest.mark.slow
@pytest.mark.usefixtures("thrifty")
def test_argument_lists(world: World):
    arguments, codes = Arguments(random.Random(0)), Counter[int]()
    for number in range(N_ARGUMENTS):
        codes[judge(world, arguments.draw(), number)] += 1
    assert min(codes[0], codes[2]) > N_ARGUMENTS / 20


# What is damaged, and the verbs that read it.
READERS: dict[str, list[list[str]]] = {
    "run/": [
        ["resume", "run"],
        ["results", "run"],
        ["results", "."],
        ["evaluate", "run", "--lengths", "9", "--samples", "4"],
        ["report", "run"],
        ["extract", "run"],
        ["verify", "run", "--length", "9", "--words", "2"],
        ["receptive-field", "run", "--length", "9", "--words", "2"],
    ],
    "documents/": [
        ["evaluate", "documents", "--lengths", "40", "--samples", "4"],
        ["needles", "documents", "--lengths", "40", "--words", "4"],
        ["report", "documents"],
    ],
    "certified/": [["check", "certified"], ["check", "certified", "--language", "parity"], ["report", "certified"]],
    "begun/": [["resume", "begun"], ["results", "begun"], ["results", "."], ["report", "begun"]],
    "sweep/": [["results", "sweep"], ["sweep", "parity", "--out", "sweep", "--dry-run"]],
    "good.toml": [["run", "--config", "good.toml"], ["shortcuts", "--config", "good.toml"]],
    "good.json": [["show", "dfa:good.json"], ["sample", "dfa:good.json", "--length", "5"]],
    "good.jff": [["show", "dfa:good.jff"]],
    "nfa.att": [["show", "dfa:nfa.att;determinise=true"]],
    "mealy.dot": [["show", "dfa:mealy.dot"]],
    "good.dot": [["show", "dfa:good.dot"], ["sweep", "dfa:good.dot", "--dry-run"]],
}
KINDS = ("nothing", "folder", "ring", "pipe", "/dev/zero", "/dev/full")


@pytest.mark.slow
@pytest.mark.usefixtures("thrifty")
def test_damaged_files(world: World):
    chance, codes = random.Random(1), Counter[int]()
    for number in range(N_DAMAGED):
        place = chance.choice(list(READERS))
        name = chance.choice([name for name, entry in world.entries.items() if name.startswith(place) and entry.data])
        how = chance.choice([*DAMAGES, *(KINDS if chance.random() < 0.5 else ())])
        if how in DAMAGES:
            world.put(name, DAMAGES[how](chance, world.entries[name].data))
        else:
            world.replace(name, how)
        codes[judge(world, chance.choice(READERS[place]), number, name, how)] += 1
        world.restore()
    assert min(codes[0], codes[2]) > N_DAMAGED / 20
