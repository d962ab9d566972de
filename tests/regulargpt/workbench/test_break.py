"""The hammer in a real browser: what it does to a network, the shortest word that notices, and five levels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.semiautomaton import numbered
from languages.errors import AutomatonError
from languages.randomness import rng
from regulargpt import models
from regulargpt.classroom.live.wrong_words import every_word
from regulargpt.classroom.workbench import page
from regulargpt.construct.one_hot import one_hot
from regulargpt.construct.weights import fill
from regulargpt.finite.proof import prove
from regulargpt.finite.specification import Specification
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.options import as_mapping
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.workbench.panels_page import drawn_of

Ints = npt.NDArray[np.int64]
CASES, MOST, LONGEST = 100, 12, {2: 10, 3: 6}
ASKED = Path(__file__).with_name("break.js")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("break") / "workbench.html"
    page.write(path)
    return path


@pytest.fixture(scope="module")
def scripts(tab: Browser, written: Path) -> Iterator[Browser]:
    """The workbench, with what the tests ask it."""
    tab.fresh()
    tab.open(written)
    tab.evaluate(f"{ASKED.read_text()}\n;undefined")
    yield tab
    tab.assert_silent()


def asked(browser: Browser, function: str, *given: Any) -> Any:
    """What a function of break.js gives; infinities are numbers in JavaScript."""
    return browser.evaluate(f"{function}({', '.join(map(json.dumps, given))})")


def machine(draw: np.random.Generator, symbols: int = 2) -> MooreMachine:
    """A minimal machine of a few elements, with two answers or more; some have no answer to some words."""
    while True:
        Q = int(draw.integers(2, 5))
        rows = tuple(map(tuple, draw.integers(0, Q, (Q, symbols)).tolist()))
        outputs = tuple(draw.integers(draw.choice([-1, 0]), draw.choice([2, 2, 3]), Q).tolist())
        made = MooreMachine(numbered(Q), tuple("abc"[:symbols]), rows, "q0", outputs, ("no", "yes", "more")).minimise()
        given = set(made.output_table[np.unique(made.table)].tolist()) - {-1}
        names = made.output_names[: 1 + max(given, default=0)]
        # Names that no state has are not those of the page.
        if len(given) > 1 and set(made.outputs) >= set(range(len(names))) and elements(made) <= MOST:
            return replace(made, output_names=names)


def elements(found: MooreMachine) -> int:
    """How many elements its monoid has, or one more than is looked at."""
    try:
        return TransitionMonoid.from_machine(found, MOST).size
    except AutomatonError:
        return MOST + 1


def first_wrong(found: MooreMachine, answers: Any, longest: int) -> list[int] | None:
    """The least wrong word of at most so many symbols, by trying all of them; `answers(words)` are names."""
    names = np.array([*found.output_names, None], dtype=object)
    for length in range(1, longest + 1):
        words = every_word(found.n_symbols, length)
        right = names[found.answers(words)]
        wrong = np.flatnonzero((found.answers(words) >= 0) & (answers(words) != right))
        if len(wrong):
            return words[wrong[0]].tolist()
    return None


def simulated(words: Ints, leaves: Ints, nodes: Ints) -> Ints:
    """The prototypes (n,), from 1, at the roots of words (n, T), by tables [near, far]."""
    rows, table = 1 + words, leaves
    while rows.shape[1] > 1 or table is leaves:
        if rows.shape[1] % 2:
            rows = np.pad(rows, ((0, 0), (1, 0)))
        rows, table = table[rows[:, 1::2], rows[:, 0::2]], nodes
    return rows[:, 0]


@pytest.mark.parametrize("seed", range(4))
def test_the_quantised_networks_shortest_wrong_word_is_pythons(scripts: Browser, seed: int):
    """Cases that land elsewhere: by brute force up to ten symbols, and by the proof at every length."""
    draw, never = rng(seed, "spoilt tables"), 0
    machines = [machine(draw) for _ in range(CASES // 4)]
    draws = [draw.integers(0, 1 << 20, (int(draw.integers(1, 3)), 2)).tolist() for _ in machines]
    given = [{"drawn": drawn_of(one), "draws": d} for one, d in zip(machines, draws, strict=True)]
    for one, found in zip(machines, scripts.evaluate(f"{json.dumps(given)}.map(spoilt)"), strict=True):
        leaves, nodes = np.array(found["leaves"]), np.array(found["nodes"])
        at = np.array(found["answers"], dtype=object)
        brute = first_wrong(one, lambda words, a=at, t=(leaves, nodes): a[simulated(words, *t) - 1], 10)
        mine = found["quantised"]["word"]
        assert brute == (mine if mine and len(mine) <= 10 else None)

        def image(level: int, windows: Ints, t: tuple[Ints, Ints] = (leaves, nodes)) -> Ints:
            return t[min(level, 1)][windows[:, 0], windows[:, 1]]

        # No answer, where logits tie, is never right.
        numbers = np.array([[*one.output_names, None].index(name) for name in found["answers"]])
        proof = prove(Specification.of_machine(one), 2, image, numbers)
        assert proof.holds == (mine is None) == found["quantised"]["ended"]
        assert proof.holds or len(proof.wrong or ()) == len(mine)
        never += proof.holds
    assert never < len(machines) / 2, "most hits are noticed"


def made(one: MooreMachine) -> tuple[dict[str, Any], Model]:
    """A network that is right on all words, as `regulargpt construct` makes it."""
    found = one_hot(one, 2)
    sizes = {"d_model": 2 * found.size, "n_heads": 2, "d_ff": 2 * len(found.writes) + 2 * found.size, "chunk_size": 2}
    plain = {"norm": "post", "activation": "relu", "attention_bias": False, "state_norm": False}
    options = RegularGPTOptions(name="regulargpt", **sizes, **plain)
    model = models.build(options, one.n_symbols, len(one.output_names), torch.Generator())
    assert isinstance(model, RegularGPT)
    fill(model, found)
    return as_mapping(options), model


def network_data(model: Model, options: dict[str, Any]) -> dict[str, Any]:
    """A network as it passes between workers."""
    weights = {name: {"shape": list(t.shape), "data": t.flatten().tolist()} for name, t in model.state_dict().items()}
    return {"options": options, "weights": weights}


@torch.no_grad()
def answers_of(model: Model, names: tuple[str, ...]) -> Any:
    """What a network answers to words (n, T), by name."""
    at = np.array(names, dtype=object)
    return lambda words: at[model(torch.from_numpy(words.copy())).argmax(1).numpy()]


@pytest.mark.parametrize("seed", range(4))
@torch.no_grad()
def test_the_shortest_wrong_word_of_the_network_as_it_is_is_the_first_of_all_words(scripts: Browser, seed: int):
    """Weights that are all moved, and one that is struck, of networks that were right: against torch."""
    draw, wrong = rng(seed, "spoilt networks"), 0
    for i in range(CASES // 4):
        one = machine(draw, 2 + i % 2)
        options, model = made(one)
        model.double()
        for parameter in model.parameters():
            parameter.add_(torch.from_numpy(draw.normal(0, draw.choice([0.01, 0.04, 0.1]), tuple(parameter.shape))))
        name, index = "blocks.0.ff_out.weight", int(draw.integers(0, 20))
        given = {"drawn": drawn_of(one), "network": network_data(model, options), "longest": LONGEST[one.n_symbols]}
        hits = [{"kind": "weight", "name": name, "index": index, "by": by} for by in draw.normal(0, 1, 2).tolist()]
        found = asked(scripts, "searched", given | {"hits": hits})
        model.get_parameter(name).view(-1)[index] += sum(hit["by"] for hit in hits)
        brute = first_wrong(one, answers_of(model, one.output_names), LONGEST[one.n_symbols])
        assert brute == (found["word"] if found["isShortest"] else None)
        assert found["tried"] == (len(brute) - 1 if brute else found["tried"])
        assert brute or found["ended"] or found["tried"] == LONGEST[one.n_symbols]
        wrong += brute is not None
    assert 0 < wrong < CASES // 4


RIVALS: list[dict[str, Any]] = [
    {"name": "lstm", "d_model": 6, "n_layers": 1},
    {"name": "transformer", "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2, "encoding": {"name": "sinusoidal"}},
]


@pytest.mark.parametrize("options", RIVALS, ids=lambda options: options["name"])
@torch.no_grad()
def test_a_lane_without_a_tree_is_searched_in_the_same_order(scripts: Browser, options: dict[str, Any]):
    """The machine answers as the network does to words of up to three symbols, or to some of them."""
    draw, lengths = rng(0, "rivals"), set()
    for seed in range(6):
        one, chosen = machine(draw), MODELS.options(options, "model")
        model = models.build(chosen, 2, len(one.output_names), torch.Generator().manual_seed(seed)).double().eval()
        # Told to answer alike to all words: a machine that seldom answers otherwise notices late.
        model.get_parameter("readout.bias")[int(draw.integers(0, 2))] += 3.0
        data = network_data(model, as_mapping(chosen))
        found = asked(scripts, "searched", {"drawn": drawn_of(one), "network": data, "longest": 6})
        brute = first_wrong(one, answers_of(model, one.output_names), 6)
        assert brute == (found["word"] if found["isShortest"] else None)
        lengths.add(len(brute or ()))
    assert len(lengths) > 1


@pytest.mark.parametrize("name", ["parity", "even-pairs", "cycle-navigation", "regex:(ab)*", "tomita-3"])
def test_the_network_that_is_made_is_that_of_the_command_line(scripts: Browser, name: str):
    """Every weight, every option that the page has, and its prototypes: all are equal, none is merely near."""
    one = languages.get(name).machine.minimise()
    options, model = made(one)
    found = asked(scripts, "compared", {"drawn": drawn_of(one), "weights": network_data(model, options)["weights"]})
    assert found["other"] == []
    assert found["options"].items() <= options.items()
    assert found["prototypes"] == [[element] for element in found["elements"]]


def test_hits_taken_back_leave_the_same_bytes_and_none_are_written_to(scripts: Browser):
    """Of a network on the bench: its weights, and its states for all words of five symbols."""
    hits = [
        {"kind": "weight", "name": "blocks.0.ff_out.weight", "index": 5, "by": 0.5},
        {"kind": "case", "part": "nodes", "window": [2, 1], "image": 1},
        {"kind": "edge", "part": "leaves", "window": [1, 2], "offset": 1},
    ]
    expected = {"same": True, "back": True, "broken": True, "copied": ["blocks.0.ff_out.weight"]}
    assert asked(scripts, "undone", hits) == expected


@pytest.mark.parametrize(
    "hit", [{"kind": "case"}, {"kind": "edge", "offset": 0}, {"kind": "edge", "offset": 1}], ids=str
)
def test_a_hit_is_met_wherever_its_window_occurs_and_nowhere_else(scripts: Browser, hit: dict[str, Any]):
    """A case lands where it should, and an edge is cut as the drawn tree cuts one."""
    found = asked(scripts, "met", hit)
    assert found["faults"] == []
    assert found["met"] > 100


HITS = ["", "w!blocks.0.attn.r!3!-0.5", "c!nodes!1.0!2~e!leaves!2.1!1", "c!nodes!1.0!2~w!pad!0!1e-7"]
NO_HITS = ["x", "w!pad", "w!pad!0!x", "c!roots!1.0!2", "c!nodes!1!2", "c!nodes!1.0", "~", "e!nodes!1.x!0"]


def test_hits_in_an_address_come_back_as_they_were_and_what_names_none_is_refused(scripts: Browser):
    assert scripts.evaluate(f"{json.dumps(HITS)}.map((text) => hitsAsText(hitsFromText(text)))") == HITS
    assert scripts.evaluate(f"{json.dumps(NO_HITS)}.map(hitsFromText)") == [None] * len(NO_HITS)


# What ties, and what overflows: red answers on the wall, the length of the shortest wrong word, its answer, and whether
# the level is passed.
TIES = [
    ("1", "w!readout.weight!5!2", [1, 1, None, False]),
    ("1", "e!leaves!2.1!1", [0, 2, None, False]),
    ("2", "e!nodes!1.2!1", [0, 3, None, False]),
    ("1", "w!readout.bias!0!1e308~w!readout.bias!0!1e308", [2, 1, None, False]),
]


def test_a_tie_is_no_answer_on_the_wall_and_in_the_search(scripts: Browser):
    """docs/certificate.md: an answer is a logit that is larger than all others."""
    assert scripts.evaluate(f"{json.dumps([case[:2] for case in TIES])}.map(played)") == [found for *_, found in TIES]


CASE = "modules.wall.inOrder(bench.cases)[20]"
# Of each level a hit that passes, with the length of the word that notices, and an easy one that does not.
LEVELS = {
    1: (("nodes", [1, 1], 2), 3, ("leaves", [1, 1], 2)),
    2: (("nodes", [1, 0], 2), 5, ("nodes", [1, 1], 2)),
    3: (("nodes", [7, 2], "left"), 13, ("nodes", [1, 1], "left")),
    4: (("leaves", [1, 1], 1), 20, ("leaves", [1, 1], 21)),
    5: (("nodes", [6, 0], 1), 21, ("nodes", [6, 1], 1)),
}


def opened(browser: Browser, written: Path, address: str = "", **how: Any) -> None:
    """The workbench at an address; `bench` is what its panels share."""
    browser.open(written, address, **how)
    browser.evaluate("globalThis.bench = modules.start.bench;0")


def strike(browser: Browser, part: str, window: list[int], what: int | str) -> None:
    """Choose a case by its fields, and strike it."""
    browser.wait("document.querySelector('#struck-near')?.options.length > 0")
    for name, value in (("part", part), ("far", window[1]), ("near", window[0])):
        browser.choose(f"#struck-{name}", value, "change")
    if isinstance(what, int):
        browser.click(f".land[data-image='{what}']")
    else:
        browser.click(".target button:not(.land)", ["left", "right"].index(what))
    browser.wait("bench.wrong.regulargpt !== null && document.querySelector('.task .verdict').textContent !== ''")


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_has_a_solution_and_refuses_an_easy_break(browser: Browser, written: Path, level: int):
    solution, length, easy = LEVELS[level]
    opened(browser, written, f"#level={level}")
    browser.wait("bench.wrong.regulargpt?.ended")
    assert "made, not trained" in browser.one(".task .hint")
    # Of the network as it is, which nothing proves, nothing is said.
    said = "so, rounded to its prototypes, it is right on words of every length."
    assert said in browser.evaluate("bench.proven.sentence")
    strike(browser, *easy)
    assert browser.one(".task .verdict").startswith("✗ A word of ")
    browser.click(".break .tools button", [*browser.all(".break .tools button")].index("Undo"))
    browser.wait("bench.wrong.regulargpt?.ended")
    strike(browser, *solution)
    assert browser.one(".task .verdict").startswith("✓ No word of less than ")
    assert f" has {length} symbols: " in browser.one(".break .said")
    assert "red: the proof does not hold any more" in browser.one(".break .said")
    assert browser.count(".break .levels .right") == 1
    # The word is shown where it is pressed, and the two answers differ there.
    browser.click(".break .said .word-button")
    word, wrong, right = browser.evaluate(
        "[bench.word.length, bench.wrong.regulargpt.answer, bench.wrong.regulargpt.truth]"
    )
    assert word == length
    assert wrong != right


@pytest.mark.parametrize(("level", "window", "image"), [(5, [6, 0], 3), (1, [1, 1], 1)])
def test_a_link_brings_the_level_with_its_hits(
    browser: Browser, written: Path, level: int, window: list[int], image: int
):
    """Element 0 stands above leaves, too."""
    opened(browser, written, f"#level={level}")
    hit = {"kind": "case", "part": "nodes", "window": window, "image": image}
    browser.evaluate(f"bench.set.hits([{json.dumps(hit)}])")
    link = browser.evaluate("address.link()").split("#")[1]
    opened(browser, written, f"#{link}")
    browser.wait("bench.wrong.regulargpt !== null")
    assert browser.evaluate("bench.hits") == [hit]
    assert browser.one(".task .verdict").startswith("✓" if level == 5 else "✗")


def test_a_weight_is_struck_by_its_slider_and_mended(browser: Browser, written: Path):
    opened(browser, written, "#level=1")
    browser.wait("document.querySelector('#struck-near')?.options.length > 0")
    browser.click(".break [data-tool=weight]")
    browser.wait("document.querySelector('#tensor') !== null")
    name = browser.one("#tensor", "e.value")
    browser.choose("#weight-row", 1)
    browser.choose("#weight-column", 2)
    states = "[[0, 0], [0, 1], [1, 0], [1, 1]].map((word) => String(bench.network.root(word)))"
    before = browser.evaluate(states)
    for by in (0.5, -1.5):
        browser.choose("#weight-by", by)
        browser.choose("#weight-row", 1)  # draws at once; where the slider was moved to is not forgotten
        browser.wait(f"bench.hits[0]?.by === {by}")
    assert browser.evaluate("bench.hits") == [{"kind": "weight", "name": name, "index": 1, "by": -1.5}]
    assert browser.evaluate(states) != before
    browser.wait("bench.wrong.regulargpt !== null")
    browser.wait("document.querySelector('#weight-by + output, .weights output').textContent.endsWith('→ −1.500')")
    browser.click(".break .tools button", [*browser.all(".break .tools button")].index("Mend everything"))
    assert browser.evaluate("bench.hits") == []
    assert browser.evaluate(states) == before


def test_a_square_of_the_wall_and_a_node_of_the_tree_aim_the_hammer(browser: Browser, written: Path):
    opened(browser, written, "#level=3")
    aimed = "['part', 'far', 'near'].map((name) => document.querySelector(`#struck-${name}`).value)"
    browser.wait("document.querySelector('#struck-near')?.options.length > 0")
    part, (near, far) = browser.evaluate(f"(({{ part, window }}) => [part, window])({CASE})")
    browser.click("[data-case='20']")
    assert browser.evaluate(aimed) == [part, str(far), str(near)]
    browser.evaluate("bench.set.word([0, 1])")
    browser.wait("document.querySelectorAll('.panel.tree .node').length === 1")
    browser.evaluate("document.querySelector('.panel.tree .node').dispatchEvent(new Event('click', { bubbles: true }))")
    assert browser.evaluate(aimed) == ["leaves", "1", "2"]
    # That is the way that is shown; the lists are folded.
    assert browser.one(".break .aimed").startswith("First level, a then b makes [ab]")
    assert "Press another node in the tree, or a square in the wall." in browser.one(".break .aimed")
    assert browser.all(".break select", "e.checkVisibility()") == [False] * 3


def test_a_level_ends_with_its_machine_and_gives_back_ones_own(browser: Browser, written: Path):
    opened(browser, written)
    own = browser.evaluate("JSON.stringify(bench.drawn)")
    assert "There is no network to strike yet" in browser.one(".break .target")
    browser.click(".break .levels button", 2)
    browser.wait("bench.wrong.regulargpt?.ended")
    # What to do and what is decided stand above the tools, and the first case is none with a pad.
    order = (
        "document.querySelector('.task').compareDocumentPosition(document.querySelector('.break .tools [data-tool]'))"
    )
    assert browser.evaluate(order) == 4
    assert "0" not in browser.all("#struck-far, #struck-near", "e.value")
    browser.wait("document.querySelector('.task').getBoundingClientRect().top < 300")
    assert "level=3" in browser.evaluate("location.hash")
    browser.click(".break .task button")
    assert browser.evaluate("JSON.stringify(bench.drawn)") == own
    assert browser.evaluate("bench.network") is None
    assert "level" not in browser.evaluate("location.hash")


def test_a_level_ends_with_its_network(browser: Browser, written: Path):
    """Another seed, or a training begun again, leaves nothing to break, and a way back to one's own machine."""
    for forget in ("bench.set.seed(7)", "bench.set.again()"):
        opened(browser, written)
        own = browser.evaluate("JSON.stringify([bench.drawn, bench.seed])")
        for level in (3, 5):  # one's own is the same after the second
            browser.evaluate(f"document.querySelectorAll('.break .levels button')[{level - 1}].click()")
            browser.wait("bench.wrong.regulargpt?.ended")
            browser.evaluate(f"{forget};0")
            browser.pause(60)
            assert browser.all(".levels button", "e.ariaPressed") == ["false"] * 5
            assert "level" not in browser.evaluate("address.link()")
            assert browser.one(".break .task p") == "The level has ended: its network is forgotten."
        browser.click(".break .task button")
        assert browser.evaluate("JSON.stringify([bench.drawn, bench.seed])") == own
        browser.wait("document.querySelector('.break .task').textContent === ''")


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_a_screen_reader_has_all_of_it_and_nothing_is_too_wide(browser: Browser, written: Path, width: int, dark: bool):
    opened(browser, written, "#step=6&level=5", width=width, dark=dark)
    browser.wait("bench.wrong.regulargpt?.ended")
    strike(browser, "nodes", [6, 0], 3)
    browser.assert_fits()
    assert [found for found in violations(browser) if any("break" in str(place) for place in found[2])] == []
    browser.click(".break [data-tool=weight]")
    browser.pause(60)
    browser.assert_fits()
    assert violations(browser) == []


# Of the map as it is drawn: the share of the frame over which rings and points lie, and whether all are in it.
FRAMED = """(() => {
  const frame = document.querySelector("svg.cloud").getBoundingClientRect();
  const drawn = [...document.querySelectorAll(".cloud :is(.ring circle, .point)")];
  const boxes = drawn.map((e) => e.getBoundingClientRect());
  const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])));
  const isInside = left >= frame.left && top >= frame.top && right <= frame.right && bottom <= frame.bottom;
  return [Math.max((right - left) / frame.width, (bottom - top) / frame.height), isInside];
})()"""


def test_the_map_of_a_level_fills_its_frame(browser: Browser, written: Path):
    """Also where a weight was struck."""
    for level in LEVELS:
        opened(browser, written, f"#level={level}")
        browser.wait("document.querySelectorAll('.cloud .ring').length > 1")
        for by in (0, 40):
            hits = [{"kind": "weight", "name": "embedding.weight", "index": 0, "by": by}] if by else []
            browser.evaluate(f"bench.set.hits({json.dumps(hits)})")
            browser.pause(200)
            share, is_inside = browser.evaluate(FRAMED)
            assert share > 0.5, (level, by)
            assert is_inside, (level, by)
        browser.evaluate("bench.set.hits([])")
