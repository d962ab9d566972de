"""Networks along brackets in the workbench: against torch, `languages`, brute force and the checker."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch.nn import functional as F

import languages
from languages.automata.nesting import partners
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.convert.machines import to_json
from languages.randomness import rng
from regulargpt.certificate.checker import Accepted, check
from regulargpt.classroom import nested
from regulargpt.classroom.live.twins import PageScript, bundle
from regulargpt.classroom.live.wrong_words import every_word
from regulargpt.classroom.workbench import page as workbench
from regulargpt.cli.commands.check import automaton_of
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.proof import Proof
from regulargpt.models.tree.base import as_tree
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.nested_tables import prove_nested
from tests.regulargpt.workbench.test_nested_machine import random_machine
from tests.regulargpt.workbench.test_networks import logits_of, network, questions, same, same_gradients, sized

pytestmark = needs_browser
Ints = npt.NDArray[np.intp]
PLACE = Path(__file__).parent
SCRIPTS = ("nested_page.js", "networks.js")
NAMES = ("brackets-1", "brackets-2", "xml-2", "formula")


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page that holds the scripts and nothing else."""
    path = tmp_path_factory.mktemp("nested") / "page.html"
    scripts = bundle([PageScript(name, PLACE / name, "drawn") for name in SCRIPTS])
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>Brackets</title><script>{scripts}</script>')
    tab.fresh()
    tab.open(path)
    yield tab
    tab.assert_silent()


def asked(page: Browser, function: str, given: Any, script: str = "nested_page.js") -> Any:
    """What a function of a script gives."""
    return page.evaluate(f"modules[{json.dumps(script)}].{function}({json.dumps(given)})")


def machine_of(name: str) -> PushdownTransducer:
    machine = languages.find(name).machine
    assert isinstance(machine, PushdownTransducer)
    return machine


def test_logits_and_gradients_along_brackets_are_torchs(page: Browser):
    """Pairs that are empty, pending brackets on both sides, words without any."""
    draw = rng(0, "workbench brackets")
    for _ in range(20):
        model, given = network(sized("tree", draw), draw)
        direction = draw.integers(-1, 2, given["n_symbols"]).tolist()
        as_tree(model).follow(direction)
        given |= questions(given, draw) | {"direction": direction, "mask": None}
        given["options"]["tree"] = "nested"
        ours = asked(page, "computed", given, "networks.js")
        logits = logits_of(model, given["words"])
        loss = F.cross_entropy(logits, torch.tensor(given["answers"]))
        same(ours["logits"], logits, 10)
        same(ours["shown"], logits, 10)
        same_gradients(ours["gradients"], loss, dict(model.named_parameters()))


@pytest.mark.parametrize("name", NAMES)
def test_words_have_right_answers_and_are_counted_by_element(page: Browser, name: str):
    machine, lengths = machine_of(name), [1, 2, 3, 4]
    found = asked(page, "drawn", {"text": to_json(machine), "steps": [0, 500, 900], "lengths": lengths})
    assert found["batches"] == found["again"]
    for batch, longest in zip(found["batches"], (10, 20, 40), strict=True):
        assert {answers_of(machine, word) for word in batch["words"]} == set(found["names"])
        for word, answer in zip(*batch.values(), strict=True):
            assert 0 < len(word) <= longest
            assert answers_of(machine, word) == found["names"][answer]
    assert max(depth(machine, word) for word in found["batches"][2]["words"]) > 5
    assert {answers_of(machine, word) for word in found["long"]} == set(found["names"])
    assert all(200 <= len(word) <= 230 for word in found["long"])
    elements = nested.Elements.from_machine(machine)
    assert elements is not None
    of_word = elements.algebra.of_word
    assert all(word is None or of_word(np.array(word)) == e for e, word in enumerate(found["of"]))
    for length, counts in zip(lengths, found["counts"], strict=True):
        each = np.bincount([of_word(word) for word in every_word(machine.n_symbols, length)], minlength=len(counts))
        np.testing.assert_allclose(counts, np.where(found["hopeful"], each, 0), atol=1e-9)


def answers_of(machine: PushdownTransducer, word: list[int]) -> str | None:
    return [*machine.output_names, None][int(machine.answers(np.array([word]))[0])]


def direction_of(machine: PushdownTransducer) -> Ints:
    return VisiblyPushdown.from_machine(machine).direction


def depth(machine: PushdownTransducer, word: list[int]) -> int:
    kind = direction_of(machine)[word]
    closed = partners(kind[None])[0] >= 0
    return int(np.cumsum(kind * closed).max())


@dataclass
class Quantised:
    """The network that is a table [near][far] of K prototypes and the symbols, with the numbers of its answers."""

    machine: PushdownTransducer
    table: Ints
    answers: Ints

    def proof(self) -> Proof:
        """At every length."""

        def image(windows: Ints) -> Ints:
            return self.table[windows[:, 0], windows[:, 1]]

        return prove_nested(NestedSpecification.of_machine(self.machine), 2, len(self.answers), image, self.answers)

    def first(self) -> list[int] | None:
        """The first wrong word of all short ones."""
        lengths = range(1, 7 if self.machine.n_symbols < 4 else 4)
        words = (word.tolist() for length in lengths for word in every_word(self.machine.n_symbols, length))
        return next(filter(self.is_wrong, words), None)

    def is_wrong(self, word: list[int]) -> bool:
        truth = int(self.machine.answers(np.array([word]))[0])
        return 0 <= truth != self.answers[self.root(word) - 1]

    def root(self, word: list[int]) -> int:
        """The prototype of a word, by recursion."""
        partner = partners(direction_of(self.machine)[word][None])[0].tolist()
        leaves, table = [1 + len(self.answers) + symbol for symbol in word], self.table.tolist()

        def row(start: int, end: int) -> int:
            items, at = list[int](), start
            while at < end:
                last = partner[at]
                if last < 0:
                    items.append(leaves[at])
                else:
                    inside = row(at + 1, last) if last > at + 1 else 0
                    items.append(table[leaves[last]][table[inside][leaves[at]]])
                at = max(at, last) + 1
            while True:
                items = [0] * (len(items) % 2) + items
                items = [table[near][far] for far, near in zip(items[::2], items[1::2], strict=True)]
                if len(items) == 1:
                    return items[0]

        return row(0, len(word))


def test_the_quantised_networks_shortest_wrong_word_is_found_at_any_length(page: Browser):
    """Tables with other entries: by brute force on short words, by the proof at every length."""
    draw, noticed, never = rng(0, "spoilt brackets"), 0, 0
    for machine in [*map(machine_of, NAMES[:3]), *map(random_machine, range(6))] * 4:
        changes = draw.integers(0, 1 << 20, (int(draw.integers(0, 5)), 2)).tolist()
        spoilt = asked(page, "spoilt", {"text": to_json(machine), "changes": changes})
        if spoilt is None:
            continue
        numbers = np.array([machine.output_names.index(name) for name in spoilt["answers"]])
        network, found = Quantised(machine, np.array(spoilt["table"]), numbers), spoilt["found"]
        assert network.proof().holds == found["ended"]
        never += found["ended"]
        first = network.first()
        noticed += first is not None
        assert first is None or len(first) == found["length"]
        assert found["word"] is None or network.is_wrong(found["word"])
        assert found["ended"] or first or len(found["word"]) > 3
    assert noticed > 3
    assert never > 3


@pytest.fixture(scope="module")
def trained(page: Browser) -> dict[str, Any]:
    """Brackets of any depth, trained in the page."""
    return asked(page, "trained", {"text": to_json(machine_of("brackets-1")), "seed": 0})


def test_the_checker_accepts_a_network_along_brackets(trained: dict[str, Any], tmp_path: Path):
    for name, data in trained["files"].items():
        (tmp_path / name).write_bytes(base64.b64decode(data))
    accepted = check(tmp_path / "certificate.json", language=("brackets-1", automaton_of("brackets-1")))
    assert isinstance(accepted, Accepted)
    assert accepted.unquantised_claim is not None
    assert accepted.language_claim is not None
    assert trained["sentence"] == f"{accepted.claim} {accepted.unquantised_claim}"
    assert accepted.entries == 35
    assert any("drawn machine" in note for note in trained["notes"])


def test_the_hammer_finds_the_shortest_wrong_word_along_brackets(page: Browser, trained: dict[str, Any]):
    assert trained["files"]
    noticed = 0
    for at in range(0, 30, 2):
        case = asked(page, "broken", {"at": at, "image": 0 if at == 0 else 7 * at + 1, "longest": 6})
        found, first = case["found"], case["first"]
        noticed += first is not None
        assert (found["length"] if found["isShortest"] else None) == (first and len(first))
        assert case["isWrong"] in (None, True)
        assert found["quantised"]["ended"] or found["quantised"]["length"]
        assert at or found["quantised"]["ended"]
    assert noticed > 3


def test_the_page_says_what_is_so_along_brackets(browser: Browser, tmp_path: Path):
    workbench.write(tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "#machine=two-kinds-of-brackets&step=5", width=1280)
    assert "follows the brackets" in browser.one(".panel.tree")
    assert "by the machine that was drawn" in browser.one(".panel.wall")
    assert "110 cases" in browser.one(".panel.wall .count")
    assert browser.one(".panel.lanes .main", "e.disabled") is False
    browser.assert_fits()
    assert violations(browser) == []
