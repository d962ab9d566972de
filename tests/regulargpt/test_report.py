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
from languages.errors import UserError
from languages.randomness import rng
from regulargpt.classroom import facts
from regulargpt.classroom.automaton import drawing, table
from regulargpt.classroom.data import Certificate, PageRun, as_shown, gather
from regulargpt.classroom.diagram import Diagram
from regulargpt.classroom.document import embedded
from regulargpt.classroom.layout import positions
from regulargpt.classroom.lesson.material import material
from regulargpt.classroom.page import render
from regulargpt.construct.configuration import configuration
from regulargpt.finite.float64_network import as_float64
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.load import load_model
from regulargpt.storage import manifest
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.conftest import Runs, shown
from tests.regulargpt.markup import EVIL, assert_one_file, language_of
from tests.regulargpt.pixels import LUMINANCE

# Language, C, model, and whether the table is spoilt.
CASES = [
    ("parity", 3, "regulargpt", False),
    ("even-pairs", 2, "regulargpt", True),
    ("cycle-navigation", 4, "regulargpt", True),
    ("dyck-2", 3, "regulargpt", True),
    ("modular-arithmetic:modulus=2,plus=true", 2, "regulargpt", False),
    ("evil", 2, "regulargpt", True),
    ("tomita-3", 2, "ldru", False),
    ("cycle-navigation", 2, "ldru", True),
]


def words(language: str, n_symbols: int) -> list[list[int]]:
    """All short words and some long ones, at the lengths where trees change their shape."""
    random = rng(0, "words")
    short = [
        list(w) for n in range(1, 5 if n_symbols == 2 else 3) for w in itertools.product(range(n_symbols), repeat=n)
    ]
    lengths = (7, 8, 9, 16, 27, 28, 64, 65, 200)
    if language.startswith("modular"):
        task = languages.get(language)
        return short + [task.sample(random, n + n % 2, 1)[0].tolist() for n in lengths]
    return short + [random.integers(0, n_symbols, n).tolist() for n in lengths]


def expected(word: list[int], machine: MooreMachine, shown: Certificate, from_left: bool) -> list[tuple[Any, ...]]:
    """Every node: level, index, from, to, element, prototype, verdict; root first."""
    certificate, functions = shown.record, shown.accepted.functions
    C, monoid, level, rows = certificate["chunk_size"], TransitionMonoid.from_machine(machine), 0, []
    states: list[int | None] = [1 + symbol for symbol in word]
    spans = [(i, i + 1) for i in range(len(word))]
    while level == 0 or len(states) > 1:
        part = certificate["nodes" if level else "leaves"]
        images = {tuple(w): i for w, i in zip(part["windows"], part["images"], strict=True)}
        pads = [0] * (-len(states) % C)
        # A window is read from the side from which pairs are counted; what a word lacks there is the pad.
        cells = [*states, *pads] if from_left else [*pads, *states]
        windows = [tuple(cells[i : i + C][:: 1 if from_left else -1]) for i in range(0, len(cells), C)]
        states = [None if None in window else images.get(cast(Any, window)) for window in windows]
        cut = 0 if from_left else len(spans) % C
        groups = [spans[:cut]] * bool(cut) + [spans[i : i + C] for i in range(cut, len(spans), C)]
        spans = [(group[0][0], group[-1][1]) for group in groups]
        level += 1
        for i, (found, (low, high)) in enumerate(zip(states, spans, strict=True)):
            element = int(monoid.of_word(np.array(word[low:high])))
            stands = found and tuple(monoid.elements[element].tolist()) in functions.get(found, ())
            verdict = "unknown" if found is None else "right" if stands else "wrong"
            rows.append((level, i, low, high, element, found, verdict))
    return sorted(rows, key=lambda row: (-row[0], row[1]))


LOOK = """(() => {
  const of = (selector) => [...document.querySelectorAll(selector)].map((e) => ({ ...e.dataset }));
  return { nodes: of("table.nodes tbody tr"), drawn: of(".tree .node"), path: of(".path li[data-state]"),
    final: document.querySelector(".run").dataset.final, counts: of("tr[data-prototype]"),
    answers: of(".run > .answer span"), lit: of(".state.lit") };
})()"""


def typed(browser: Browser, word: str) -> dict[str, Any]:
    browser.type(word)
    return browser.evaluate(LOOK)


def node(data: dict[str, str]) -> tuple[Any, ...]:
    numbers = (int(data[key]) for key in ("level", "index", "from", "to", "element"))
    return (*numbers, int(data["state"]) if data["state"] else None, data["verdict"])


def with_all_nodes(browser: Browser, page: Path, width: int = 1280) -> None:
    browser.open(page, width=width)
    browser.one(".tree details:has([data-part=nodes])", "{ e.open = true; }")
    browser.evaluate("new Promise(requestAnimationFrame)")


@pytest.mark.parametrize(("language", "C", "model", "spoilt"), CASES)
def test_every_node_of_every_typed_word_is_what_python_computes(
    browser: Browser, runs: Runs, tmp_path: Path, language: str, C: int, model: str, spoilt: bool
):
    run = runs.certified(language_of(EVIL, tmp_path) if language == "evil" else language, C, model, spoilt)
    machine, proof, network = run.machine, run.certificate, load_model(RunFolder.open(run.path))
    assert machine
    assert proof
    with_all_nodes(browser, runs.page(run), width=2400)  # all of a tree over 16 symbols is drawn
    verdicts, read = set(), as_shown(machine, language)
    for word in words(language, machine.n_symbols):
        found = typed(browser, read.decode(np.array(word)))
        tree = expected(word, machine, proof, model == "ldru")
        assert [node(row) for row in found["nodes"]] == tree
        assert {node(row) for row in found["drawn"]} <= set(tree)
        if len(word) <= 16:
            assert len(found["drawn"]) == len(tree)
        states = [machine.initial_index, *machine.run(np.array(word), every=True).tolist()]
        assert int(found["final"]) == states[-1]
        assert [int(row["state"]) for row in found["path"]] == states[-len(found["path"]) :]
        assert [int(row["state"]) for row in found["lit"]] == [states[-1]]
        prototypes = [row[5] for row in tree]
        counts = [prototypes.count(1 + i) for i in range(len(proof.record["prototypes"]))]
        assert [int(row["count"]) for row in found["counts"]] == counts
        root, names = tree[0][5], machine.output_names
        answer = machine.named_outputs[machine.states[states[-1]]]
        quantised = "" if root is None else names[proof.record["answers"][root - 1]]
        said = names[int(network(torch.tensor([word])).argmax())]
        assert found["answers"] == [{"answer": answer or ""}, {"live": said}, {"network": quantised}]
        verdicts |= {row[-1] for row in tree}
    assert verdicts - {"unknown"} == ({"right", "wrong"} if spoilt else {"right"})


def test_of_a_network_that_is_proven_as_it_is_the_page_says_so_and_names_the_prototypes_nearest_to_its_states(
    browser: Browser, runs: Runs, tmp_path: Path
):
    # Constructed weights are exact: the states of the network as it is are the prototypes, up to rounding.
    test = {"evaluation.test_len": 41, "evaluation.extra_lengths": ()}
    running.run(configuration("parity", 3).replaced(test), tmp_path / "run")
    run, machine = RunFolder.open(tmp_path / "run"), languages.get("parity").machine
    assert certificate_report(run)["unquantised"]["proven"]
    found = shown(run.path)
    text = render([found])
    assert "Proven for every length, in real arithmetic, for the network as it is." in text
    assert "The same holds of the network as it is, without replacing any state, in real arithmetic" in text
    assert "answers in 2 of the 2 states that words lead to, at 2 of 2 kinds of root" in text
    assert found.certificate
    prototypes, model = torch.tensor(found.certificate.record["prototypes"]).double(), as_float64(load_model(run))
    with_all_nodes(browser, runs.page(found))
    for word in words("parity", 2)[-7:]:
        with torch.no_grad():
            levels = list(tree_levels(model, torch.tensor([word]), share=False))[1:]
        states = [1 + torch.cdist(level.states[level.node[0]], prototypes).argmin(1) for level in levels]
        drawn = typed(browser, machine.decode(np.array(word)))["nodes"]
        assert [int(row["state"]) for row in drawn] == torch.cat(states[::-1]).tolist()
        assert {row["verdict"] for row in drawn} == {"right"}


@pytest.fixture(scope="module")
def page(runs: Runs) -> Path:
    return runs.page(runs.certified("tomita-3"))


def at(browser: Browser) -> list[str]:
    """What has the focus."""
    return browser.evaluate(
        "((e) => [e.id || e.tagName.toLowerCase(), e.dataset.level || '', e.dataset.index || '',"
        " e.dataset.row || '', e.dataset.column || ''])(document.activeElement)"
    )


def test_everything_is_reached_by_the_keyboard(browser: Browser, page: Path):
    browser.open(page, "#word=0110100")
    seen = []
    for _ in range(64):
        browser.key("Tab")
        seen.append(at(browser))
    ids = [found[0] for found in seen]
    assert {"theme", "word", "random", "length", "clear", "back", "step", "forth", "summary"} <= set(ids)
    assert ["g", "3", "0", "", ""] in seen
    # The cell at which the table is entered is the root's product: the root was in focus before.
    assert ids.count("td") == 1

    browser.focus(".tree .node")
    walk = {"ArrowDown": ["2", "0"], "ArrowRight": ["2", "1"], "ArrowUp": ["3", "0"]}
    for key, place in walk.items():
        browser.key(key)
        assert at(browser)[1:3] == place
    browser.focus(".cayley td[data-row]")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight"):
        browser.key(key)
    assert at(browser)[3:] == ["3", "2"]
    assert browser.one("[data-part=product]").startswith("[")


def test_typed_keys_steps_and_the_address(browser: Browser, page: Path):
    browser.open(page, "#word=01")
    browser.focus("#word")
    browser.write("0")
    word = "document.querySelector('#word').value"
    assert browser.evaluate(f"[{word}, location.hash]") == ["010", "#word=010"]
    steps = [browser.one(".path li.lit", "e.dataset.step")]
    for button, key in (("#step", "ArrowLeft"), ("#forth", "Enter")):
        browser.focus(button)
        browser.key(key)
        steps.append(browser.one(".path li.lit", "e.dataset.step"))
    assert steps == ["3", "2", "3"]
    assert browser.count(".edge.lit") == 1
    browser.evaluate("location.hash = '#word=0000'")
    browser.pause()
    assert browser.evaluate(word) == "0000"
    browser.click("[data-repeat='1']")
    assert browser.evaluate(word) == "1" * 12
    for _ in range(5):
        browser.click("#random")
        assert re.fullmatch("[01]{12}", browser.evaluate(word))


def test_a_word_has_the_length_that_is_typed_or_there_is_none(browser: Browser, page: Path):
    browser.open(page, "#word=0110")
    before = "0110"
    for button in ("#random", "[data-repeat='1']"):
        for length in ("500", "5001", "0", "-3", "1.5", "", "10001", "1e9", "10000", "7"):
            browser.one("#length", f"{{ e.value = '{length}'; }}")
            browser.click(button)
            word, problem = browser.one("#word", "e.value"), browser.one("#problem")
            if length in ("500", "5001", "10000", "7"):
                assert (len(word), problem) == (int(length), "")
            else:
                assert (word, problem) == (before, "Here a length is a whole number from 1 to 10,000.")
            before = word


def test_long_words_are_folded_and_opened(browser: Browser, page: Path):
    browser.open(page, "#word=" + "0110" * 500)
    levels = browser.data("table.levels tbody tr")
    total = {level: math.ceil(2000 / 2**level) for level in range(11, 0, -1)}
    assert {int(row["level"]): int(row["right"]) for row in levels} == total
    place = "[+e.dataset.level, +e.dataset.index]"
    shown = browser.all(".tree .node", place)
    # A path from the root to where network and automaton part, with the nodes beside it.
    assert browser.all(".tree .node.parts", place) == [[1, 0]]
    assert {tuple(node) for node in shown} >= {(level, 0) for level in range(1, 12)}
    assert 11 < len(shown) < 60
    folded = sum(total.values()) - len(shown)
    drawn = f"{len(shown)} are drawn, the lower ones along one path; {folded:,} are folded."
    assert f"{sum(total.values()):,} nodes: {drawn}" in browser.one("[data-part=detail]")
    assert sum(int(re.sub("[^0-9]", "", text)) for text in browser.all("text.folded")) == folded
    # A node beside the path is unfolded, and then what is under it; the keys walk to what is not drawn.
    browser.key("Enter", ".tree .node[data-level='9'][data-index='2']")
    assert at(browser)[1:3] == ["9", "2"]
    assert [8, 4] not in shown
    assert [8, 4] in browser.all(".tree .node", place)
    for key, where in {"ArrowDown": ["8", "4"], "ArrowRight": ["8", "5"], "ArrowUp": ["9", "2"]}.items():
        browser.key(key)
        assert at(browser)[1:3] == where
    browser.focus(".tree .node[data-level='1']")
    first = int(at(browser)[2])
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert at(browser)[1:3] == ["1", str(first - 2)]
    browser.key("Escape")
    assert browser.all(".tree .node", place) == shown
    assert at(browser)[1:3] == ["11", "0"]


def test_whatever_is_typed_is_answered(browser: Browser, page: Path):
    browser.open(page, width=390)
    for text in ("012x", "z01x1z0", "日本", "<b>", "%", "0 1\t1", "", " ", "0" * 200_001):
        found, problem = typed(browser, text), browser.one("#problem")
        unknown = [c for c in dict.fromkeys(text) if c not in "01 \t"]
        if len(text) > 200_000:
            assert problem == "The word is too long: at most 100,000 symbols."
            continue
        assert problem == (f"Not in the alphabet: {' '.join(unknown)}" if unknown else "")
        # What is wrong is marked, and the rest is read.
        rest, marks = "".join(c for c in text if c in "01"), [c for c in text if c in unknown]
        assert len(found["path"]) == 1 + len(rest)
        assert browser.all(".answer mark") == marks
        if marks and rest:
            assert browser.one(".typed-word") == text
            answer = browser.one(".answer")
            browser.type(rest)
            assert answer.endswith(f"{'It is' if len(marks) == 1 else 'They are'} left out. {browser.one('.answer')}")
    # Of a long word, the part about the first mark.
    browser.type("01" * 200 + "x" + "01" * 200)
    assert browser.one(".typed-word") == "…" + "01" * 10 + "x" + ("01" * 20)[:39] + "…"
    browser.assert_fits()


def test_runs_side_by_side_share_the_word_and_may_lack_a_certificate(browser: Browser, runs: Runs):
    three = [runs.certified("parity"), runs.plain("parity", model="rnn"), runs.plain("parity", 3)]
    browser.open(runs.page(*three, runs.certified("cycle-navigation")), "#word=0110", width=1600)
    answers = browser.all(".run > .answer")
    for answer, truth, certified in zip(answers, ["even", "even", "even", "2"], [1, 0, 0, 1], strict=True):
        quantised = f" Quantised network: ✓ {truth}. 3 of 3 nodes right." if certified else ""
        sure = r"(over )?[\d.]+\s% sure"
        said = rf"Network: (✓ \w+, {sure}. They agree|✗ \w+, {sure}. They disagree: the network is wrong)\."
        assert re.fullmatch(rf"Automaton: {truth}\. {said}{quantised}", answer)
    # A tree without a certificate is the network's own.
    assert browser.all(".run", "e.querySelectorAll('.node').length") == [3, 0, 3, 3]
    browser.type("02")
    answers = browser.all(".run > .answer")
    assert answers[0].startswith("02 Not in this alphabet: 2. Its symbols: 0 1. It is left out. Automaton: even.")
    assert answers[3].startswith("Automaton: 4.")
    assert browser.one("#problem") == ""
    badges = browser.all(".badge", "e.className")
    assert badges == ["badge partly", "badge observed", "badge observed", "badge partly"]


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser, page: Path):
    for dark in (False, True):
        browser.open(page, width=1280, dark=dark)
        assert (browser.evaluate(f"({LUMINANCE})(document.body)") < 0.5) == dark
        browser.click("#theme")
        assert (browser.evaluate(f"({LUMINANCE})(document.body)") < 0.5) != dark
        assert browser.one("#theme", "e.getAttribute('aria-pressed')") == str(not dark).lower()


def test_large_tables_are_drawn_as_pixels(browser: Browser, page_of):
    browser.open(page_of("large")[0])
    assert browser.count(".cayley td[data-row]") == 3600
    browser.open(page_of("pixels")[0])
    browser.key("ArrowDown", "canvas")
    assert "(prototype 2) then [ε] (prototype 1) gives" in browser.one("[data-part=product]")


def test_the_data_cannot_end_the_script():
    text = embedded({"a": "</script><!--\u2028\u2029", "b": ["<"]})
    assert not set("<\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029", "b": ["<"]}


def test_a_page_is_one_file_without_addresses_and_can_be_made_again(runs: Runs, page: Path):
    text = page.read_text()
    assert_one_file(text)
    assert render([believed(runs.certified("tomita-3").path)]) == text


@pytest.mark.parametrize("name", ["parity", "tomita-3", "dyck-12", "aa-bb-cc-dd-ee", "symmetric-3", "symmetric-5"])
def test_states_stand_apart_and_all_is_drawn(name: str):
    machine = languages.get(name).machine.minimise()
    places = positions(Diagram.from_machine(machine))
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
    with pytest.raises(UserError, match=r"is not proven of tomita-5: its automaton is not that of .*; choose another"):
        material(found)


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
    folder(tmp_path / "run", language_of(EVIL, tmp_path))
    (tmp_path / "language.json").unlink()
    with pytest.raises(UserError, match=r"language\.json: cannot be read"):
        gather(tmp_path / "run")


def test_nothing_is_called_proven_that_the_checker_does_not_accept_now(tmp_path: Path):
    run = folder(tmp_path / "run", "parity")
    certificate = certify(run, "parity")
    path, again = run.path / "certificate.json", f"; run `regulargpt verify {run.path}` again"
    files = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}
    cases = {
        "the answer at prototype 1 is not 'even'": certificate,  # of no network at all
        f"{path} has the format 'x', not 'regulargpt certificate 3'": {**certificate, "format": "x"},
        f"{path} has no 'automaton'": {k: certificate[k] for k in certificate if k != "automaton"},
    }
    for name, file in files.items():
        another = {**certificate[name], "sha256": "0" * 64}
        cases[f"{file} is not the {name} of this certificate: SHA-256 "] = certificate | {name: another}
    for message, forged in cases.items():
        path.write_text(json.dumps(forged))
        with pytest.raises(UserError) as refused:
            gather(run.path)
        assert str(refused.value).startswith(f"{path} proves nothing: {message}")
        assert str(refused.value).endswith(again)


def test_every_measure_of_a_run_is_a_line_of_its_own():
    of = {"accuracy": {"score": 90.0, "worst": 80.0}, "words": {"score": 5.0, "worst": 0.0}}
    summary = {"measure": "accuracy", **of["accuracy"], "test_from": 41, "test_len": 50, "scores": of}
    run = SimpleNamespace(summary=summary, points=((41, 90.0),), field=None, falsified=None, refuted=None)
    assert facts.observations(cast(PageRun, run)) == [
        "mean accuracy 90.00 % over lengths 41 to 50, worst 80.00 %",
        "mean words 5.00 %, worst 0.00 %",
    ]
