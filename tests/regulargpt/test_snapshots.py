"""Snapshots: the weights at steps on the way, in the run folder and in the page."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt import objectives
from regulargpt.classroom.live import snapshots as in_page
from regulargpt.classroom.live.snapshots import gather_snapshots, thinned
from regulargpt.classroom.page import render
from regulargpt.cli.configure import configure, texts
from regulargpt.config.schema import RunConfig
from regulargpt.data import build as data_of
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.runs.run import Watch, make_model, resume, run
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder, snapshot_name
from regulargpt.storage.manifest import IntegrityError, read_manifest
from regulargpt.storage.tensors import parse_weights
from regulargpt.training.observers import SnapshotsOptions
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.small import EQUAL, config
from tests.regulargpt.test_state_map import DRAWN, TYPE, assert_one_unit, opened, places, shown

STEPS = [0, 1, 3, 7, 17, 40]  # six of a training of 40 steps


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: None)


def keeping(family: str, **changes: Any) -> RunConfig:
    return config(family, observers__snapshots__count=6, **changes)


@given(st.integers(1, 60), st.integers(0, 100_000))
def test_steps_begin_before_training_grow_and_end_with_it(count: int, most: int):
    steps = SnapshotsOptions("snapshots", count).steps(most)
    assert steps[0] == 0
    assert steps == sorted(set(steps))
    assert len(steps) == min(count, most + 1)
    if len(steps) > 1:
        assert steps[-1] == most
    # Apart from rounding, each is as many times the one before as the next one is.
    far = [step for step in steps if step > 60]
    ratios = [after / before for before, after in itertools.pairwise(far)]
    assert not ratios or max(ratios) <= 1.1 * min(ratios)


@given(st.lists(st.integers(0, 1000), unique=True, max_size=40).map(sorted), st.integers(0, 45))
def test_what_is_thinned_out_keeps_its_ends(steps: list[int], most: int):
    found = thinned(steps, most)
    assert len(found) == (len(steps) if len(steps) <= most else most if most > 1 else 0)
    assert found == sorted(set(found))
    assert set(found) <= set(steps)
    if found:
        assert (found[0], found[-1]) == (steps[0], steps[-1])


def test_a_run_without_snapshots_is_what_it_was():
    assert "observers" not in RunConfig().render()
    # The name, with a digest of what is not at its default, has nothing of snapshots.
    assert name_of(RunConfig()) == "parity-regulargpt-C2-answers-seed0-44136fa355b3"
    asked = configure("parity", None, None, None, texts({"observers.snapshots.count": "6"}, []))
    assert asked.render().split("[observers.snapshots]\n")[1].split("\n")[0] == "count = 6"
    assert RunConfig.parse(asked.render()) == asked
    assert asked.replaced({}) == asked
    without = configure("parity", None, None, None, {})
    assert name_of(asked).rpartition("-")[0] == name_of(without).rpartition("-")[0]
    assert name_of(asked) != name_of(without)


@pytest.mark.parametrize("family", ["regulargpt", "transformer"])
def test_keeping_snapshots_changes_no_byte_of_the_rest(tmp_path: Path, family: str):
    settings = {"training__solved_loss": 0.0} if family == "regulargpt" else {}
    run(config(family, **settings), tmp_path / "plain")
    run(keeping(family, **settings), tmp_path / "kept")
    for name in EQUAL:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "kept" / name).read_bytes()
    folder = RunFolder.open(tmp_path / "kept")
    assert folder.snapshot_steps() == STEPS
    assert RunFolder.open(tmp_path / "plain").snapshot_steps() == []
    assert {snapshot_name(step) for step in STEPS} <= read_manifest(folder.path).keys()
    # The first is what the seed drew, the last what was trained.
    read = {step: parse_weights(folder.load_snapshot(step), folder.path) for step in STEPS}
    settings = RunConfig.parse(folder.config_text)
    words = data_of(settings.data)
    goal = objectives.build(settings.objective, words)
    for step, model in ((0, make_model(settings, words, goal, torch.device("cpu"))), (40, load_reader(folder))):
        for name, tensor in model.state_dict().items():
            assert torch.equal(read[step][name], tensor)
    assert any(not torch.equal(read[3][name], read[7][name]) for name in read[3])
    damaged = tmp_path / "kept" / snapshot_name(7)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x01")
    with pytest.raises(IntegrityError, match="snapshot-000000007"):
        gather_snapshots(folder, {name: tensor.numpy() for name, tensor in read[40].items()})


def test_a_run_that_was_stopped_keeps_the_same_snapshots(tmp_path: Path):
    def files(path: Path) -> dict[str, bytes]:
        return {found.name: found.read_bytes() for found in path.glob("snapshot-*")}

    run(keeping("gru"), tmp_path / "whole")
    expected = files(tmp_path / "whole")
    assert len(expected) == len(STEPS)
    for at in (7, 10, 40):

        def stop(trainer: Any, at: int = at) -> None:
            if trainer.step_count == at:
                raise RuntimeError("dies")

        with pytest.raises(RuntimeError, match="dies"):
            run(keeping("gru"), tmp_path / str(at), Watch(on_step=stop))
        resume(tmp_path / str(at))
        assert files(tmp_path / str(at)) == expected


def test_a_training_that_ends_early_has_fewer(tmp_path: Path):
    run(keeping("gru", training__solved_loss=1000.0, training__cooldown=2, training__loss_memory=0.0), tmp_path / "run")
    steps = RunFolder.open(tmp_path / "run").snapshot_steps()
    assert 1 < len(steps) < len(STEPS)
    assert steps == STEPS[: len(steps)]


FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gru": ("gru", {}),
    "transformer": ("transformer", {}),
    "tree": ("gru", {"model__name": "regulargpt", "model__n_heads": 2, "model__d_ff": 8, "objective__name": "last"}),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("kept")
    for name, (family, changes) in FAMILIES.items():
        run(keeping(family, **changes), path / name)
    return path


GO = """(at) => {
  const range = document.querySelector("[data-training=range]");
  range.value = at;
  range.dispatchEvent(new Event("input"));
}"""
OUTPUT = "document.querySelector('[data-training=output]').textContent"


@needs_browser
@pytest.mark.parametrize(("family", "width"), [("tree", 390), ("gru", 1280), ("transformer", 1280)])
@torch.no_grad()
def test_the_slider_shows_each_steps_answer_and_states(browser: Browser, kept: Path, family: str, width: int):
    browser.look(width, dark=width == 390)
    report = shown(kept / family)
    folder = RunFolder.open(report.path)
    assert report.live.network is not None
    assert report.live.snapshots.steps == tuple(STEPS)
    opened(browser, report)
    assert report.machine is not None
    word = [0, 1, 1, 0] if report.machine.n_symbols == 2 else [0, 2, 1]
    browser.evaluate(f"({TYPE})({json.dumps(report.machine.decode(np.array(word)))})")
    assert browser.evaluate(OUTPUT).startswith("The trained network answers")
    trained, drawn = browser.evaluate("runs[0].map.dots.map(({ where }) => where)"), browser.evaluate(DRAWN)
    seen, unit = set(), assert_one_unit(browser)
    for at, step in enumerate(STEPS):
        browser.evaluate(f"({GO})({at})")
        # The network of a step, its weights rounded to half precision.
        model, read = load_reader(folder), parse_weights(folder.load_snapshot(step), folder.path)
        model.load_state_dict({name: tensor.half().float() for name, tensor in read.items()})
        logits = model(torch.tensor([word]))[0]
        is_member = report.live.network.reading == "member"
        answer = report.live.output_names[int(logits[-1] > 0) if is_member else int(logits.argmax())]
        said = browser.evaluate(OUTPUT)
        lead = "Before the first step" if step == 0 else f"After {step} step"
        assert said.startswith(lead)
        assert f" {answer}, " in said
        # The state that is answered from, at the place where the trained network's plane has it.
        ours = browser.evaluate(
            "(() => { const { network } = runs[0].training;"
            f" return Array.from(network.model.state({json.dumps(word)})); }})()"
        )
        theirs = browser.evaluate(f"runs[0].training.network.logits({json.dumps(word)})")
        torch.testing.assert_close(torch.tensor(theirs), logits, rtol=0, atol=1e-4)
        item = json.dumps(f"{browser.evaluate('runs[0].nodes.length')},0" if family == "tree" else len(word))
        where = browser.evaluate(f"runs[0].map.dots.find(({{ items }}) => items.includes({item})).where")
        np.testing.assert_allclose(where, places(report, torch.tensor(ours)), atol=1e-5)
        seen.add(tuple(where))
        # All steps have one frame: the rings stand still, and no point lies outside.
        assert assert_one_unit(browser) == pytest.approx(unit)
        assert browser.evaluate(DRAWN)[0] == drawn[0]
        assert browser.evaluate("document.querySelectorAll('.map .outside').length") == 0
    assert len(seen) > 3
    browser.evaluate(f"({GO})({len(STEPS)})")
    assert browser.evaluate("runs[0].map.dots.map(({ where }) => where)") == trained
    assert browser.evaluate(DRAWN) == drawn
    # By the keyboard, and by the buttons; a new word stays at the step.
    browser.evaluate("document.querySelector('[data-training=range]').focus()")
    browser.key("ArrowLeft")
    assert browser.evaluate(OUTPUT).startswith("After 40 steps")
    browser.evaluate("document.querySelector('[data-training=back]').focus()")
    browser.key("Enter")
    assert browser.evaluate(OUTPUT).startswith("After 17 steps")
    browser.evaluate("document.querySelector('#clear').click()")
    assert browser.evaluate(OUTPUT) == ""
    browser.evaluate(f"({TYPE})({json.dumps(report.machine.decode(np.array(word[:2])))})")
    assert browser.evaluate(OUTPUT).startswith("After 17 steps")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
def test_of_a_word_that_takes_long_a_point_outside_the_frame_stands_at_its_edge(browser: Browser, kept: Path):
    opened(browser, shown(kept / "gru"))
    browser.evaluate("runs[0].live.longestOfAll = () => 0")
    browser.evaluate(f"({TYPE})('021021021')")
    # A frame in which the trained network's states are, but not those of the other steps.
    browser.evaluate("runs[0].map.frame = [[-1e-3, -1e-3], [1e-3, 1e-3]]")
    browser.evaluate(f"({GO})(0)")
    outside = browser.evaluate("runs[0].map.dots.map(({ where }) => where.some((value) => Math.abs(value) > 1e-3))")
    assert any(outside)
    marked = "[...document.querySelectorAll('.map .dot')].map((dot) => dot.classList.contains('outside'))"
    assert browser.evaluate(marked) == outside
    names = browser.evaluate("[...document.querySelectorAll('.map .dot')].map((dot) => dot.getAttribute('aria-label'))")
    assert [name.endswith("It lies outside the picture.") for name in names] == outside
    browser.evaluate("runs[0].map.say()")
    assert "A dashed point lies outside" in browser.evaluate("document.querySelector('[data-part=where]').textContent")
    at = np.array([at for _, at in browser.evaluate(DRAWN)[1]])  # (dots, 2)
    assert (np.abs(at - [210, 165]) <= 121.001).all()
    assert browser.problems == []


@needs_browser
def test_a_changed_tree_is_the_trained_networks_and_the_slider_says_so(browser: Browser, kept: Path):
    opened(browser, shown(kept / "tree"))
    browser.evaluate(f"({TYPE})('0110')")
    browser.evaluate(f"({GO})(1)")
    assert browser.evaluate(OUTPUT).startswith("After 1 step ")
    browser.evaluate("runs[0].tree.unfold(runs[0].tree.root)")
    browser.evaluate("runs[0].patcher.changes.move('1,0', 1)")
    browser.evaluate("runs[0].change(runs[0].patcher.changes)")
    assert browser.evaluate(OUTPUT).startswith("The trained network answers")
    assert browser.problems == []


@needs_browser
def test_the_training_plays(browser: Browser, kept: Path):
    opened(browser, shown(kept / "gru"))
    browser.evaluate("document.querySelector('#speed').value = '4'")
    browser.evaluate(f"({GO})(3)")
    browser.evaluate("document.querySelector('[data-training=play]').focus()")
    browser.key("Enter")
    browser.evaluate(
        "new Promise((done) => { const look = () => document.querySelector('[data-training=range]').value === '6'"
        " ? done() : setTimeout(look, 20); look(); })"
    )
    assert browser.evaluate(OUTPUT).startswith("The trained network")
    assert browser.evaluate("document.querySelector('[data-training=play]').textContent") == "Play"
    assert browser.problems == []


def test_a_page_holds_at_most_four_megabytes_of_snapshots(kept: Path, monkeypatch):
    report = shown(kept / "gru")
    each = report.live.snapshots.megabytes / len(STEPS)
    sentence = f"The page holds all steps that were kept, in half precision: {6 * each:.2f} MB."
    assert sentence in render([report])
    monkeypatch.setattr(in_page, "MOST_MEGABYTES", 3.5 * each)
    assert shown(kept / "gru").live.snapshots.steps == (0, 3, 40)
    monkeypatch.setattr(in_page, "MOST_MEGABYTES", 1.5 * each)
    none = shown(kept / "gru")
    assert none.live.snapshots.data() is None
    page = render([none])
    assert "The weights of 6 steps were kept. The page holds none of them" in page
    assert 'data-part="training"' not in page


@needs_browser
def test_half_precision_is_read_as_numpy_reads_it(browser: Browser, kept: Path):
    opened(browser, shown(kept / "gru"))
    bits = np.arange(0, 1 << 16, 7, dtype=np.uint16)
    numbers = bits.view(np.float16).astype(float)
    finite = np.isfinite(numbers)
    found = browser.evaluate(f"{bits[finite].tolist()}.map(fromHalf)")
    assert found == numbers[finite].tolist()
    assert browser.evaluate("[0x7c00, 0xfc00, 0x7e00].map(fromHalf).map(String)") == ["Infinity", "-Infinity", "NaN"]
