"""The drawing of an automaton: arrows that cross are counted in the picture itself, with code of the test's own."""

import itertools
import re

import numpy as np
import numpy.typing as npt
import pytest

import languages
from experiments.gallery import commands
from languages.automata import MooreMachine
from languages.registry import level_of
from regulargpt.classroom.automaton import MOST_LABELLED, drawing
from regulargpt.classroom.diagram import Diagram
from regulargpt.classroom.lesson.material import named
from regulargpt.finite.specification import specified_machine

SHOWN = {"parity" if first.startswith("-") else first for _, first, *_ in commands().values()}
LESSONS = ("cycle-navigation", "regex:(a|b)*abb", "symmetric-3")  # and those of the workbench
GALLERY = sorted({*LESSONS, *(name for name in SHOWN if level_of(name) == "regular")})
OTHERS = (
    *(f"tomita-{n}" for n in range(1, 8)),
    *("dyck-1", "dyck-4", "dyck-12", "aa-star", "aaaa-star", "abab-star", "012-02", "ab-d-bc", "aa-bb-cc-dd-ee"),
    *("cyclic-5", "dihedral-3", "dihedral-4", "dihedral-5", "alternating-4", "flip-flop", "prefix"),
)
Polyline = npt.NDArray[np.floating]  # (points, 2)


def machine_of(language: str) -> MooreMachine:
    task = languages.get(language)
    return named(specified_machine(task), task.machine)


def polyline(path: str, count: int = 120) -> Polyline:
    """Points along a path of one Bézier curve, by Bernstein's polynomials."""
    controls = np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", path)]).reshape(-1, 2)
    degree, t = len(controls) - 1, np.linspace(0, 1, count)
    choose = {1: (1, 1), 2: (1, 2, 1), 3: (1, 3, 3, 1)}[degree]
    weights = np.stack([c * t**i * (1 - t) ** (degree - i) for i, c in enumerate(choose)], axis=1)
    return weights @ controls


def crossings(picture: str) -> int:
    """How many pairs of pieces of different arrows cross."""
    lines = [polyline(path) for path in re.findall(r'<path d="([^"]+)"', picture)]
    assert len(lines) > 1

    def turns(a: Polyline, b: Polyline, c: Polyline) -> npt.NDArray[np.floating]:
        u, v = b - a, c - a
        return np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])

    found = 0
    for one, other in itertools.combinations(lines, 2):
        a, b, c, d = one[:-1, None], one[1:, None], other[None, :-1], other[None, 1:]
        found += int(((turns(a, b, c) * turns(a, b, d) < 0) & (turns(c, d, a) * turns(c, d, b) < 0)).sum())
    return found


@pytest.mark.parametrize("language", [*GALLERY, *OTHERS])
def test_no_arrows_cross(language: str):
    machine = machine_of(language)
    assert machine.n_states <= MOST_LABELLED
    assert crossings(drawing(machine)) == 0
    assert drawing(machine) == drawing(machine_of(language))


def test_a_crossing_is_counted():
    picture = '<path d="M0,0 L10,10"/><path d="M0,10 Q5,5 10,0"/><path d="M20,0 C20,5 20,6 20,10"/>'
    assert crossings(picture) == 1


@pytest.mark.parametrize("language", GALLERY)
def test_no_label_stands_on_another_arrow(language: str):
    picture = drawing(machine_of(language))
    arrows = re.findall(r'<path d="([^"]+)"></path>.*?<text x="([-\d.]+)" y="([-\d.]+)"', picture)
    assert arrows
    for i, (_, x, y) in enumerate(arrows):
        middle = (float(x), float(y) - 5)
        for other in (path for j, (path, _, _) in enumerate(arrows) if j != i):
            assert np.hypot(*(polyline(other) - middle).T).min() > 8


def test_a_state_without_an_answer_is_not_drawn_as_one_that_rejects():
    outputs = {"p": "accept", "q": "reject", "r": None}
    table = ((1, 2), (2, 0), (0, 1))
    machine = MooreMachine.from_outputs(("p", "q", "r"), "ab", table, "p", outputs, ("reject", "accept"))
    assert not Diagram.from_machine(machine).is_acceptor
    assert re.findall(r'class="answer">([^<]+)<', drawing(machine)) == ["accept", "reject", "–"]


def test_a_pushdown_machine_is_drawn_with_what_each_bracket_does_to_the_stack():
    picture = drawing(languages.find("brackets-2").machine)
    arrows = re.findall(r"<title>([^<]+)</title><path.*?</g>", picture)
    # Each move stands at exactly one arrow: (state, symbol, top of the stack).
    machine = languages.find("brackets-2").machine
    expected = {
        (p, a, "bottom" if top == 0 else machine.stack[top - 1], machine.states[machine.table[i, j, top]])
        for i, p in enumerate(machine.states)
        for j, a in enumerate(machine.alphabet)
        if a in ")]"
        for top in range(1 + len(machine.stack))
    }
    drawn = set()
    for title in arrows:
        ends, _, moves = title.partition(": ")
        source, target = ends.split(" to ")
        for move in re.split(r", (?=[\[\]()])", moves):
            symbol, what = move[0], move[2:]
            if symbol in "([":
                assert what == f"/ push {int(symbol == '[')} {source}"
                continue
            tops = ["bottom"] if what == "at the bottom" else what.removeprefix("/ pop ").split(", ")
            tops = machine.stack if tops == ["any"] else tops
            drawn |= {(source, symbol, top, target) for top in tops}
    assert drawn == expected
    assert picture.count(">( / push 0 open<") == 1  # a line of its own at its arrow
