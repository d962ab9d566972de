"""Progress on a terminal of any width: nothing is cut, and no time is promised that nobody knows."""

import fcntl
import os
import re
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from regulargpt.certificate.proof_phase import Closed, Seeking
from regulargpt.certificate.tuning.phase import TableFineTuning, TableTuning, Trees
from regulargpt.certificate.tuning.state import Certified, Mending, Stage
from regulargpt.cli.bars import Bars
from regulargpt.cli.output import CheckBar, CountBar
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.training.progress import Progress
from regulargpt.training.table_fine_tuning import TableFineTuningOptions
from regulargpt.training.trainer import Trainer
from tests.cli.conftest import Cli
from tests.cli.test_run import SMALL
from tests.regulargpt.small import ATTENTION, COMMON, trainer_of
from tests.regulargpt.texts import text_config, text_run, write_text

NOTHING: Mapping[str, Any] = MappingProxyType({})
Terminal = Callable[..., Callable[[], list[str]]]


@pytest.fixture
def terminal(monkeypatch) -> Iterator[Terminal]:
    """Make stderr a terminal of so many columns; what is returned says which lines it showed, one after another."""
    open_ends: list[Callable[[], None]] = []

    def make(columns: int, rows: int = 24) -> Callable[[], list[str]]:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        stderr, received = os.fdopen(theirs, "w", encoding="utf-8"), bytearray()

        def read() -> None:
            try:
                while data := os.read(ours, 1 << 16):
                    received.extend(data)
            except OSError:  # the other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        monkeypatch.setattr(sys, "stderr", stderr)

        def end() -> None:
            if not stderr.closed:
                stderr.close()
                reader.join()
                os.close(ours)

        def shown() -> list[str]:
            end()
            return [line.rstrip() for line in re.split(r"[\r\n]+", received.decode()) if line.strip()]

        open_ends.append(end)
        return shown

    yield make
    for end in open_ends:
        end()


@pytest.mark.parametrize("columns", [10, 30, 40, 80, 120])
def test_a_run_fits_the_terminal(cli: Cli, terminal: Terminal, columns: int):
    shown = terminal(columns)
    assert cli("run", "parity", *SMALL, "--out", "r").code == 0
    said, *lines = shown()
    assert said == "parity: gated-regulargpt, recipe answers with table_fine_tuning, into r"
    assert max(map(len, lines)) < columns
    assert lines[0].startswith("training"[:columns])
    tested = [line for line in lines if line.startswith("testing"[:columns])]
    assert "testing: 5 of 5 lengths".startswith(tested[-1][:23])
    assert lines[-1].startswith("trying")


def test_a_terminal_that_does_not_say_its_size_shows_progress(terminal: Terminal):
    shown, bars = terminal(0, rows=0), Bars()
    bars.on_test({41: 2, 42: 2})
    bars.on_point(Point(41, 2, {"accuracy": Interval(100.0, 34.24, 100.0)}))
    bars.close()
    first, second = shown()[:2]
    assert first.startswith("testing: 0 of 2 lengths, now 41")
    assert second.startswith("testing: 1 of 2 lengths, now 42, worst accuracy 100 %")


SEEKING = Seeking()


def line_at(
    changes: Mapping[str, Any],
    step: int,
    progress: Mapping[str, Any] = NOTHING,
    now: Seeking | TableTuning | Closed[TableTuning] = SEEKING,
    row: Mapping[str, float] = NOTHING,
    missed: float | None = None,
) -> tuple[str, Trainer]:
    """The line of a trainer of 20,000 steps at most that has come so far, and the trainer."""
    options = {"training.steps": 20_000, "training.loss_memory": 0.98, **changes}
    trainer, bars = trainer_of(RunConfig().replaced({**COMMON, **ATTENTION, **options})), Bars()
    trainer.step_count, trainer.words.progress = step, Progress(**progress)
    for phase in trainer.further:
        assert isinstance(phase, TableFineTuning)
        assert isinstance(phase.strategy, Trees)
        phase.now, phase.strategy.missed = now, missed
    bars.on_step(trainer)
    assert bars.training is not None
    bars.training.row = dict(row)
    line = str(bars.training)
    bars.close()
    return line, trainer


@pytest.mark.parametrize(("columns", "whole"), [(80, True), (50, True), (40, False)])
def test_the_accuracy_is_shown_whole_or_not_at_all(terminal: Terminal, columns: int, whole: bool):
    terminal(columns)
    solved = {"training.solved_loss": 0.05, "training.cooldown": 600}
    line, _ = line_at(solved, 1402, {"solved_at": 802}, row={"accuracy": 100.0, "loss": 0.00004})
    assert ("accuracy 100 %" in line) == whole
    assert whole or "acc" not in line
    assert len(line) < columns


def in_stage(stage: Stage, drift: float | None = None) -> TableTuning:
    """The training of a tree on the network's own table, none of which is looked at, with the options `CERTIFIED`."""
    options = TableFineTuningOptions("table_fine_tuning", steps=3000, max_error_share=0.5)
    table: Any = SimpleNamespace(stages=None)
    return TableTuning(table, table, stage, {}, options, drift)


SOLVED = {"training.solved_loss": 0.05, "training.cooldown": 9}
CERTIFIED = {
    **{"training.solved_loss": 0.1, "training.cooldown": 50, "phases.table_fine_tuning.every": 100},
    **{"phases.table_fine_tuning.steps": 3000, "phases.table_fine_tuning.max_error_share": 0.5},
}
NOISY = {**SOLVED, "model.state_noise": 0.4, "model.noise_loss": 0.2}
STAGED = {**SOLVED, "training.curriculum": (3, 6), "training.stage_loss": 0.2}
COOLING, TUNING = {"progress": {"loss": 0.3, "solved_at": 100}}, {"now": in_stage(Mending(100, 1.0, 0, 100))}
WAITING = [
    (SOLVED, 7, {"progress": {"loss": 0.061}}, "waits for loss 0.061 < 0.05"),
    (
        NOISY,
        7,
        {"progress": {"loss": 0.3, "noise": 0.123}},
        "waits for noise 0.12 of 0.4, which waits for loss 0.300 <",
    ),
    (STAGED, 7, {"progress": {"loss": 0.3, "stage": 1}}, "stage 2 waits for loss 0.300 < 0.2"),
    (CERTIFIED, 7, {"progress": {"loss": 0.3}}, "waits for a proof (tried every 100 steps), waits for loss 0.300"),
    (CERTIFIED, 107, COOLING | {"missed": 0.123}, "waits for a proof (12.3 % missed), cooldown 7 of"),
    (CERTIFIED, 107, TUNING | {"missed": 0.003}, "waits for a proof (0.3 % missed), table fine-tuning 7 of 1,000"),
]


@pytest.mark.parametrize(("options", "step", "place", "words"), WAITING)
def test_what_is_waited_for_is_said_and_no_time(terminal: Terminal, options, step: int, place, words: str):
    terminal(200)
    line, _ = line_at(options, step, **place)
    assert line.startswith(f"training: step {step}, {words}")
    assert "left" not in line
    assert ", at most 20,000 steps, " in line


@pytest.mark.parametrize(
    ("step", "drift", "awaited"), [(200, None, "drift aim 0.5"), (12_350, 0.714, "drift 0.71, aim 0.5")]
)
def test_once_an_attempt_holds_nothing_is_called_proven_and_80_columns_hold_what_is_awaited_and_until_when(
    terminal: Terminal, step: int, drift: float | None, awaited: str
):
    terminal(80)
    # The accuracy on words is that from before: they are not trained on any more.
    row, stage = {"accuracy": 55.75, "loss": 0.4}, Certified(step - 200, 0.0, 6, step - 100)
    line, _ = line_at(CERTIFIED, step, {}, in_stage(stage, drift), row)
    assert line.startswith(f"training: step {step:,}, attempt holds; {awaited}, at most {step + 2900:,} steps")


KNOWN = [
    ({"training.steps": 90}, (7,), 90),
    (SOLVED, (100, {"solved_at": 95}), 104),
    ({**SOLVED, "training.steps": 100}, (95,), 100),
    (CERTIFIED, (950, {}, Closed(in_stage(Certified(100, 0.0, 6, 100)), 960)), 960),
]


@pytest.mark.parametrize(("options", "place", "end"), KNOWN)
def test_a_known_end_is_shown(terminal: Terminal, options: Mapping[str, Any], place: tuple[Any, ...], end: int):
    terminal(200)
    line, trainer = line_at(options, *place)
    assert line.startswith(f"training: step {place[0]} of {end:,}, ")
    assert trainer.awaited == []


def test_evaluate_shows_its_lengths_on_a_terminal_only(cli: Cli, terminal: Terminal):
    assert cli("run", "parity", *SMALL, "--out", "r").code == 0
    test = ("evaluate", "r", "--lengths", "7-9,15", "--samples", "8")
    silent = cli(*test)
    assert silent.err == ""
    shown = terminal(80)
    assert cli(*test).out == silent.out
    lines = shown()
    assert lines[0].startswith("testing: 0 of 4 lengths, now 7")
    assert lines[-1].startswith("testing: 4 of 4 lengths, worst ")
    assert any(line.startswith("testing: 3 of 4 lengths, now 15, worst ") for line in lines)


def test_a_stderr_that_is_a_file_gets_a_line_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """By the clock, though nothing is counted meanwhile; of the last work that began, and nothing once it ended."""
    monkeypatch.setattr("regulargpt.cli.progress.SECONDS", 0.05)
    whole, part = CountBar("methods"), CheckBar()
    whole.begin()
    time.sleep(0.3)
    part("leaves", 3, 6)
    time.sleep(0.3)
    part.close()
    whole.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "methods: at work, 00:00 elapsed"
    assert lines[-1].startswith("checking leaves: 3 of 6, ")
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (80, 0), (0, 0)])
def test_what_is_checked_is_said_from_the_first_line_on(terminal: Terminal, columns: int, rows: int):
    shown, checking = terminal(columns, rows=rows), CheckBar()
    checking("leaves", 0, 6)
    checking("nodes", 6, 20)
    checking.close()
    lines = shown()
    assert {line[:15] for line in lines} == {"checking leaves", "checking nodes:"}
    assert lines[0].startswith("checking leaves")


def test_the_seconds_of_training_testing_and_certifying_are_told_apart(cli: Cli):
    long = ("--certify", "--steps", "3", "--set", "phases.table_fine_tuning.every=2")
    small = [part for part in SMALL if part not in ("--steps", "12")]
    assert cli("run", "parity", *small, *long, "--out", "r").code == 0
    out = cli("resume", "r").out
    names = [line.split("  ")[0] for line in out.splitlines()]
    assert names[:4] == ["training", "also given", "testing", "certifying"]
    assert all(re.fullmatch(r"\w+ +\d+\.\d s", line) for line in out.splitlines()[2:4])
    summary = cli("resume", "r", "--json").out
    assert all(f'"{part}_seconds": ' in summary for part in ("train", "test", "certify"))
    assert Path("r/uncertified.json").exists()


def test_the_speed_of_a_training_on_a_text_is_shown_in_symbols(terminal: Terminal, tmp_path: Path):
    terminal(200)
    bars = Bars()
    bars.on_step(trainer_of(text_config(write_text(tmp_path / "text"))))
    assert bars.training is not None
    bars.training.row = {"bits_per_byte": 2.25, "loss": 1.5596}
    assert bars.training.speed() == []  # nothing is known yet
    bars.training._ema_dn(10.0)
    bars.training._ema_dt(2.0)
    line = str(bars.training)
    bars.close()
    assert ", 160 symbols/s, " in line  # 5 steps a second, of 4 segments of 8 symbols
    assert ", 2.25 bits per byte, " in line
    assert "bits_per_byte" not in line


def test_a_summary_of_a_text_has_its_speed_and_that_of_words_has_none(cli: Cli, tmp_path: Path):
    folder = text_run(tmp_path / "text")
    summary = folder.load_summary()
    # Of milliseconds, which the summary rounds to whole ones.
    assert 3 * 4 * 8 / summary["symbols_per_second"] == pytest.approx(summary["train_seconds"], abs=6e-4)
    assert " a second)" in cli("resume", folder.path).out
    assert cli("run", "parity", *SMALL, "--out", "r").code == 0
    assert "symbols_per_second" not in cli("resume", "r", "--json").out
