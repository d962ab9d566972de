"""What a language is, as algebra: its transition monoid, Green's classes, and how common its members are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa
from languages.automata.green import GreenRelations
from languages.automata.monoid import TransitionMonoid

LENGTH = 40
"""Of the words among which members are counted: the longest that is trained on."""
SCORED = range(41, 201, 13)
"""The lengths of the words that are scored, odd and even ones."""
KINDS = ("group", "aperiodic", "mixed")
NUMBERS: Mapping[str, str] = {
    "states": "states of the minimal automaton",
    "monoid": "elements of the transition monoid",
    "is_group": "whether the monoid is a group",
    "is_aperiodic": "whether the monoid is aperiodic (the language is star-free)",
    "j_classes": "Green's J-classes of the monoid",
    "j_depth": "J-classes in the longest chain of them",
    "largest_group": "elements of the largest group in the monoid",
    "idempotents": "idempotents of the monoid",
    "members": f"share of members among the words of length {LENGTH}",
    "balance": f"share of the rarer answer among the words of length {LENGTH}",
    "both_answers": "share of the scored lengths that have members and non-members",
    "empty_alone": "whether no other word acts as the empty word does",
}
"""The columns that are numbers, or 0 and 1, with what they mean."""


def algebra(dfa: Dfa) -> dict[str, str | int | float]:
    """The columns of a minimal automaton: `alphabet`, `kind`, `is_constant`, and those of `NUMBERS`.

    A language is constant if all words of the scored lengths have the same answer, as those of a finite language do.

    >>> even = algebra(Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"}))
    >>> even["kind"], even["monoid"], even["largest_group"], even["j_depth"], even["members"]
    ('group', 2, 2, 1, 0.5)
    """
    monoid = TransitionMonoid.from_machine(dfa)
    green = GreenRelations.from_monoid(monoid)
    members, answers = share_of_members(dfa, LENGTH), answers_at(dfa, SCORED)
    return {
        "alphabet": dfa.n_symbols,
        "kind": kind(monoid),
        "is_constant": int(not answers.any(axis=0).all()),
        "states": dfa.n_states,
        "monoid": monoid.size,
        "is_group": int(monoid.is_group),
        "is_aperiodic": int(monoid.is_aperiodic),
        "j_classes": green.n_d_classes,
        "j_depth": green.depth,
        "largest_group": max(green.group_sizes),
        "idempotents": len(monoid.idempotents),
        "members": members,
        "balance": min(members, 1 - members),
        "both_answers": float(answers.all(axis=1).mean()),
        "empty_alone": int(is_empty_word_alone(monoid)),
    }


def kind(monoid: TransitionMonoid) -> str:
    """`group`, `aperiodic`, or `mixed` if it is neither; a trivial monoid, which is both, is `aperiodic`."""
    return "aperiodic" if monoid.is_aperiodic else "group" if monoid.is_group else "mixed"


def is_empty_word_alone(monoid: TransitionMonoid) -> bool:
    """Whether the empty word's syntactic class is {empty word}: no symbol leads back to the identity.

    Then a network has to keep apart from all words a class of which it is never shown any.

    >>> is_empty_word_alone(TransitionMonoid.from_machine(Dfa.from_regex("(ab)*")))
    True
    >>> is_empty_word_alone(TransitionMonoid.from_machine(Dfa.from_regex("(aa)*")))
    False
    """
    return bool((monoid.right != monoid.identity).all())


def share_of_members(dfa: Dfa, length: int) -> float:
    """Of all words of this length; exact up to a rounding, by dynamic programming over the states.

    >>> share_of_members(Dfa.from_regex("a(a|b)*"), 7)
    0.5
    """
    step = np.zeros((dfa.n_states, dfa.n_states))
    for column in dfa.table.T:  # of each symbol, (Q,)
        step[np.arange(dfa.n_states), column] += 1 / dfa.n_symbols
    share = np.eye(dfa.n_states)[dfa.initial_index] @ np.linalg.matrix_power(step, length)  # (Q,)
    return float(share[dfa.is_accepting].sum())


def answers_at(dfa: Dfa, lengths: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Whether there are non-members, and members, of each of these lengths (lengths, 2).

    >>> answers_at(Dfa.from_regex("(ab)*"), [3, 4]).tolist()
    [[True, False], [True, True]]
    """
    states, rows = np.arange(dfa.n_states), []
    reached = states == dfa.initial_index  # (Q,), of the empty word
    for _ in range(max(lengths) + 1):
        rows.append([bool((~dfa.is_accepting[reached]).any()), bool(dfa.is_accepting[reached].any())])
        reached = np.isin(states, dfa.table[reached])
    return np.array(rows)[list(lengths)]  # (lengths, 2)
