"""Temperatures of trained text models in the tables: searched once, set on the network that is asked, none at home."""

from __future__ import annotations

import numpy as np
import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.data import build
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.runs import run as running
from regulargpt.runs.again import points_again
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from regulargpt.text.data.segments import TextData
from regulargpt.text.experiments import alignment, completion, sharpening, testing
from regulargpt.text.experiments.completion import TRUNCATION
from regulargpt.text.experiments.sharpening import reader_at, temperature_at
from regulargpt.text.measurements.alignment import setting as settings
from regulargpt.text.measurements.alignment.setting import find, setting_of
from regulargpt.text.measurements.alignment.statistics import average_logits, sharpness
from regulargpt.text.measurements.completion import completed, places
from tests.regulargpt.texts import TRAIN_LEN, text_config, write_text

STRATEGIES = ("p_max", "entropy", "log")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run on lines of 12 letters, tested at 8, 16 and 32 symbols."""
    path = tmp_path_factory.mktemp("aligned")
    name = write_text(path / "letters")
    letters = (path / "letters").read_bytes()
    (path / "letters").write_bytes(b"\n".join(letters[at : at + 12] for at in range(0, len(letters), 12)))
    running.run(text_config(name, evaluation__test_len=32), path / "run")
    return RunFolder.open(path / "run")


@pytest.fixture(autouse=True)
def few_lines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(completion, "LINES", 8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_network_has_the_temperature_of_its_length(folder: RunFolder, strategy: str):
    found = temperature_at(folder, 32, strategy)
    assert found == find(setting_of(folder, 32), strategy)
    model, plain = reader_at(folder, 32, strategy), load_reader(folder)
    assert isinstance(model, Attentive)
    assert isinstance(plain, Attentive)
    words = setting_of(folder, 32).long
    expected = setting_of(folder, 32).at(np.array([found.tau[0][0]]))
    assert sharpness(model, words).p_max == pytest.approx(expected.p_max)
    assert not np.allclose(sharpness(plain, words).p_max, expected.p_max)


@pytest.mark.parametrize(("length", "strategy"), [(TRAIN_LEN, "p_max"), (TRAIN_LEN, ""), (32, "")])
def test_at_the_training_length_and_without_a_strategy_there_is_none(folder: RunFolder, length: int, strategy: str):
    assert temperature_at(folder, length, strategy) is None


def test_a_temperature_is_searched_once_for_all_who_ask(folder: RunFolder, monkeypatch: pytest.MonkeyPatch):
    searched: list[str] = []

    def counted(setting: settings.Setting, strategy: str) -> settings.Temperature:
        searched.append(strategy)
        return find(setting, strategy)

    monkeypatch.setattr(settings, "find", counted)
    sharpening.temperature_at.cache_clear()
    config = RunConfig.parse(folder.config_text)
    points = testing.points(folder, config, "p_max")
    completion.lines(folder, "p_max")
    assert searched == ["p_max"] * 2  # at 16 and at 32
    for point in points:
        temperature = find(setting_of(folder, point.length), "p_max") if point.length > TRAIN_LEN else None
        (again,) = points_again(folder, config, [point.length], config.seed, temperature=temperature)
        assert point.measures == again.measures


def test_lines_are_completed_with_the_temperature_or_with_what_was_read_in_training(folder: RunFolder):
    config = RunConfig.parse(folder.config_text)
    source = build(config.data)
    assert isinstance(source, TextData)
    at = places(source, 32, completion.LINES, config.seed)
    sharp = load_reader(folder)
    find(setting_of(folder, 32), "entropy").set_on(sharp)
    assert completion.lines(folder, "entropy")[0][32] == completed(sharp, source, 32, at)
    plain = load_reader(folder)
    assert completion.lines(folder, "")[0][32] == completed(plain, source, 32, at)
    assert completion.lines(folder, TRUNCATION)[0][32] == completed(plain, source, TRAIN_LEN, at)


def test_what_is_measured_at_the_training_length_stands_before_the_longer_ones(folder: RunFolder):
    p_max, gaussian = alignment.dispersion("p_max")(folder, "full"), alignment.gaussian(folder, "full")
    assert list(p_max) == list(gaussian) == [TRAIN_LEN, 16, 32]
    parts = alignment.parts_of(folder, 32)
    for length, name in ((TRAIN_LEN, "short"), (32, "long")):
        sharp = [part.sharpness(name).p_max.mean() for part in parts]
        assert p_max[length].value == pytest.approx(np.mean(sharp))
        straight = [average_logits(part.model, part.words[name]).gaussian for part in parts]
        assert gaussian[length].value == pytest.approx(np.mean(straight))


def test_the_temperature_is_that_by_p_max_and_the_gap_what_entropy_goes_below_it(folder: RunFolder):
    found = {name: alignment.temperature_of(folder, name) for name in ("p_max", "entropy")}
    assert alignment.temperature(folder, "full") == found["p_max"]
    assert list(found["p_max"]) == [16, 32]
    for length, gap in alignment.gap(folder, "full").items():
        assert gap.value == pytest.approx(found["entropy"][length].value - found["p_max"][length].value)
