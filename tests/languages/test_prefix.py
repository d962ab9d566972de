"""The prefix languages P_{p,k}: answers against slicing, and their sizes."""

from itertools import product

import numpy as np
import pytest

from languages import get
from languages.automata.monoid import TransitionMonoid
from languages.regular.prefix import MAX_STATES, prefix
from tests.languages.oracles import first_symbols

PUBLISHED = [(p, k) for p in (1, 2, 4) for k in (2, 4)]
LONGEST = {2: 9, 4: 5}  # symbols: of every word


@pytest.mark.parametrize(("p", "k"), PUBLISHED)
def test_classes_states_and_answers_of_all_short_words(p: int, k: int) -> None:
    task = prefix(p, k)
    assert task.output_names == (*("".join(word) for word in product("0123"[:k], repeat=p)), "too short")
    assert task.machine.answers("").item() == k**p
    monoid = TransitionMonoid.from_machine(task.machine.minimise())
    assert task.machine.n_states == monoid.size == sum(k**n for n in range(p + 1))
    assert monoid.is_aperiodic
    for length in range(1, LONGEST[k] + 1):
        words = np.array(list(product(range(k), repeat=length)), dtype=np.uint8)
        expected = [first_symbols("".join(map(str, word)), p) for word in words]
        assert [task.output_names[label] for label in task.labels(words)] == expected


def test_the_bound_is_on_the_states() -> None:
    largest = {k: max(p for p in range(1, 9) if sum(k**n for n in range(p + 1)) <= MAX_STATES) for k in (2, 4, 10)}
    assert largest == {2: 8, 4: 4, 10: 2}
    assert [get(f"prefix:p={p},k={k}").machine.n_states for k, p in largest.items()] == [511, 341, 111]
