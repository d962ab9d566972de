"""Colours: told apart by all eyes, and one class has one colour in the PNG, the page and the workbench."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from regulargpt import plots
from regulargpt.findings import Dots, Picture
from regulargpt.findings.draw import figure
from regulargpt.findings.markup import HUES, colours
from regulargpt.measurements.measuring import measured
from tests.regulargpt.conftest import BRACKETS, PARITY, TRANSFORMER, Runs, shown
from tests.regulargpt.markup import data_of

# What is left of linear RGB to eyes without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN = {
    "by most people": np.eye(3),
    "without red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "without green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "without blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
LEAST = 15.0
"""CIE 1976 difference: about 2.3 is just noticed."""


def linear(colour: str) -> np.ndarray:
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB, under D65."""
    x = XYZ @ rgb.clip(0, 1) / XYZ.sum(1)
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("palette", [HUES, plots.COLOURS], ids=["classes", "lines"])
def test_any_two_colours_are_told_apart(palette: tuple[str, ...], eyes: str):
    assert len(palette) == 8
    seen = {colour: lab(SEEN[eyes] @ linear(colour)) for colour in palette}
    near = [
        pair for pair in itertools.combinations(palette, 2) if np.linalg.norm(seen[pair[0]] - seen[pair[1]]) < LEAST
    ]
    assert near == []


def test_ink_is_read_on_every_colour():
    for i in range(24):
        on, ink = ((SEEN["by most people"] @ linear(colour)) @ XYZ[1] for colour in colours(i))
        assert (max(on, ink) + 0.05) / (min(on, ink) + 0.05) >= 4.5  # WCAG 2.2, AA


@pytest.mark.parametrize("name", ["table", "brackets", "flip-flop", "transformer"])
def test_a_class_has_one_colour_in_the_png_and_on_the_page(name: str, runs: Runs, tmp_path: Path):
    """The workbench's are held against the page's in tests/regulargpt/workbench/test_machine.py."""
    certified = {"brackets": BRACKETS, "flip-flop": PARITY.with_name("flip-flop"), "transformer": TRANSFORMER}
    run = shown(certified[name]) if name in certified else runs.certified("cycle-navigation")
    (data,) = data_of(runs.page(run))
    at = data["live"]["map"]
    colour_on_page: dict[str, set[str]] = {}
    for number, (colour, _) in zip(at["numbers"], at["colours"], strict=True):
        if at["kind"] == "prefixes":
            colour_on_page.setdefault(str(number), set()).add(colour)
        elif len(elements := data["network"]["elements"][number - 1]) == 1:
            colour_on_page.setdefault(data["elements"]["words"][elements[0]] or "ε", set()).add(colour)
    (panel,) = measured("clusters", run.path, tmp_path / "out").picture.panels
    assert isinstance(panel, Dots)
    axes = figure(Picture([panel], "")).axes[0]
    colour_in_png: dict[str, set[str]] = {}
    for group, dots in zip(panel.groups, axes.collections, strict=False):
        for kind, colour in zip(group.colour, dots.get_facecolor(), strict=True):
            key = str(kind) if at["kind"] == "prefixes" else panel.colours[kind]
            colour_in_png.setdefault(key, set()).add(to_hex(colour).upper())
    common = colour_on_page.keys() & colour_in_png.keys()
    assert len(common) > 1
    assert {key: colour_on_page[key] for key in common} == {key: colour_in_png[key] for key in common}
