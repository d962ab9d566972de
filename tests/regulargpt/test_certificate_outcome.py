"""What `verify` writes: proven only what the independent checker accepts, and the largest slack that it accepts."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from regulargpt import data
from regulargpt.certificate import outcome, unquantised
from regulargpt.certificate.checker import Rejected, check
from regulargpt.construct.configuration import configuration
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import Watch, run
from regulargpt.storage.folder import RunFolder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of Flip-Flop with constructed weights, whose first prototype is never the root of a word with an answer."""
    folder = tmp_path_factory.mktemp("made") / "run"
    run(configuration("flip-flop").replaced({"evaluation.test_len": 42, "evaluation.extra_lengths": ()}), folder)
    return RunFolder.open(folder)


def certificate(folder: RunFolder) -> Path:
    return folder.path / "certificate.json"


def test_a_ball_is_limited_by_the_readout_only_where_a_root_is_answered(made: RunFolder):
    report = certificate_report(made)
    assert report["proven"]
    assert report["unquantised"]["proven"]
    record = json.loads(certificate(made).read_text())
    assert record["answers"].count(None) == 1
    accepted = check(certificate(made))
    assert accepted.unquantised_claim is not None
    assert (accepted.states, accepted.answered_states) == (3, 2)


def test_what_the_checker_rejects_is_not_called_proven(made: RunFolder, monkeypatch: pytest.MonkeyPatch):
    certificate_report(made)

    def refuse(*arguments: object, **more: object) -> None:
        raise Rejected("it does not hold")

    monkeypatch.setattr(outcome, "decide", refuse)
    report = certificate_report(made)
    assert not report["proven"]
    assert report["reason"] == "the independent check rejects it: it does not hold"
    assert not certificate(made).exists()
    assert not (made.path / "automaton.json").exists()
    assert json.loads((made.path / "uncertified.json").read_text())["reason"] == report["reason"]


@pytest.mark.parametrize("rejections", [1, 99])
def test_the_largest_slack_is_claimed_that_the_checker_accepts(
    made: RunFolder, monkeypatch: pytest.MonkeyPatch, rejections: int
):
    largest = certificate_report(made)["unquantised"]["slack"]
    true, stated = unquantised.decide, []

    def demanding(text: bytes, *arguments: object, **more: object) -> object:
        balls = json.loads(text)["unquantised"]
        if balls is not None:
            stated.append(balls["slack"])
            if len(stated) <= rejections:
                raise Rejected("the balls are too large")
        return true(text, *arguments, **more)

    monkeypatch.setattr(unquantised, "decide", demanding)
    report = certificate_report(made)
    assert report["proven"]
    assert stated == sorted(stated, reverse=True)
    assert stated[0] == largest
    if rejections == 1:
        assert report["unquantised"]["slack"] == stated[1] < largest
        assert check(certificate(made)).unquantised_claim is not None
    else:
        assert len(stated) == unquantised.ATTEMPTS
        assert report["unquantised"] == {
            "proven": False,
            "reason": "the independent check rejects it: the balls are too large",
        }
        assert check(certificate(made)).unquantised_claim is None


def test_balls_that_a_smaller_slack_does_not_save_are_not_tried_again(made: RunFolder, monkeypatch: pytest.MonkeyPatch):
    true, tried = unquantised.decide, []

    def demanding(text: bytes, *arguments: object, **more: object) -> object:
        balls = json.loads(text)["unquantised"]
        if balls is not None:
            tried.append(tuple(balls["radii"]))
            raise Rejected("a state leaves its ball", excess=math.inf)
        return true(text, *arguments, **more)

    monkeypatch.setattr(unquantised, "decide", demanding)
    assert not certificate_report(made)["unquantised"]["proven"]
    assert len(set(tried)) == len(tried) > 0


def test_a_run_writes_what_was_checked_and_says_so_in_its_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = configuration("parity").replaced(
        {"evaluation.test_len": 42, "evaluation.extra_lengths": (), "phases.table_fine_tuning.every": 100}
    )
    # Constructed runs are certified by `verify`; here one is asked at once.
    monkeypatch.setattr("regulargpt.runs.run.validate", lambda config, task=None: data.build(config.data))
    seen: list[tuple[str, int, int]] = []

    summary = run(config, tmp_path / "run", Watch(on_check=lambda *part: seen.append(part)))
    assert summary["proven"]
    assert {part for part, _, _ in seen} == {"leaves", "nodes", "balls"}
    assert check(tmp_path / "run" / "certificate.json").unquantised_claim is not None


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
