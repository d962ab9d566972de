"""The decision for every length and depth, against running the tree on every short word."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from languages.automata.algebra import NestedAlgebra
from languages.automata.visibly import VisiblyPushdown
from languages.randomness import rng
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.finite.nested_specification import NestedSpecification
from tests.languages.test_context_free import nested
from tests.languages.test_pushdown import machines
from tests.regulargpt.nested_tables import TableTree, prove_nested

SHAPES = [(2, "right"), (2, "left"), (3, "right"), (4, "right")]


class Synthetic:
    """A quantised network made up by hash: any function of windows is one."""

    def __init__(self, seed, K):
        self.seed, self.K, self.asked = seed, K, set()
        self.answers = np.random.default_rng(seed).integers(2, size=K)
        self.one = cache(lambda window: 1 + int(np.random.default_rng([seed, *window]).integers(K)))

    def image(self, windows):
        different, which = np.unique(windows, axis=0, return_inverse=True)
        asked = [tuple(window) for window in different.tolist()]
        self.asked.update(asked)
        return np.array([self.one(window) for window in asked], dtype=np.int64)[which.reshape(-1)]  # (n,)


@settings(max_examples=30)
@given(machines(), st.integers(0, 999), st.integers(1, 3), st.sampled_from(SHAPES[:3]))
def test_the_decision_is_that_of_all_short_words(machine, seed, K, shape):
    K = min(K, 4 - shape[0])  # or windows of three are too many to make up
    visibly, network, specification = (
        VisiblyPushdown.from_machine(machine),
        Synthetic(seed, K),
        NestedSpecification.of_machine(machine),
    )
    assume(specification.size <= (160 if shape[0] == 2 else 30))  # or there are millions of windows
    proof = prove_nested(specification, shape[0], K, network.image, network.answers, shape[1])
    tree = TableTree(network.one, 1 + K, visibly.direction.tolist(), *shape)

    def is_wrong(word):
        right = int(machine.answers(np.array([word]))[0])
        return right >= 0 and int(network.answers[tree.root(word) - 1]) != right

    wrong = 0
    for T in range(1, 6):
        words = np.array(list(itertools.product(range(machine.n_symbols), repeat=T)))
        for word in words[machine.answers(words) >= 0].tolist():
            wrong += is_wrong(word)
    # All windows of questions were looked at: nothing that occurs is left out.
    assert tree.windows <= network.asked
    assert not (wrong and proof.holds)
    if not proof.holds:
        assert is_wrong(proof.wrong)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["brackets-2", "formula", "json", "arithmetic-brackets", "brackets-1:bound=2"])
def test_labels_are_a_network_that_makes_no_mistake(name, shape):
    task = nested(name)
    specification = NestedSpecification.from_task(task)
    labels = Labels(specification, *shape)
    proof = prove_nested(specification, shape[0], labels.count, labels.image, labels.answers, shape[1])
    assert proof.holds
    tree = TableTree(lambda window: int(labels.image(np.array([window]))[0]), 1 + labels.count,
                     task.visibly.direction.tolist(), *shape)  # fmt: skip
    for number, length in enumerate((1, 5, 13, 31)):
        for word in task.sample(rng(0, "labels", number), length=length, count=6) if task.has_length(length) else ():
            element = specification.algebra.of_word(word)
            assert labels.elements[tree.root(word.tolist()) - 1] == element
    # Each word's windows are among those that the proof went through: a table may be made of them.
    assert NestedAlgebra.from_machine(task.visibly).size >= specification.size


@settings(max_examples=40)
@given(
    st.sampled_from(["brackets-2", "formula", "brackets-1:bound=2", "json"]),
    st.sampled_from(SHAPES[:3]),
    st.integers(0, 10**6),
)
def test_a_network_with_one_window_wrong_is_refused_with_a_word_that_it_has_wrong(name, shape, choice):
    task, asked = nested(name), list[tuple[int, ...]]()
    specification = NestedSpecification.from_task(task)
    labels = Labels(specification, *shape)

    def noted(windows):
        asked.extend(map(tuple, windows.tolist()))
        return labels.image(windows)

    prove_nested(specification, shape[0], labels.count, noted, labels.answers, shape[1])
    different = sorted(set(asked))
    window = different[choice % len(different)]
    right = int(labels.image(np.array([window]))[0])
    wrong = 1 + (right + choice // len(different) % (labels.count - 1)) % labels.count

    def image(windows):
        return np.where((windows == window).all(1), wrong, labels.image(windows))

    def answer(word):
        tree = TableTree(
            lambda w: int(image(np.array([w]))[0]), 1 + labels.count, task.visibly.direction.tolist(), *shape
        )
        return int(labels.answers[tree.root(word) - 1])

    proof = prove_nested(specification, shape[0], labels.count, image, labels.answers, shape[1])
    if not proof.holds:
        assert answer(proof.wrong) != task.machine.answers(np.array([proof.wrong]))[0] != -1
        return
    # The other label is as good: all short words are answered as before.
    for word in itertools.chain.from_iterable(itertools.product(range(task.n_symbols), repeat=T) for T in (1, 2, 3)):
        right_answer = int(task.machine.answers(np.array([word]))[0])
        assert right_answer in (-1, answer(word))
