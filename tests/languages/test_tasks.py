"""The machines are those of the literature, and a task refuses parts that do not fit."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from languages import get, rng
from languages.automata import MooreMachine, Semiautomaton
from languages.automata.monoid import TransitionMonoid
from languages.convert.files import save
from languages.errors import LanguageError
from languages.registry import names
from languages.regular.dyck import dyck_dfa
from languages.sampling.published import Blocks
from languages.task import Task, all_words
from tests.languages.oracles import ORACLES
from tests.languages.refusing import refusal

# Minimal complete states, elements of the transition monoid, group-free?
SIZES = {
    "parity": (2, 2, False),
    "even-pairs": (5, 5, True),
    "cycle-navigation": (5, 5, False),
    "tomita-1": (2, 2, True),
    "tomita-2": (3, 6, True),
    "tomita-3": (5, 26, False),
    "tomita-4": (4, 12, True),
    "tomita-5": (4, 4, False),
    "tomita-6": (3, 3, False),
    "tomita-7": (5, 9, True),
    "dyck-1": (3, 6, True),
    "dyck-2": (4, 15, True),
    "dyck-3": (5, 31, True),
    "dyck-4": (6, 56, True),
    "dyck-12": (14, 820, True),
    "aa-star": (2, 2, False),
    "aaaa-star": (4, 4, False),
    "abab-star": (5, 10, False),
    "012-02": (2, 3, True),
    "ab-d-bc": (3, 5, True),
    "aa-bb-cc-dd-ee": (7, 17, True),
    "cyclic-5": (5, 5, False),
    "dihedral-4": (8, 8, False),
    "symmetric-3": (6, 6, False),
    "symmetric-5": (120, 120, False),
    "alternating-5": (60, 60, False),
    "flip-flop": (3, 3, True),
    "prefix": (7, 7, True),
}


def transition_monoid(machine: Semiautomaton) -> set[tuple[int, ...]]:
    """All functions that words induce on the states, by closure under the letters."""
    letters = [tuple(column) for column in machine.table.T.tolist()]
    todo = [tuple(range(machine.n_states))]
    found = set(todo)
    for element in todo:
        for letter in letters:
            following = tuple(letter[q] for q in element)
            if following not in found:
                found.add(following)
                todo.append(following)
    return found


def is_aperiodic(monoid: set[tuple[int, ...]]) -> bool:
    """Whether the powers of every element end in a fixed point (and not in a longer cycle)."""
    for element in monoid:
        power = element
        for _ in range(len(element)):
            power = tuple(element[q] for q in power)
        if tuple(element[q] for q in power) != power:
            return False
    return True


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    machine = get(name).machine.minimise()
    ours, monoid = TransitionMonoid.of(machine), transition_monoid(machine)
    assert (machine.n_states, ours.size, ours.is_aperiodic) == SIZES[name]
    assert (len(monoid), is_aperiodic(monoid)) == SIZES[name][1:]


def test_even_pairs_has_five_transitions() -> None:
    """By the definition of the syntactic monoid, from the oracle alone: words that no context tells apart.

    They are the empty word and the four pairs (first, last): a rectangular band with an identity.
    """
    words = ["".join(word) for n in range(6) for word in product("01", repeat=n)]
    contexts = [(left, right) for left in words[:7] for right in words[:7]]

    def answers(word: str) -> tuple[str, ...]:
        return tuple(ORACLES["even-pairs"](left + word + right) for left, right in contexts)

    classes: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for word in words:
        classes.setdefault(answers(word), set()).add((word[:1], word[-1:]))
    assert sorted(map(sorted, classes.values())) == [[(a, b)] for a, b in [("", ""), *product("01", repeat=2)]]


@pytest.mark.parametrize("name", names())
def test_machines_are_minimal(name: str) -> None:
    """But for arithmetic, which keeps apart what is pending in "0+" and in "1*", to be read."""
    machine = get(name).machine
    merged = {"modular-arithmetic": 10, "modular-arithmetic-left-to-right": 2}.get(name, 0)
    assert machine.n_states - machine.minimise().n_states == merged


def test_the_two_arithmetics_are_two_tasks() -> None:
    """They disagree on 79 to 80 % of the words of length 41 and more."""
    usual, other = get("modular-arithmetic"), get("modular-arithmetic-left-to-right")
    for length in (41, 101, 501):
        words = usual.sample(rng(0, "disagree"), length, 60_000)
        assert 0.785 < (usual.labels(words) != other.labels(words)).mean() < 0.805


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("parity", [1, 2, 3, 4, 5, 6]),
        ("modular-arithmetic", [1, 3, 5]),
        ("modular-arithmetic:plus=true", [2, 4, 6]),
        ("dyck-3", [1, 2, 3, 4, 5, 6]),
        ("abab-star", [1, 2, 3, 4, 5, 6]),
        ("flip-flop", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_lengths(name: str, lengths: list[int]) -> None:
    task = get(name)
    assert task.lengths(-3, 6) == lengths
    assert [length for length in range(-3, 7) if task.has_length(length)] == lengths


def test_what_is_missing_is_said() -> None:
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


def test_arithmetic_words_are_uniform() -> None:
    """Digits and operators are independent and uniform."""
    words = get("modular-arithmetic").sample(rng(0, "uniform"), 41, 20_000)
    digits, operators = words[:, 0::2], words[:, 1::2] - 5
    for values, kinds in ((digits, 5), (operators, 3)):
        counts = np.stack([np.bincount(column, minlength=kinds) for column in values.T])
        assert counts.shape[1] == kinds
        assert np.abs(counts - 20_000 / kinds).max() < 6 * np.sqrt(20_000 / kinds)
    joint = np.bincount(digits[:, 3].astype(np.int64) * 3 + operators[:, 3], minlength=15)
    assert np.abs(joint - 20_000 / 15).max() < 6 * np.sqrt(20_000 / 15)


def test_left_to_right_and_precedence_draw_the_same_words() -> None:
    first, second = (get(name).sample(rng(0, "w"), 9, 50) for name in names()[3:5])
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", names())
def test_next_symbols_are_for_classifications(name: str) -> None:
    task = get(name)
    words = task.sample(rng(0, "next"), task.lengths(4, 9)[0], 5)
    if task.is_classification:
        assert task.next_symbols(words).shape == (*words.shape, task.n_symbols + 1)
        assert (task.next_symbols(words)[:, -1, -1] == task.labels(words)).all()
    else:
        with pytest.raises(LanguageError, match=f"^{name} is no classification, it answers "):
            task.next_symbols(words)


ONE_WAY = MooreMachine(("a", "b"), ("0", "1"), ((0, 1), (0, 1)), "a", (0, 1), ("no", "yes"))
MEMBERSHIP = dyck_dfa(1).as_moore()
BALANCED = {"machine": MEMBERSHIP, "sampling": "balanced"}
UNIFORM = {"machine": ONE_WAY}
NO_CLASSIFICATION = (
    "t: balanced sampling is for machines that answer 'reject' or 'accept' in every state; "
    "use uniform sampling for other machines"
)
UNIFORM_ONLY = "t: a domain or weights go with uniform sampling only"
MEMBERS_GO_WITH = "t: samplers of members go with balanced sampling only"
ALPHABET = "t: its automata must have the machine's alphabet, in the same order"
WEIGHTS = "t: weights are one number >= 0 for each symbol, not all 0"
REFUSED = [
    (UNIFORM | {"sampling": "balanced"}, NO_CLASSIFICATION),
    (UNIFORM | {"glyphs": ("(",)}, "t: glyphs are one for each of the 2 symbols, or none"),
    (BALANCED | {"weights": (1.0, 1.0)}, UNIFORM_ONLY),
    (BALANCED | {"domain": dyck_dfa(2)}, UNIFORM_ONLY),
    (UNIFORM | {"members": (dyck_dfa(1),)}, MEMBERS_GO_WITH),
    (UNIFORM | {"members": Blocks(2)}, MEMBERS_GO_WITH),
    (UNIFORM | {"domain": all_words(("1", "0"))}, ALPHABET),
    (UNIFORM | {"weights": (1.0,)}, WEIGHTS),
    (UNIFORM | {"weights": (1.0, -1.0)}, WEIGHTS),
    (UNIFORM | {"weights": (0.0, 0.0)}, WEIGHTS),
    (UNIFORM | {"weights": (1.0, float("nan"))}, WEIGHTS),
    (UNIFORM | {"sampling": "fair"}, "t: sampling is 'fair'; it is 'uniform' or 'balanced'"),
]


@pytest.mark.parametrize(("parts", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refusals(parts: dict[str, Any], message: str) -> None:
    assert refusal(lambda: Task(name="t", summary="", source="", examples=(), **parts), error=LanguageError) == message


@pytest.mark.parametrize("kind", ["json", "dot"])
def test_tasks_of_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"brackets.{kind}"
    save(dyck_dfa(2), path)
    task = get(f"dfa:{path}")
    assert (task.sampling, task.name) == ("balanced", f"dfa:{path}")
    assert task.language.equivalent(dyck_dfa(2))
    words = task.sample(rng(0, "file"), 8, 64, near_misses=0.5)
    assert task.labels(words).sum() == 32
