"""Words that a network answers wrongly: planted errors, each for the search that is meant for it; right networks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import languages
from languages.automata import MooreMachine
from languages.task import Task
from regulargpt.falsification.asked import Examinee
from regulargpt.falsification.clusters import StateWalk, clusters
from regulargpt.falsification.guided import guided
from regulargpt.falsification.hunt import Hunt, Spent
from regulargpt.falsification.known import Known
from regulargpt.falsification.machine import Guide
from regulargpt.falsification.queries import queries, random_queries
from regulargpt.falsification.search import Search, falsify
from regulargpt.falsification.short_words import short_words
from regulargpt.falsification.shrink import shrink
from regulargpt.falsification.state_powers import state_powers
from regulargpt.falsification.structured import structured
from regulargpt.falsification.whole_powers import whole_powers
from regulargpt.finite.nonempty import counterexample
from regulargpt.models.base import Model
from regulargpt.models.linear_rnn import LinearRnn
from tests.regulargpt.machines import machines
from tests.regulargpt.planted import Near, Whole, asked, steps, whole, with_error

PARITY = languages.get("parity").machine
LONG = "0110100110010110" * 2
ONES, ZEROS = f"{'1' * 119}(11)*", f"(0|1)*{'0' * 24}"


def hunted(search: Search, of: Examinee, words: int = 30_000) -> Hunt:
    """The search alone."""
    hunt = Hunt(of, words)
    with suppress(Spent):
        search(hunt)
    return hunt


def words_of(hunt: Hunt) -> list[str]:
    return [hunt.examinee.written(word) for word in hunt.sorted()]


# The search, the network, its error, the shortest word with it.
PLANTED: list[tuple[Search, Any, str, str]] = [
    *((short_words, network, "0110|101101", "0110") for network in (steps, whole)),
    (clusters, steps, LONG, LONG),
    *((queries, network, "(0|1)*00000", "00000") for network in (steps, whole)),
    *((state_powers, steps, error, shortest) for error, shortest in ((ONES, "1" * 119), (ZEROS, "0" * 24))),
    *((whole_powers, whole, error, shortest) for error, shortest in ((ONES, "1" * 119), (ZEROS, "0" * 24))),
    *((structured, network, ZEROS, "0" * 24) for network in (steps, whole)),
    (random_queries, whole, "(0|1)*01101001(0|1)*", "01101001"),
]


@pytest.mark.parametrize(("search", "network", "error", "shortest"), PLANTED)
def test_a_planted_error_comes_up_in_the_search_for_it(search: Search, network: Any, error: str, shortest: str):
    machine = with_error(PARITY, error)
    hunt = hunted(search, asked(network(machine)))
    assert hunt.wrong
    for word in hunt.wrong:
        assert machine.answers([word]) != PARITY.answers([word])
    hunt.give(1.0)
    with suppress(Spent):
        shrink(hunt, hunt.sorted()[0])
    found = words_of(hunt)[0]
    assert len(found) >= len(shortest)
    if search not in (structured, random_queries):  # what these draw need not lead to the shortest
        assert found == shortest


def test_a_gradient_leads_to_the_only_wrong_word():
    word = [int(symbol) for symbol in "011010011001011010010110"]
    hunt = hunted(guided, asked(Near(PARITY, word)), 100_000)
    assert list(hunt.wrong) == [tuple(word)]


@pytest.mark.parametrize(("search", "network"), [(state_powers, steps), (whole_powers, whole)])
@pytest.mark.parametrize(
    ("error", "family"),
    [
        (ONES, ("", "1", "", 119, 2, [1])),
        (f"{'001' * 30}(001)*1", ("", "001", "1", 30, 1, [0])),
        ("111(11111)*", ("", "1", "", 3, 5, [3])),
    ],
)
def test_a_family_begins_where_it_is_planted(search: Search, network: Any, error: str, family: tuple[Any, ...]):
    hunt = hunted(search, asked(network(with_error(PARITY, error))), 60_000)
    (found,) = hunt.families
    text = ["".join(map(str, part)) for part in (found.u, found.v, found.w)]
    assert (*text, found.of.start, found.of.period, list(found.of.residues)) == family
    assert len(found.v) * found.of.end > (990_000 if network is steps else 300)


@pytest.mark.parametrize("network", [steps, whole])
@pytest.mark.parametrize("language", ["parity", "tomita-4", "modular-arithmetic:plus=true", "cyclic-5"])
def test_a_right_network_has_no_wrong_word(network: Any, language: str):
    of = asked(network(languages.get(language).machine), language)
    report = falsify(of, 20_000)
    assert (report["wrong"], report["families"]) == ([], [])
    assert report["ruled_out"][0] == f"no word of at most {report['all_up_to']} symbols is wrong"
    total = Guide(of.machine).is_total if of.machine else False
    assert (len(report["ruled_out"]) == 2) == total


FINITE = """{"states": ["start", "one", "two", "no"], "alphabet": ["a", "b"], "initial": "start",
 "outputs": {"start": null, "one": "x", "two": "y", "no": null},
 "transitions": {"start": {"a": "one", "b": "one"}, "one": {"a": "two", "b": "two"}, "two": {"a": "no", "b": "no"},
                 "no": {"a": "no", "b": "no"}}}"""


@pytest.mark.parametrize("network", [steps, whole])
def test_a_language_of_finitely_many_words_is_searched_to_the_end(network: Any, tmp_path: Path):
    """From some states no word goes on, and at most lengths there is none."""
    (file := tmp_path / "finite.json").write_text(FINITE)
    right = languages.get(f"dfa:{file}").machine
    for machine, is_wrong in ((right, False), (replace(right, outputs=(-1, 0, 0, -1)), True)):
        report = falsify(asked(network(machine), f"dfa:{file}"), 600)
        assert [wrong["length"] for wrong in report["wrong"]] == [2] * 4 * is_wrong


def brute_force(machine: MooreMachine, other: MooreMachine, longest: int) -> set[str]:
    """All words up to a length that the machine has an answer to and the other one answers otherwise."""
    found = set()
    for length in range(1, longest + 1):
        words = np.array(list(product(range(machine.n_symbols), repeat=length)))
        right, given = machine.answers(words), other.answers(words)
        found |= {machine.decode(word) for word in words[(right >= 0) & (right != given)]}
    return found


def task_of(machine: MooreMachine, of: Examinee) -> Examinee:
    """The question about another machine's answers."""
    task = Task("drawn", machine, "", "", ())
    data = type(of.data)(task, of.data.options)
    goal = type(of.objective)(data)  # type: ignore[call-arg]  # of supervision last
    return type(of)(of.model, data, goal, type(of.answer)(goal), of.device)  # type: ignore[call-arg]


@settings(max_examples=10, deadline=None)
@given(machines(4, outputs=(2,)), machines(4, outputs=(2,), least=0))
def test_against_brute_force_on_random_machines(machine: MooreMachine, network: MooreMachine):
    wrong, shortest = brute_force(machine, network, 7), counterexample(network, machine)
    for make in (steps, whole):
        report = falsify(task_of(machine, asked(make(network))), 1000)
        said = {word["word"] for word in report["wrong"]}
        assert {word for word in said if len(word) <= 7} <= wrong
        if wrong and report["all_up_to"] >= 7:
            assert report["wrong"][0]["length"] == min(map(len, wrong))
        if shortest is None:
            assert not said
        for family in report["families"]:
            for n in range(family["from"], min(family["to"], family["from"] + 40) + 1):
                word = machine.encode(family["u"] + family["v"] * n + family["w"])
                if n % family["period"] in family["residues"] and (right := machine.answers(word[None])[0]) >= 0:
                    assert right != network.answers(word[None])[0]


def test_merged_states_do_not_make_a_right_network_wrong():
    hunt = Hunt(asked(steps(PARITY)), 20_000)
    other = with_error(PARITY, "11")  # a walk beside this machine finds much to be wrong
    assert hunt.examinee.chain is not None
    walk = StateWalk(hunt, Guide(other), hunt.examinee.chain, spread=100.0)
    walk.go()
    assert walk.replayed
    assert not hunt.wrong


@pytest.mark.parametrize("network", [steps, whole])
@pytest.mark.parametrize("words", [1, 10, 300, 2000])
def test_no_more_words_are_tried_than_there_are(network: Any, words: int):
    of = asked(network(with_error(PARITY, ZEROS)))
    report = falsify(of, words)
    assert sum(report["tried"].values()) <= words
    assert report == falsify(of, words)


def test_when_the_time_is_over_it_ends():
    report = falsify(asked(steps(PARITY)), 1_000_000, seconds=0.0)
    assert (sum(report["tried"].values()), report["budget"]["late"], report["ruled_out"]) == (0, True, [])


def test_a_word_is_shortened_until_no_part_can_go():
    hunt = Hunt(asked(whole(with_error(PARITY, "(0|1)*0110(0|1)*"))), 10_000)
    assert hunt.examinee.written(shrink(hunt, (1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1))) == "0110"


@pytest.mark.parametrize("language", ["reverse-string", "stack-manipulation", "brackets-2", "marked-reversal"])
def test_rows_of_answers_and_brackets(language: str):
    task = languages.find(language)
    kind = "transduction" if getattr(task, "asked", None) else "last"

    def answers(words: np.ndarray, every: bool, wrong: int | None = None) -> np.ndarray:
        found = task.labels(words, every=every)
        return found if words.shape[1] != wrong else (found + 1) % task.n_outputs

    right = asked(Whole(answers, task.n_outputs), language, objective__name=kind)
    assert falsify(right, 3000)["wrong"] == []
    length = len(task.whole((0, 0, 0)))
    off = Whole(lambda words, every: answers(words, every, length), task.n_outputs)
    report = falsify(asked(off, language, objective__name=kind), 3000)
    first = report["wrong"][0]
    assert (first["length"], report["ruled_out"][0]) == (3, "no word of at most 2 symbols is wrong")
    assert first["expected"] != first["answered"]


@pytest.mark.parametrize("supervision", ["prefixes", "next"])
def test_other_supervision(supervision: str):
    of = asked(LinearRnn(2, 3 if supervision == "next" else 2, d_model=4), "tomita-3", objective__name=supervision)
    names = [*of.data.task.alphabet, "end"] if supervision == "next" else of.data.task.output_names

    def answered(word: Sequence[int]) -> str:
        (last,) = of.model(torch.tensor([[*word]]), readout="all")[:, -1].detach()
        legal = (name for name, logit in zip(names, last, strict=True) if logit > 0)
        return "{" + ", ".join(legal) + "}" if supervision == "next" else names[int(last.argmax())]

    known = [word for word in product(range(2), repeat=4) if answered(word) != of.said(word)[0]]
    report = falsify(of, 500, known=Known(known))
    assert {1, 4} <= {word["length"] for word in report["wrong"]}
    for said in report["wrong"]:
        word = of.data.encode(said["word"]).tolist()
        assert of.wrong(np.array([word])).all()
        assert said["answered"] == answered(word) != said["expected"]


def test_a_network_with_a_linear_state_is_read_on():
    """Complex states, and a list of them: the same words are wrong as those that are read at once."""
    model = LinearRnn(2, 2, d_model=4, n_layers=2)
    of = asked(model)
    assert of.chain is not None
    wrong = [word for word in product(range(2), repeat=3) if of.wrong(np.array([word]))[0]]
    hunt = Hunt(of, 5000)
    with torch.no_grad(), suppress(Spent):
        state_powers(hunt)
    assert all(of.wrong(np.array([family.word(family.of.start)]))[0] for family in hunt.families)
    assert wrong or hunt.families == []


def test_models_are_asked_as_in_their_evaluation():
    """The network's own arithmetic, its own device: a chain in float64 would have another rounding."""
    of = asked(LinearRnn(2, 2, d_model=4))
    assert of.chain is not None
    assert of.chain.model is of.model
    assert isinstance(of.model, Model)
    assert next(of.model.parameters()).dtype == torch.float32


def test_a_known_long_word_ends_no_search():
    """What a test had wrong is kept, shortened, and beside it the shortest one comes up."""
    machine = with_error(PARITY, "(0|1)*1011011101(0|1)*")
    known = tuple(int(symbol) for symbol in "0" * 30 + "1011011101")
    report = falsify(asked(steps(machine)), 20_000, known=Known([known]))
    assert (report["wrong"][0]["word"], report["all_up_to"]) == ("1011011101", 10)
    few = falsify(asked(whole(machine)), 400, known=Known([known]))
    assert (few["wrong"][0]["word"], few["tried"]["known"]) == ("1011011101", 1)
