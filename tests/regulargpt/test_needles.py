"""What is found at each depth: networks that err at known depths, Wilson's interval, a temperature, the files."""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt import plots
from regulargpt.config.schema import RunConfig
from regulargpt.data import read_data
from regulargpt.evaluation.temperature import Temperature, weights_of, write
from regulargpt.measurements.measuring import measured
from regulargpt.runs import load
from regulargpt.runs import run as running
from regulargpt.runs.again import evaluate
from regulargpt.storage.folder import RunFolder
from regulargpt.text.corpora.retrieval import retrieval
from regulargpt.text.measurements.needles import ByDepth, edges, needle_depths
from tests.cli.conftest import everything
from tests.languages.test_retrieval import by_hand
from tests.regulargpt.reading import Errs, Reader
from tests.regulargpt.small import config

NAME = "retrieval:line:questions=4,keys=8"
Z = 1.959963984540054


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    """A network that has hardly learned anything: its numbers are anything between 0 and 100 %."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    running.run(config("retrieval", data__name=NAME, model__dropout=0.0, training__steps=5), folder)
    return RunFolder.open(folder)


def needles_report(folder: RunFolder, lengths: Sequence[int] = (), temperature: Temperature | None = None, **options):
    """What the measurement reports; a temperature is read from a file, as the verb reads it."""
    if temperature is not None:
        options["temperature"] = folder.path.parent / "temperature.json"
        write(options["temperature"], replace(temperature, weights=weights_of(folder)))
    if lengths:
        options["lengths"] = ",".join(map(str, lengths))
    return measured("needles", folder.path, **options).report


@pytest.fixture
def erring(monkeypatch) -> Callable[[Errs], None]:
    """Put a reader that errs in the place of the network."""

    def put(errs: Errs) -> None:
        monkeypatch.setattr(load, "load_reader", lambda folder: Reader(retrieval(NAME), errs))

    return put


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, exclude_max=True, width=32)), min_size=1), st.integers(1, 30))
def test_needles_fall_into_bins_by_their_depth(needles: list[tuple[bool, float]], bins: int):
    found, depths = (np.array(part) for part in zip(*needles, strict=True))
    counted = ByDepth.count(found, depths.astype(float), bins)
    for at in range(bins):
        inside = [is_found for is_found, depth in needles if int(depth * bins) == at]
        assert (counted.found[at], counted.needles[at]) == (sum(inside), len(inside))
        assert (counted.values[at] is None) == (not inside)
    assert sum(counted.needles) == len(needles)
    assert counted.value.value == pytest.approx(100 * sum(found) / len(needles))


@pytest.mark.parametrize(("found", "needles"), [(0, 5), (3, 7), (40, 41), (9, 9)])
def test_the_interval_is_wilsons(found: int, needles: int):
    """Its ends are the shares p0 from which what was found is z standard errors of p0 away."""
    value = ByDepth((found,), (needles,)).values[0]
    assert value is not None
    p = found / needles
    for end, is_trivial in ((value.low / 100, found == 0), (value.high / 100, found == needles)):
        assert abs(p - end) == pytest.approx(0 if is_trivial else Z * math.sqrt(end * (1 - end) / needles), abs=1e-9)


@pytest.mark.parametrize("bins", [1, 5, 10])
def test_errors_at_known_depths_are_found_there(
    trained: RunFolder, erring: Callable[[Errs], None], tmp_path: Path, bins: int
):
    erring(lambda length, question, depth: length > 40 and 0.2 <= depth < 0.6)
    report = needles_report(trained, lengths=(40, 56), bins=bins, words=30, out=tmp_path)
    near, far = (report["by_length"][length]["bins"] for length in ("40", "56"))
    assert {one["value"] for one in near if one["needles"]} == {100.0}
    for at, one in enumerate(far if bins > 1 else ()):
        inside = 0.2 <= at / bins < 0.6
        assert one["needles"] > 0
        assert (one["value"], one["found"]) == ((0.0, 0) if inside else (100.0, one["needles"]))


def test_the_counts_are_those_of_the_words_of_the_test(trained: RunFolder, tmp_path: Path):
    report = needles_report(trained, lengths=(48,), bins=4, words=20, out=tmp_path)
    task = retrieval(NAME)
    depths = [d for word in read_data(NAME).test(0, 48, 20) for d in by_hand(task, task.decode(word))[3]]
    found = report["by_length"]["48"]
    assert [one["needles"] for one in found["bins"]] == [sum(int(4 * d) == at for d in depths) for at in range(4)]
    assert found["all"]["needles"] == 80
    assert sum(one["found"] for one in found["bins"]) == found["all"]["found"]


def test_a_needle_of_several_answers_stands_where_the_first_does():
    task = retrieval("retrieval:passkey:questions=5")
    word = task.encode("n0 n0 k0 v1 v2 v3 v4 v5 n0 n0 ?1 k0 ?2 k0 ?3 k0 ?4 k0 ?5 k0")[None]
    assert needle_depths(task, word).tolist() == [[0.3]]
    assert edges(5).tolist() == [0, 20, 40, 60, 80, 100]


TAU = Temperature(((0.2, 0.3), (0.4, 0.25)))


def test_all_depths_together_score_what_evaluate_says_and_a_temperature_changes_it(trained: RunFolder, tmp_path: Path):
    settings, by_depth = RunConfig.parse(trained.config_text), []
    for temperature in (None, TAU):
        report = needles_report(trained, lengths=(28, 56), words=16, temperature=temperature, out=tmp_path)
        expected = evaluate(trained, settings, [28, 56], settings.seed, temperature=temperature)
        for length, value in expected["measures"]["exact_match"]["values"].items():
            assert report["by_length"][length]["all"]["value"] == pytest.approx(value, abs=1e-5)
        assert report["temperature"] == expected["temperature"]
        by_depth.append(report["by_length"]["56"]["bins"])
    assert by_depth[0] != by_depth[1]


def test_what_a_position_sees_is_what_the_run_was_tested_with(tmp_path: Path):
    changes = {"data__name": NAME, "training__steps": 2, "evaluation__attention": "sliding:4"}
    running.run(config("retrieval", **changes), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    report = needles_report(folder, words=16)
    values = folder.load_summary()["measures"]["exact_match"]["values"]
    assert {T: one["all"]["value"] for T, one in report["by_length"].items()} == pytest.approx(values, abs=1e-5)
    assert report["attention"] == "sliding:4"


def test_the_files(trained: RunFolder, erring: Callable[[Errs], None], tmp_path: Path):
    before = everything(trained.path)
    erring(lambda length, question, depth: depth < 0.5)
    report = needles_report(trained, bins=2, words=5, seed=7, out=tmp_path / "a")
    needles_report(trained, bins=2, words=5, seed=7, out=tmp_path / "b")
    assert everything(tmp_path / "a") == everything(tmp_path / "b")
    assert (report["chance"], report["together"], report["seed"], report["words"]) == (6.25, 1, 7, 5)
    assert list(report["by_length"]) == ["28", "56"]  # those of its test
    rows = list(csv.DictReader((tmp_path / "a" / "needles.csv").read_text().splitlines()))
    assert [(row["length"], row["depth_from"], row["depth_to"], row["exact_match"]) for row in rows] == [
        (length, *ends, value)
        for length in ("28", "56")
        for *ends, value in (("0.0", "50.0", "0.0"), ("50.0", "100.0", "100.0"))
    ]
    assert sum(int(row["needles"]) for row in rows) == 2 * 5 * 4
    assert everything(trained.path) == before


def test_a_depth_without_a_needle_has_no_value(trained: RunFolder, tmp_path: Path):
    report = needles_report(trained, lengths=(28,), bins=50, words=1, out=tmp_path)
    empty = [one for one in report["by_length"]["28"]["bins"] if not one["needles"]]
    assert len(empty) >= 46
    assert all(one == {"needles": 0, "found": 0, "value": None, "low": None, "high": None} for one in empty)
    rows = list(csv.DictReader((tmp_path / "needles.csv").read_text().splitlines()))
    assert sum(row["exact_match"] == "" for row in rows) == len(empty)


def test_the_picture_has_a_cell_a_length_and_depth_on_a_scale_to_100(
    trained: RunFolder, erring: Callable[[Errs], None], tmp_path: Path, monkeypatch
):
    drawn: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
    erring(lambda length, question, depth: length > 40 and depth >= 0.5)
    needles_report(trained, lengths=(28, 40, 56), bins=4, words=30, out=tmp_path)
    axes, scale = drawn[0].axes
    (mesh,) = axes.collections
    assert np.asarray(mesh.get_array()).tolist() == [[100] * 4, [100] * 4, [100, 100, 0, 0]]
    assert mesh.get_clim() == (0, 100)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["28", "40", "56"]
    assert axes.get_ylim() == (3, 0)  # the shortest length is above
    assert axes.get_lines()[0].get_ydata() == [1, 1]  # below it, words are longer than those of the training
    assert scale.get_lines()[0].get_ydata() == [6.25, 6.25]
    assert scale.get_ylabel() == "exact match (%)"
    assert [text.get_text() for text in axes.texts] == ["100"] * 10 + ["0", "0"]


def test_the_title_names_the_temperature(trained: RunFolder, tmp_path: Path, monkeypatch):
    drawn: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
    for temperature in (None, TAU):
        needles_report(trained, lengths=(28,), words=2, temperature=temperature, out=tmp_path)
    titles, title = [figure.get_suptitle() for figure in drawn], plots.title(RunConfig.parse(trained.config_text))
    assert [" ".join(name.split()) for name in titles] == [title, f"{title}, temperature 0.2 to 0.4"]


def test_the_words_are_few_at_once(trained: RunFolder, tmp_path: Path, monkeypatch):
    """Pieces change no number."""
    whole = needles_report(trained, lengths=(56,), words=20, out=tmp_path)
    monkeypatch.setattr("regulargpt.evaluation.by_length.CPU_PAIRS_AT_ONCE", 3 * 56**2)
    sizes: list[int] = []
    forward = torch.nn.Module.__call__

    def counted(module, *arguments, **options):
        if type(module).__name__ == "Transformer":
            sizes.append(len(arguments[0]))
        return forward(module, *arguments, **options)

    monkeypatch.setattr(torch.nn.Module, "__call__", counted)
    assert needles_report(trained, lengths=(56,), words=20, out=tmp_path) == whole
    assert sizes == [3, 3, 3, 3, 3, 3, 2]


def test_a_length_that_an_encoding_does_not_have_is_refused(tmp_path: Path):
    changes = {"data__name": NAME, "training__steps": 1, "model__encoding__name": "learned", "evaluation__test_len": 28}
    running.run(config("retrieval", **changes), tmp_path / "run")
    with pytest.raises(UserError, match=r"^length 56: .*learned"):
        needles_report(RunFolder.open(tmp_path / "run"), lengths=(56,))
