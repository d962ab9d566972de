"""The page in a real browser: every node of every typed word against Python, without network and without errors."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.convert.json_text import from_json, to_json
from languages.errors import UserError
from languages.randomness import rng
from regulargpt.classroom import facts
from regulargpt.classroom.automaton import drawing, table
from regulargpt.classroom.data import PageRun, as_shown, gather
from regulargpt.classroom.document import embedded
from regulargpt.classroom.layout import positions
from regulargpt.classroom.lesson.material import material
from regulargpt.classroom.page import render, write
from regulargpt.construct.configuration import configuration
from regulargpt.finite.float64_network import as_float64
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.load import load_model
from regulargpt.storage import manifest
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import ACCEPTED, believed, certify, folder, spoil

EVIL = {
    "states": ["</script>", "<!--"],
    "alphabet": ["<b>", "'\"&"],
    "initial": "</script>",
    "transitions": {"</script>": {"<b>": "<!--", "'\"&": "</script>"}, "<!--": {"<b>": "</script>", "'\"&": "<!--"}},
    "outputs": {"</script>": "☃no", "<!--": "<i>yes"},
}
# Language, C, and whether the table is spoilt.
CASES = [
    ("parity", 2, False),
    ("parity", 3, False),
    ("even-pairs", 2, True),
    ("cycle-navigation", 3, False),
    ("cycle-navigation", 4, True),
    ("tomita-3", 2, False),
    ("dyck-2", 3, True),
    ("modular-arithmetic:modulus=2,plus=true", 2, False),
    ("evil", 2, True),
]


def made(
    path: Path, language: str, C: int, spoilt: bool, model: str = "regulargpt"
) -> tuple[dict[str, Any], MooreMachine]:
    """A run folder with a page: its certificate and automaton."""
    if language == "evil":
        (path.parent / "evil.json").write_text(json.dumps(EVIL))
        language = f"dfa:{path.parent / 'evil.json'}"
    run = folder(path, language, C, model)
    certificate = certify(run, language, C)
    if spoilt:
        certificate = spoil(run, certificate, seed=C)
    write([believed(path)], path / "report.html")
    machine = from_json((path / "automaton.json").read_text())
    assert isinstance(machine, MooreMachine)
    return certificate, machine


def words(language: str, n_symbols: int) -> list[list[int]]:
    """All short words and some long ones, at the lengths where trees change their shape."""
    random = rng(0, "words")
    most = 5 if n_symbols == 2 else 2
    short = [list(w) for n in range(1, most + 1) for w in itertools.product(range(n_symbols), repeat=n)]
    lengths = (7, 8, 9, 16, 27, 28, 63, 64, 65, 200, *random.integers(1, 201, 4).tolist())
    if language.startswith("modular"):
        task = languages.get(language)
        return short + [task.sample(random, n + n % 2, 1)[0].tolist() for n in lengths]
    return short + [random.integers(0, n_symbols, n).tolist() for n in lengths]


def expected(word: list[int], machine: MooreMachine, certificate: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Every node: level, index, from, to, element, prototype, verdict; root first."""
    functions = ACCEPTED[to_json(machine).encode()].functions
    C, monoid = certificate["chunk_size"], TransitionMonoid.of(machine)
    leaves, nodes = (
        {tuple(w): i for w, i in zip(certificate[part]["windows"], certificate[part]["images"], strict=True)}
        for part in ("leaves", "nodes")
    )
    depth = max(1, math.ceil(round(math.log(len(word), C), 9)))
    rows: list[tuple[Any, ...]] = []

    def state(level: int, right: int) -> int | None:
        """The prototype of the node whose last symbol is symbol number `right`, from 1; 0 is the pad."""
        if right <= 0:
            return 0
        if level == 0:
            return 1 + word[right - 1]
        window = tuple(state(level - 1, right - j * C ** (level - 1)) for j in range(C))
        found = None if None in window else (nodes if level > 1 else leaves).get(window)
        low = max(0, right - C**level)
        element = int(monoid.of_word(np.array(word[low:right])))
        stands = found and tuple(monoid.elements[element].tolist()) in functions.get(found, ())
        verdict = "unknown" if found is None else "right" if stands else "wrong"
        rows.append((level, low, right, element, found, verdict))
        return found

    state(depth, len(word))
    rows.sort(key=lambda row: (-row[0], row[1]))
    counted = itertools.groupby(rows, key=lambda row: row[0])
    return [(row[0], i, *row[1:]) for _, level in counted for i, row in enumerate(level)]


def expected_from_left(word: list[int], machine: MooreMachine, certificate: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The same for pairs counted from the left, level by level."""
    functions = ACCEPTED[to_json(machine).encode()].functions
    monoid, rows = TransitionMonoid.of(machine), []
    states: list[int | None] = [1 + symbol for symbol in word]
    level = 0
    while level == 0 or len(states) > 1:
        part = certificate["nodes" if level else "leaves"]
        table = {tuple(w): i for w, i in zip(part["windows"], part["images"], strict=True)}
        pairs = [(states[i], states[i + 1] if i + 1 < len(states) else 0) for i in range(0, len(states), 2)]
        states = [None if None in pair else table.get(pair) for pair in pairs]
        level += 1
        for i, found in enumerate(states):
            low, high = i * 2**level, min((i + 1) * 2**level, len(word))
            element = int(monoid.of_word(np.array(word[low:high])))
            stands = found and tuple(monoid.elements[element].tolist()) in functions.get(found, ())
            verdict = "unknown" if found is None else "right" if stands else "wrong"
            rows.append((level, i, low, high, element, found, verdict))
    return sorted(rows, key=lambda row: (-row[0], row[1]))


@needs_browser
@pytest.mark.parametrize(("language", "spoilt"), [("tomita-3", False), ("cycle-navigation", True)])
def test_the_tree_of_ldru_is_counted_from_the_left(browser, tmp_path, language, spoilt):
    certificate, machine = made(tmp_path / "run", language, 2, spoilt, model="ldru")
    browser.open(tmp_path / "run" / "report.html")
    browser.evaluate("document.querySelector('.tree details:has([data-part=nodes])').open = true")
    browser.evaluate("new Promise(requestAnimationFrame)")
    for word in words(language, machine.n_symbols):
        found = browser.evaluate(f"({TYPE})({json.dumps(machine.decode(np.array(word)))})")
        assert [node(row) for row in found["nodes"]] == expected_from_left(word, machine, certificate)
    assert_silent(browser, tmp_path / "run" / "report.html")


TYPE = """(text) => {
  const input = document.querySelector("#word");
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const of = (selector) => [...document.querySelectorAll(selector)].map((e) => ({ ...e.dataset }));
  return { nodes: of("table.nodes tbody tr"), drawn: of(".tree .node"), path: of(".path li[data-state]"),
    final: document.querySelector(".run").dataset.final, counts: of("tr[data-prototype]"),
    answers: of(".run > .answer span"), lit: of(".state.lit") };
}"""


def node(data: dict[str, str]) -> tuple[Any, ...]:
    numbers = (int(data[key]) for key in ("level", "index", "from", "to", "element"))
    return (*numbers, int(data["state"]) if data["state"] else None, data["verdict"])


def assert_silent(browser: Browser, path: Path) -> None:
    assert browser.problems == []
    assert {request.split("#")[0] for request in browser.requests} <= {path.as_uri(), "data:,"}


@needs_browser
@pytest.mark.parametrize(("language", "C", "spoilt"), CASES)
def test_every_node_of_every_typed_word_is_what_python_computes(browser, tmp_path, language, C, spoilt):
    certificate, machine = made(tmp_path / "run", language, C, spoilt)
    model = load_model(RunFolder.open(tmp_path / "run"))
    browser.look(2400)  # all of a tree over 16 symbols is drawn
    browser.open(tmp_path / "run" / "report.html")
    browser.evaluate("document.querySelector('.tree details:has([data-part=nodes])').open = true")
    browser.evaluate("new Promise(requestAnimationFrame)")
    verdicts, typed = set(), as_shown(machine, language)
    for word in words(language, machine.n_symbols):
        found = browser.evaluate(f"({TYPE})({json.dumps(typed.decode(np.array(word)))})")
        tree = expected(word, machine, certificate)
        assert [node(row) for row in found["nodes"]] == tree
        assert {node(row) for row in found["drawn"]} <= set(tree)
        if len(word) <= 16:
            assert len(found["drawn"]) == len(tree)
        states = [machine.initial_index, *machine.run(np.array(word), every=True).tolist()]
        assert int(found["final"]) == states[-1]
        assert [int(row["state"]) for row in found["path"]] == states[-len(found["path"]) :]
        assert [int(row["state"]) for row in found["lit"]] == [states[-1]]
        prototypes = [row[5] for row in tree]
        expected_counts = [prototypes.count(1 + i) for i in range(len(certificate["prototypes"]))]
        assert [int(row["count"]) for row in found["counts"]] == expected_counts
        root, names = tree[0][5], machine.output_names
        answer = machine.named_outputs[machine.states[states[-1]]]
        network = "" if root is None else names[certificate["answers"][root - 1]]
        said = names[int(model(torch.tensor([word])).argmax())]
        assert found["answers"] == [{"answer": answer or ""}, {"live": said}, {"network": network}]
        verdicts |= {row[-1] for row in tree}
    assert verdicts - {"unknown"} == ({"right", "wrong"} if spoilt else {"right"})
    browser.look(1280)
    assert_silent(browser, tmp_path / "run" / "report.html")


@needs_browser
@pytest.mark.parametrize(("language", "C"), [("tomita-2", 2), ("parity", 3)])
def test_the_page_names_the_prototypes_nearest_to_a_real_networks_states(browser, tmp_path, language, C):
    # Constructed weights are exact: the states of the network as it is are the prototypes, up to rounding.
    config = configuration(language, C).replaced({"evaluation.test_len": 41, "evaluation.extra_lengths": ()})
    running.run(config, tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    assert certificate_report(run)["proven"]
    write([gather(run.path)], tmp_path / "report.html")
    prototypes = torch.tensor(json.loads((run.path / "certificate.json").read_text())["prototypes"])
    model = as_float64(load_model(run))
    browser.open(tmp_path / "report.html")
    browser.evaluate("document.querySelector('.tree details:has([data-part=nodes])').open = true")
    browser.evaluate("new Promise(requestAnimationFrame)")
    for word in words(language, languages.get(language).n_symbols)[-10:]:
        with torch.no_grad():
            levels = list(tree_levels(model, torch.tensor([word]), share=False))[1:]
        states = [1 + torch.cdist(level.states[level.node[0]], prototypes.double()).argmin(1) for level in levels]
        text = languages.get(language).machine.decode(np.array(word))
        found = browser.evaluate(f"({TYPE})({json.dumps(text)})")["nodes"]
        assert [int(row["state"]) for row in found] == torch.cat(states[::-1]).tolist()
        assert {row["verdict"] for row in found} == {"right"}
    assert_silent(browser, tmp_path / "report.html")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    made(path, "tomita-3", 2, False)
    return path / "report.html"


def at(browser: Browser) -> list[str]:
    """What has the focus."""
    return browser.evaluate(
        "((e) => [e.id || e.tagName.toLowerCase(), e.dataset.level || '', e.dataset.index || '',"
        " e.dataset.row || '', e.dataset.column || ''])(document.activeElement)"
    )


@needs_browser
def test_everything_is_reached_by_the_keyboard(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#word=0110100")
    seen = []
    for _ in range(64):
        browser.key("Tab")
        seen.append(at(browser))
    ids = [found[0] for found in seen]
    for name in ("theme", "word", "random", "length", "clear", "back", "step", "forth", "summary"):
        assert name in ids
    assert ["g", "3", "0", "", ""] in seen
    # The cell at which the table is entered is the root's product: the root was in focus before.
    assert [found[0] for found in seen].count("td") == 1

    browser.evaluate("document.querySelector('.tree .node').focus()")
    walk = {"ArrowDown": ("2", "0"), "ArrowRight": ("2", "1"), "ArrowUp": ("3", "0")}
    for key, place in walk.items():
        browser.key(key)
        assert tuple(at(browser)[1:3]) == place
    browser.evaluate("document.querySelector('.cayley td[data-row]').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight"):
        browser.key(key)
    assert at(browser)[3:] == ["3", "2"]
    assert browser.evaluate("document.querySelector('[data-part=product]').textContent").startswith("[")
    assert_silent(browser, page)


@needs_browser
def test_typed_keys_steps_and_the_address(browser: Browser, page: Path):
    browser.open(page, "#word=01")
    browser.evaluate("document.querySelector('#word').focus()")
    browser.write("0")
    assert browser.evaluate("document.querySelector('#word').value") == "010"
    assert browser.evaluate("location.hash") == "#word=010"
    steps = "document.querySelector('.path li.lit').dataset.step"
    assert browser.evaluate(steps) == "3"
    browser.evaluate("document.querySelector('#step').focus()")
    browser.key("ArrowLeft")
    assert browser.evaluate(steps) == "2"
    browser.evaluate("document.querySelector('#forth').focus()")
    browser.key("Enter")
    assert browser.evaluate(steps) == "3"
    assert browser.evaluate("document.querySelectorAll('.edge.lit').length") == 1
    browser.evaluate("location.hash = '#word=0000'")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert browser.evaluate("document.querySelector('#word').value") == "0000"
    browser.evaluate("document.querySelector('[data-repeat=\"1\"]').click()")
    assert browser.evaluate("document.querySelector('#word').value") == "1" * 12
    for _ in range(5):
        browser.evaluate("document.querySelector('#random').click()")
        assert re.fullmatch("[01]{12}", browser.evaluate("document.querySelector('#word').value"))
    assert_silent(browser, page)


@needs_browser
@pytest.mark.parametrize("button", ["#random", "[data-repeat='1']"])
def test_a_word_has_the_length_that_is_typed_or_there_is_none(browser: Browser, page: Path, button: str):
    browser.open(page, "#word=0110")
    refused = "Here a length is a whole number from 1 to 10,000."
    before = "0110"
    for length in ("500", "501", "5001", "0", "-3", "1.5", "", "10001", "1e9", "10000", "7"):
        browser.evaluate(f"document.querySelector('#length').value = '{length}'")
        browser.evaluate(f'document.querySelector("{button}").click()')
        word = browser.evaluate("document.querySelector('#word').value")
        problem = browser.evaluate("document.querySelector('#problem').textContent")
        is_made = length in ("500", "501", "5001", "10000", "7")
        assert problem == ("" if is_made else refused)
        assert len(word) == int(length) if is_made else word == before
        before = word
    assert_silent(browser, page)


@needs_browser
def test_long_words_are_folded_and_opened(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#word=" + "0110" * 500)
    levels = browser.evaluate("[...document.querySelectorAll('table.levels tbody tr')].map((e) => ({ ...e.dataset }))")
    assert [int(row["level"]) for row in levels] == list(range(11, 0, -1))
    assert [int(row["right"]) for row in levels] == [math.ceil(2000 / 2**n) for n in range(11, 0, -1)]
    place = "[Number(e.dataset.level), Number(e.dataset.index)]"
    nodes = f"[...document.querySelectorAll('.tree .node')].map((e) => {place})"
    shown = browser.evaluate(nodes)
    # A path from the root to where network and automaton part, with the nodes beside it.
    assert browser.evaluate(nodes.replace(".node", ".node.parts")) == [[1, 0]]
    assert {tuple(node) for node in shown} >= {(level, 0) for level in range(1, 12)}
    assert 11 < len(shown) < 60
    detail = browser.evaluate("document.querySelector('[data-part=detail]').textContent")
    total = sum(math.ceil(2000 / 2**level) for level in range(1, 12))
    assert (
        f"{total:,} nodes: {len(shown)} are drawn, the lower ones along one path; {total - len(shown):,} are folded."
        in detail
    )
    folded = browser.evaluate("[...document.querySelectorAll('text.folded')].map((e) => e.textContent)")
    assert sum(int(re.sub("[^0-9]", "", text)) for text in folded) == total - len(shown)
    # A node beside the path is unfolded, and then what is under it; the keys walk to what is not drawn.
    browser.evaluate('document.querySelector(\'.tree .node[data-level="9"][data-index="2"]\').focus()')
    browser.key("Enter")
    assert at(browser)[1:3] == ["9", "2"]
    assert [8, 4] not in shown
    assert [8, 4] in browser.evaluate(nodes)
    for key, where in {"ArrowDown": ("8", "4"), "ArrowRight": ("8", "5"), "ArrowUp": ("9", "2")}.items():
        browser.key(key)
        assert tuple(at(browser)[1:3]) == where
    browser.evaluate("document.querySelector('.tree .node[data-level=\"1\"]').focus()")
    first = int(at(browser)[2])
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert at(browser)[1:3] == ["1", str(first - 2)]
    browser.key("Escape")
    assert browser.evaluate(nodes) == shown
    assert at(browser)[1:3] == ["11", "0"]
    assert_silent(browser, page)


@needs_browser
@pytest.mark.parametrize("text", ["012x", "日本", "<b>", "%", "0 1\t1", "", " ", "0" * 200_001])
def test_whatever_is_typed_is_answered(browser: Browser, page: Path, text: str):
    browser.open(page)
    found = browser.evaluate(f"({TYPE})({json.dumps(text)})")
    problem = browser.evaluate("document.querySelector('#problem').textContent")
    unknown = [c for c in dict.fromkeys(text) if c not in "01 \t"]
    if len(text) > 200_000:
        assert problem == "The word is too long: at most 100,000 symbols."
    elif unknown:
        assert problem == f"Not in the alphabet: {' '.join(unknown)}"
        # What is wrong is marked, and the rest is read.
        rest = [c for c in text if c in "01"]
        assert len(found["path"]) == 1 + len(rest)
        marks = browser.evaluate("[...document.querySelectorAll('.answer mark')].map((e) => e.textContent)")
        assert marks == [c for c in text if c in unknown]
    else:
        assert problem == ""
        assert len(found["path"]) == 1 + len(text.replace(" ", "").replace("\t", ""))
    assert_silent(browser, page)


@needs_browser
def test_runs_side_by_side_share_the_word_and_may_lack_a_certificate(browser: Browser, tmp_path: Path):
    made(tmp_path / "a", "parity", 2, False)
    folder(tmp_path / "b", "parity", model="rnn")
    folder(tmp_path / "c", "parity", 3)
    made(tmp_path / "d", "cycle-navigation", 2, False)
    made(tmp_path / "e", "flip-flop", 2, False)
    file = tmp_path / "report.html"
    write([believed(tmp_path / name) for name in "abcde"], file)
    browser.look(1600)
    browser.open(file, "#word=0110")
    answers = browser.evaluate("[...document.querySelectorAll('.run > .answer')].map((e) => e.textContent)")
    for answer, truth, certified in zip(answers[:4], ["even", "even", "even", "2"], [1, 0, 0, 1], strict=True):
        quantised = f" Quantised network: ✓ {truth}. 3 of 3 nodes right." if certified else ""
        sure = r"(over )?[\d.]+\s% sure"
        said = rf"Network: (✓ \w+, {sure}. They agree|✗ \w+, {sure}. They disagree: the network is wrong)\."
        assert re.fullmatch(rf"Automaton: {truth}\. {said}{quantised}", answer)
    # A tree without a certificate is the network's own.
    trees = browser.evaluate("[...document.querySelectorAll('.run')].map((e) => e.querySelectorAll('.node').length)")
    assert trees[:4] == [3, 0, 3, 3]
    browser.evaluate(f"({TYPE})('02')")
    answers = browser.evaluate("[...document.querySelectorAll('.run > .answer')].map((e) => e.textContent)")
    assert answers[0].startswith("02 Not in this alphabet: 2. Its symbols: 0 1. It is left out. Automaton: even.")
    assert answers[3].startswith("Automaton: 4.")
    assert browser.evaluate("document.querySelector('#problem').textContent") == ""
    badges = browser.evaluate("[...document.querySelectorAll('.badge')].map((e) => e.className)")
    assert badges == ["badge partly", "badge observed", "badge observed", "badge partly", "badge partly"]
    assert_silent(browser, file)


LUMINANCE = """(element) => {
  const parts = getComputedStyle(element).backgroundColor.match(/[0-9.]+/g).map(Number);
  return (parts[0] + parts[1] + parts[2]) / 765;
}"""


@needs_browser
def test_light_and_dark_follow_the_system_and_the_button(browser: Browser, page: Path):
    for dark in (False, True):
        browser.look(1280, dark=dark)
        browser.open(page)
        assert (browser.evaluate(f"({LUMINANCE})(document.body)") < 0.5) == dark
        browser.evaluate("document.querySelector('#theme').click()")
        assert (browser.evaluate(f"({LUMINANCE})(document.body)") < 0.5) != dark
        assert (
            browser.evaluate("document.querySelector('#theme').getAttribute('aria-pressed')") == str(not dark).lower()
        )
    browser.look(1280)


@needs_browser
def test_large_tables_are_drawn_as_pixels(browser: Browser, tmp_path: Path):
    certificate, _ = made(tmp_path / "run", "alternating-5", 2, False)
    made(tmp_path / "larger", "symmetric-5", 2, False)
    assert len(certificate["prototypes"]) == 60
    browser.open(tmp_path / "run" / "report.html")
    assert browser.evaluate("document.querySelectorAll('.cayley td[data-row]').length") == 3600
    file = tmp_path / "larger" / "report.html"
    browser.open(file)
    browser.evaluate("document.querySelector('canvas').focus()")
    browser.key("ArrowDown")
    assert "(prototype 2) then [ε] (prototype 1) gives" in browser.evaluate(
        "document.querySelector('[data-part=product]').textContent"
    )
    assert_silent(browser, file)


def test_the_data_cannot_end_the_script():
    text = embedded({"a": "</script><!--\u2028\u2029", "b": ["<"]})
    assert not set("<\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029", "b": ["<"]}


def test_a_page_is_one_file_without_addresses_and_can_be_made_again(page: Path):
    text = page.read_text()
    assert re.findall(r"https?://[^\"'\s)]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:,)", text)
    assert not re.findall(r"@import|url\(", text)
    assert render([believed(page.parent)]) == text


@pytest.mark.parametrize("name", ["parity", "tomita-3", "dyck-12", "aa-bb-cc-dd-ee", "symmetric-3", "symmetric-5"])
def test_states_stand_apart_and_all_is_drawn(name: str):
    machine = languages.get(name).machine.minimise()
    places = positions(machine)
    assert all(math.dist(p, q) > 0.99 for p, q in itertools.combinations(places, 2))
    picture = drawing(machine)
    pairs = {(p, q) for p, row in enumerate(machine.table.tolist()) for q in row}
    assert set(re.findall(r'data-from="(\d+)" data-to="(\d+)"', picture)) == {(str(p), str(q)) for p, q in pairs}
    assert re.findall(r'data-state="(\d+)"', picture) == [str(q) for q in range(machine.n_states)]
    assert table(machine).count("<td") == machine.n_states * (machine.n_symbols + 1)


def test_the_receptive_field_and_what_is_proven_are_shown(tmp_path: Path):
    run = folder(tmp_path / "run", "parity")
    certify(run, "parity")
    assert "Receptive field" not in render([believed(run.path)])
    (run.path / "receptive-field").mkdir()
    c = [m / 20 for m in range(1, 21)]
    file = run.path / "receptive-field" / "receptive-field.json"
    facts = {"language": "parity", "model": "a", "words": 2, "target": "predicted", "theoretical": None, "summary": "s"}
    file.write_text(json.dumps(facts | {"length": 20, "c": c, "low": c, "high": c, "erf": 20}))
    text = render([believed(run.path)])
    assert "99 % of the gradient in the last 20 of 20 symbols" in text
    file.write_text(json.dumps(facts | {"length": 20, "c": [], "low": [], "high": [], "erf": None}))
    assert "Receptive field" not in render([believed(run.path)])
    assert "mean accuracy 99.99 % over lengths 41 to 50, worst 99.50 %" in text
    assert "Proven for every length, in real arithmetic, for the quantised network" in text
    assert "<dd>not proven</dd>" in text
    file.write_text(json.dumps({"c": c}))
    with pytest.raises(UserError, match="json is no result of `receptive-field`; run"):
        believed(run.path)


def test_a_proof_about_another_automaton_is_no_proof_of_the_language(tmp_path: Path):
    run = folder(tmp_path / "run", "tomita-5")
    certify(run, "tomita-6")
    found = believed(run.path)
    assert found.is_another
    text = render([found])
    assert "in real arithmetic, but of automaton.json only: its automaton is not that of tomita-5: " in text
    assert "that is proven" not in text
    with pytest.raises(
        UserError, match=r"is not proven of tomita-5: its automaton is not that of .*; choose another run"
    ):
        material(found)


def test_the_network_as_it_is_is_called_proven_if_the_checker_says_so(tmp_path: Path):
    config = configuration("parity").replaced({"evaluation.test_len": 41, "evaluation.extra_lengths": ()})
    running.run(config, tmp_path / "run")
    assert certificate_report(RunFolder.open(tmp_path / "run"))["unquantised"]["proven"]
    text = render([gather(tmp_path / "run")])
    assert "Proven for every length, in real arithmetic, for the network as it is." in text
    assert "The same holds of the network as it is, without replacing any state, in real arithmetic" in text
    assert "answers in 2 of the 2 states that words lead to, at 2 of 2 kinds of root" in text


def test_why_there_is_no_certificate_is_shown(tmp_path: Path):
    run = folder(tmp_path / "run", "parity")
    ask = f"run <code>regulargpt verify {run.path}</code>"
    assert ask in render([gather(run.path)])
    path, weights = run.path / "uncertified.json", {"sha256": manifest.digest(run.final_bytes("model.safetensors"))}
    wrong = {"word": "1", "length": 1, "right": "odd", "network": "even"}
    attempt = {"weights": weights, "proven": False, "reason": "the quantised network errs on a word", "wrong": wrong}
    path.write_text(json.dumps(attempt))
    text = render([gather(run.path)])
    assert ask not in text
    assert "No certificate: the quantised network errs on a word." in text
    assert "wrong word has 1 symbol: 1 (right is odd, the network itself says even)" in text
    # Of other weights it says nothing.
    path.write_text(json.dumps(attempt | {"weights": {"sha256": "0" * 64}}))
    assert ask in render([gather(run.path)])
    path.write_text(json.dumps(attempt | {"wrong": {}}))
    with pytest.raises(UserError, match=r"uncertified.json is no result of `verify`: 'length' is missing; run"):
        gather(run.path)


def test_a_run_whose_language_has_gone_is_refused_in_one_line(tmp_path: Path):
    (tmp_path / "evil.json").write_text(json.dumps(EVIL))
    folder(tmp_path / "run", f"dfa:{tmp_path / 'evil.json'}")
    (tmp_path / "evil.json").unlink()
    with pytest.raises(UserError, match=r"evil\.json: cannot be read"):
        gather(tmp_path / "run")


def test_nothing_is_called_proven_that_the_checker_does_not_accept_now(tmp_path: Path):
    run = folder(tmp_path / "run", "parity")
    certificate = certify(run, "parity")
    path, again = run.path / "certificate.json", f"; run `regulargpt verify {run.path}` again"
    cases = {
        f"{path} proves nothing: the answer at prototype 1 is not 'even'": certificate,  # of no network at all
        f"{path} proves nothing: {path} has the format 'x', not 'regulargpt certificate 3'": {
            **certificate,
            "format": "x",
        },
        f"{path} proves nothing: {path} has no 'automaton'": {
            k: certificate[k] for k in certificate if k != "automaton"
        },
    } | {
        f"{path} proves nothing: {file} is not the {name} of this certificate: SHA-256 ": {
            **certificate,
            name: {**certificate[name], "sha256": "0" * 64},
        }
        for name, file in (
            ("weights", "model.safetensors"),
            ("network", "config.json"),
            ("automaton", "automaton.json"),
        )
    }
    for message, forged in cases.items():
        path.write_text(json.dumps(forged))
        with pytest.raises(UserError) as refused:
            gather(run.path)
        assert str(refused.value).startswith(message)
        assert str(refused.value).endswith(again)


def test_every_measure_of_a_run_is_a_line_of_its_own():
    of = {"accuracy": {"score": 90.0, "worst": 80.0}, "words": {"score": 5.0, "worst": 0.0}}
    summary = {"measure": "accuracy", **of["accuracy"], "test_from": 41, "test_len": 50, "scores": of}
    run = SimpleNamespace(summary=summary, points=((41, 90.0),), field=None)
    assert facts.observations(cast(PageRun, run)) == [
        "mean accuracy 90.00 % over lengths 41 to 50, worst 80.00 %",
        "mean words 5.00 %, worst 0.00 %",
    ]


@needs_browser
def test_marks_are_explained_where_there_are_nodes_and_no_share_is_rounded_up(browser: Browser, tmp_path: Path):
    docs = Path(__file__).parents[2] / "docs"
    proven, wrong = gather(docs / "certified" / "parity"), gather(docs / "gallery" / "runs" / "parity-transformer")
    assert "<footer>" in render([proven])
    assert "<footer>" not in render([wrong])
    write([proven], tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "#word=0110")
    said = browser.evaluate("document.querySelector('.run > .answer').textContent")
    assert re.search(r"Network: ✓ even, over 99\.99\s% sure\.", said)
