"""The algebra learned from questions: that of the machine, with as few counter-examples as promised."""

import numpy as np
import pytest
from hypothesis import given, settings

from languages.automata.algebra import NestedAlgebra
from languages.automata.visibly import VisiblyPushdown
from regulargpt.finite.lstar import Unbounded, by_length
from regulargpt.finite.nested_lstar import NestedLearner
from tests.languages.test_context_free import nested
from tests.languages.test_pushdown import machines

NAMES = ["brackets-1", "brackets-2", "brackets-1:bound=3", "xml-2", "reversal-2", "json", "formula"]


def learned(visibly, most=400):
    """The learner when a search for a difference between its machine and this one comes to nothing, and its rounds."""
    machine, rounds = visibly.machine, 0
    learner = NestedLearner(visibly.direction, lambda words: by_length(machine.answers, words), most)
    while True:
        guess = VisiblyPushdown.from_machine(learner.machine(machine.alphabet, machine.output_names))
        if (word := visibly.counterexample(guess)) is None:
            return learner, guess, rounds
        learner.refine(tuple(machine.encode(word).tolist()))
        rounds += 1


def assert_promises(visibly):
    learner, guess, rounds = learned(visibly)
    size = len(learner.words)
    assert rounds <= size - 1 or rounds == 0
    # Each counter-example brings a context at least: a table of elements by elements, calls and returns, letters.
    calls, returns = len(visibly.calls), len(visibly.returns)
    contexts = 4 + rounds
    assert len(learner.known) <= contexts * (size * (size + 1 + calls * returns) + len(visibly.direction)) + 40 * rounds
    # Two representatives of one kind are told apart by a context that is known.
    rows = learner.rows(learner.words, learner.flags)
    assert len(set(rows)) == size
    # Many words at once are read as one is, step by step.
    words = np.random.default_rng(size).integers(len(visibly.direction), size=(50, 9))
    assert learner.proposed(words).tolist() == guess.machine.answers(words).tolist()
    read = [learner.hypothesis.answers[learner.steps(tuple(word))[-1][0]] for word in words.tolist()]
    assert learner.proposed(words).tolist() == read
    return guess, size


@pytest.mark.parametrize("name", NAMES)
def test_families(name):
    guess, size = assert_promises(nested(name).visibly)
    minimal = NestedAlgebra.from_machine(nested(name).visibly).minimal()
    assert NestedAlgebra.from_machine(guess).minimal().size == minimal.size >= size


@settings(max_examples=6)
@given(machines())
def test_random_machines(machine):
    assert_promises(VisiblyPushdown.from_machine(machine))


def test_arithmetic_is_learned_from_words_of_ten_symbols():
    learner, guess, rounds = learned(nested("arithmetic-brackets").visibly)
    assert (len(learner.words), rounds) == (55, 8)
    assert max(map(len, learner.known)) == 10
    assert NestedAlgebra.from_machine(guess).minimal().size == 121


def test_what_has_too_many_elements_ends():
    """The depth mod 50 of what is open has fifty elements."""

    def open_brackets(words):
        return [sum(1 - 2 * symbol for symbol in word) % 50 for word in words]

    learner = NestedLearner([1, -1], open_brackets, most_elements=6)
    with pytest.raises(Unbounded):
        learner.hypothesis  # noqa: B018


def test_a_word_that_is_answered_rightly_teaches_nothing():
    visibly = nested("brackets-1").visibly
    learner = NestedLearner(visibly.direction, lambda words: by_length(visibly.machine.answers, words), 20)
    with pytest.raises(AssertionError, match="no counter-example"):
        learner.refine((0, 1))
