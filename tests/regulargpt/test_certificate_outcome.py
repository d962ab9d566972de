"""What `verify` writes: proven only what the independent checker accepts, and the largest slack that it accepts."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regulargpt import data
from regulargpt.certificate import outcome, unquantised
from regulargpt.certificate.checker import Rejected
from regulargpt.construct.configuration import configuration
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import Watch, run
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.forging import SHORT, checked, made


@pytest.fixture(scope="module")
def flip_flop(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of Flip-Flop with constructed weights, whose first prototype is never the root of a word with an answer."""
    return made(tmp_path_factory.mktemp("made") / "run", "flip-flop")


def test_a_ball_is_limited_by_the_readout_only_where_a_root_is_answered(flip_flop: RunFolder):
    report = certificate_report(flip_flop)
    assert report["proven"]
    assert report["unquantised"]["proven"]
    assert json.loads((flip_flop.path / "certificate.json").read_text())["answers"].count(None) == 1
    accepted = checked(flip_flop.path)
    assert accepted.unquantised_claim is not None
    assert (accepted.states, accepted.answered_states) == (3, 2)


def test_what_the_checker_rejects_is_not_called_proven(flip_flop: RunFolder, monkeypatch: pytest.MonkeyPatch):
    certificate_report(flip_flop)

    def refuse(*arguments: object, **more: object) -> None:
        raise Rejected("it does not hold")

    monkeypatch.setattr(outcome, "decide", refuse)
    report = certificate_report(flip_flop)
    assert not report["proven"]
    assert report["reason"] == "the independent check rejects it: it does not hold"
    assert not (flip_flop.path / "certificate.json").exists()
    assert not (flip_flop.path / "automaton.json").exists()
    assert json.loads((flip_flop.path / "uncertified.json").read_text())["reason"] == report["reason"]


def demanding(monkeypatch: pytest.MonkeyPatch, rejections: int, **why: float) -> list[dict[str, Any]]:
    """The balls that are stated, of which the checker rejects the first so many."""
    true, stated = unquantised.decide, []

    def decide(text: bytes, *arguments: object, **more: object) -> object:
        balls = json.loads(text)["unquantised"]
        if balls is not None:
            stated.append(balls)
            if len(stated) <= rejections:
                raise Rejected("the balls are too large", **why)
        return true(text, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(unquantised, "decide", decide)
    return stated


@pytest.mark.parametrize("rejections", [1, 99])
def test_the_largest_slack_is_claimed_that_the_checker_accepts(flip_flop: RunFolder, monkeypatch, rejections: int):
    largest = certificate_report(flip_flop)["unquantised"]["slack"]
    stated = demanding(monkeypatch, rejections)
    report = certificate_report(flip_flop)
    assert report["proven"]
    slacks = [balls["slack"] for balls in stated]
    assert slacks == sorted(slacks, reverse=True)
    assert slacks[0] == largest
    if rejections == 1:
        assert report["unquantised"]["slack"] == slacks[1] < largest
    else:
        assert len(slacks) == unquantised.ATTEMPTS
        reason = "the independent check rejects it: the balls are too large"
        assert report["unquantised"] == {"proven": False, "reason": reason}
    assert (checked(flip_flop.path).unquantised_claim is None) == (rejections > 1)


def test_balls_that_a_smaller_slack_does_not_save_are_not_tried_again(flip_flop: RunFolder, monkeypatch):
    stated = demanding(monkeypatch, 99, excess=math.inf)
    assert not certificate_report(flip_flop)["unquantised"]["proven"]
    assert len({tuple(balls["radii"]) for balls in stated}) == len(stated) > 0


def test_a_run_writes_what_was_checked_and_says_so_in_its_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = configuration("parity").replaced({**SHORT, "phases.table_fine_tuning.every": 100})
    # Constructed runs are certified by `verify`; here one is asked at once.
    monkeypatch.setattr("regulargpt.runs.run.validate", lambda config, task=None: data.build(config.data))
    seen: list[tuple[str, int, int]] = []

    summary = run(config, tmp_path / "run", Watch(on_check=lambda *part: seen.append(part)))
    assert summary["proven"]
    assert {part for part, _, _ in seen} == {"leaves", "nodes", "balls"}
    assert checked(tmp_path / "run").unquantised_claim is not None


@pytest.mark.parametrize(
    ("model", "n_windows", "advised"),
    [
        ({"d_ff": 256}, 550, {"d_ff": 576}),
        ({"d_ff": 256}, 576, {"d_ff": 576}),
        ({"d_ff": 256}, 1650, {"d_ff": 1664}),
        ({"d_ff": 256}, 256, {}),
        ({"d_ff": 640}, 550, {}),
        ({"d_ff": 256}, 2049, {}),
        ({}, 550, {}),
    ],
)
def test_a_wider_layer_is_advised_where_it_has_helped(model: dict[str, int], n_windows: int, advised: dict[str, int]):
    table = SimpleNamespace(nodes=range(n_windows))
    searched = SimpleNamespace(network=SimpleNamespace(options=model), quantised=SimpleNamespace(table=table))
    assert unquantised.wide_enough(searched) == advised
