"""The machines are those of the literature, and a task refuses parts that do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from languages import get, rng
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.convert.files import save
from languages.errors import LanguageError
from languages.registry import names
from languages.regular.dyck import dyck_dfa
from languages.sampling.published import Blocks
from languages.task import Task, all_words
from tests.languages.refusing import is_like, refusal

# Minimal complete states, elements of the transition monoid, group-free?
SIZES = {
    "parity": (2, 2, False), "even-pairs": (5, 5, True), "cycle-navigation": (5, 5, False), "tomita-1": (2, 2, True),
    "tomita-2": (3, 6, True), "tomita-3": (5, 26, False), "tomita-4": (4, 12, True), "tomita-5": (4, 4, False),
    "tomita-6": (3, 3, False), "tomita-7": (5, 9, True), "dyck-1": (3, 6, True), "dyck-2": (4, 15, True),
    "dyck-3": (5, 31, True), "dyck-4": (6, 56, True), "dyck-12": (14, 820, True), "aa-star": (2, 2, False),
    "aaaa-star": (4, 4, False), "abab-star": (5, 10, False), "012-02": (2, 3, True), "ab-d-bc": (3, 5, True),
    "aa-bb-cc-dd-ee": (7, 17, True), "cyclic-5": (5, 5, False), "dihedral-4": (8, 8, False),
    "symmetric-3": (6, 6, False), "symmetric-5": (120, 120, False), "alternating-5": (60, 60, False),
    "heisenberg-3": (27, 27, False), "cyclic-2*symmetric-3": (12, 12, False),
    "flip-flop": (3, 3, True), "prefix": (7, 7, True), "flip-flop-reads": (9, 81, True),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    machine, least = get(name).machine, get(name).machine.minimise()
    monoid = TransitionMonoid.from_machine(least)
    assert (least.n_states, monoid.size, monoid.is_aperiodic) == SIZES[name]
    assert machine.n_states == least.n_states


@pytest.mark.parametrize(("name", "merged"), [("modular-arithmetic", 10), ("modular-arithmetic-left-to-right", 2)])
def test_arithmetic_keeps_apart_what_is_pending(name: str, merged: int) -> None:
    """In "0+" and in "1*", to be read. Every other language is minimal."""
    machine = get(name).machine
    assert machine.n_states - machine.minimise().n_states == merged
    assert set(names()) - set(SIZES) == {"modular-arithmetic", "modular-arithmetic-left-to-right"}


def test_the_two_arithmetics_are_two_tasks() -> None:
    """They disagree on 79 to 80 % of the words of length 41 and more."""
    usual, other = get("modular-arithmetic"), get("modular-arithmetic-left-to-right")
    for length in (41, 101, 501):
        words = usual.sample(rng(0, "disagree"), length, 20_000)
        assert 0.78 < (usual.labels(words) != other.labels(words)).mean() < 0.81


LENGTHS = {
    "modular-arithmetic": [1, 3, 5],
    "modular-arithmetic:plus=true": [2, 4, 6],
    **{key: [1, 2, 3, 4, 5, 6] for key in ("parity", "dyck-3", "abab-star", "flip-flop")},
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name: str) -> None:
    task = get(name)
    assert task.lengths(-3, 6) == [n for n in range(-3, 7) if task.has_length(n)] == LENGTHS[name]


def test_lengths_and_what_is_missing() -> None:
    assert [get("parity").describe_length(7), get("dyck-2").describe_length(8)] == ["", ""]
    assert get("dyck-2").describe_length(7) == "length 7: dyck-2 has no members, so every word is a non-member"
    assert get("aa-star").describe_length(8) == "length 8: aa-star has no non-members, so every word is a member"
    no_words = "length 6: modular-arithmetic has no words; the nearest lengths with words: 5 and 7"
    assert get("modular-arithmetic").describe_length(6) == no_words


def test_p_one() -> None:
    words = get("parity:p_one=0.2").sample(rng(0, "p_one"), 100, 10_000)
    ones = words.mean(axis=0)
    assert np.abs(ones - 0.2).max() < 6 * np.sqrt(0.2 * 0.8 / 10_000)
    assert np.abs(np.corrcoef(words[:, ::9].T)[np.triu_indices(12, 1)]).max() < 0.06
    assert get("parity:p_one=1.0").sample(rng(0, "p_one"), 9, 4).tolist() == [[1] * 9] * 4


def test_both_arithmetics_draw_the_same_words() -> None:
    first, second = (get(name).sample(rng(0, "w"), 9, 50) for name in names()[3:5])
    assert np.array_equal(first, second)


ONE_WAY = MooreMachine(("a", "b"), ("0", "1"), ((0, 1), (0, 1)), "a", (0, 1), ("no", "yes"))
MEMBERSHIP = dyck_dfa(1).as_moore()
BALANCED = {"machine": MEMBERSHIP, "sampling": "balanced"}
UNIFORM = {"machine": ONE_WAY}
REFUSED = [
    (UNIFORM | {"sampling": "balanced"}, "balanced sampling is for machines that answer 'reject' or … other machines"),
    (UNIFORM | {"glyphs": ("(",)}, "glyphs are one for each of the 2 symbols, or none"),
    *((BALANCED | {key: value}, "a domain or weights go with uniform sampling only")
      for key, value in {"weights": (1.0, 1.0), "domain": dyck_dfa(2)}.items()),
    *((UNIFORM | {"members": members}, "samplers of members go with balanced sampling only")
      for members in ((dyck_dfa(1),), Blocks(2))),
    (UNIFORM | {"domain": all_words(("1", "0"))}, "its automata must have the machine's alphabet, in the same order"),
    *((UNIFORM | {"weights": weights}, "weights are one number >= 0 for each symbol, not all 0")
      for weights in ((1.0,), (1.0, -1.0), (0.0, 0.0), (1.0, float("nan")))),
    (UNIFORM | {"sampling": "fair"}, "sampling is 'fair'; it is 'uniform' or 'balanced'"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(parts: dict[str, Any], message: str) -> None:
    made = {"name": "t", "summary": "", "source": "", "examples": (), **parts}
    assert is_like(refusal(lambda: Task(**made), error=LanguageError), f"t: {message}")


@pytest.mark.parametrize("kind", ["json", "dot"])
def test_tasks_of_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"brackets.{kind}"
    save(dyck_dfa(2), path)
    task = get(f"dfa:{path}")
    assert (task.sampling, task.name) == ("balanced", f"dfa:{path}")
    assert task.language.equivalent(dyck_dfa(2))
    words = task.sample(rng(0, "file"), 8, 64, near_misses=0.5)
    assert task.labels(words).sum() == 32
