"""The decision for every length, against running the tree on every short word."""

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import languages
from languages.automata import Dfa, MooreMachine
from languages.convert.json_text import to_json
from languages.errors import UserError
from languages.task import Task
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.forests import states_of
from regulargpt.certificate.checker.induction import induction
from regulargpt.certificate.checker.machine import Machine
from regulargpt.certificate.checker.tables import WindowTable
from regulargpt.certificate.search.codebook import Target
from regulargpt.finite import levels
from regulargpt.finite.levels import TooManyWindows
from regulargpt.finite.proof import Proof, prove
from regulargpt.finite.specification import ForestUses, Specification, specified_machine
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.shape import Side
from tests.regulargpt import reference_levels
from tests.regulargpt.machines import machines, multiplication

PARTS = ("full", "rest", "roots")
SIDES = st.sampled_from(["right", "left"])


@dataclass(frozen=True)
class Synthetic:
    """A quantised network made up by hash: any function of windows is one."""

    seed: int
    K: int
    outputs: int
    aligned: Side = "right"

    def image(self, level: int, rows: np.ndarray) -> np.ndarray:
        # Each window once: with chunks of three there may be a million rows of a few hundred.
        different, which = np.unique(rows, axis=0, return_inverse=True)
        found = np.array([self.one(level, tuple(row)) for row in different.tolist()], dtype=np.int64)
        return found[which.reshape(-1)]

    def one(self, level: int, window: tuple[int, ...]) -> int:
        return 1 + int(np.random.default_rng([self.seed, level > 0, *window]).integers(self.K))

    @property
    def answers(self) -> np.ndarray:
        return np.random.default_rng(self.seed).integers(self.outputs, size=self.K)

    def answer(self, word: tuple[int, ...], C: int) -> int:
        """The tree as section 6.2 describes it, or from the left, one window at a time."""
        nodes = [1 + symbol for symbol in word]
        for level in range(depth(len(word), C)):
            nodes = [self.one(level, window) for window in windows_of_word(nodes, C, self.aligned)]
        return int(self.answers[nodes[0] - 1])


def first_wrong(machine: MooreMachine, network: Synthetic, C: int, longest: int) -> int | None:
    for T in range(1, longest + 1):
        for word in itertools.product(range(2), repeat=T):
            right = machine.answers(np.array([word]))[0]
            if right >= 0 and network.answer(word, C) != right:
                return T
    return None


@settings(max_examples=60)
@given(machines(), st.integers(0, 999), st.integers(1, 3), st.integers(2, 3), SIDES)
def test_the_decision_is_that_of_all_short_words(machine: MooreMachine, seed: int, K: int, C: int, aligned: Side):
    network = Synthetic(seed, K, 2, aligned)
    proof = prove(Specification.of_machine(machine), C, network.image, network.answers, aligned)
    shortest = first_wrong(machine, network, C, 9)
    if proof.wrong is None:
        assert shortest is None
        return
    assert machine.answers(np.array([proof.wrong]))[0] not in (-1, network.answer(proof.wrong, C))
    if shortest is not None or len(proof.wrong) <= 9:
        assert len(proof.wrong) == shortest


def machine_of_checker(machine: MooreMachine) -> Machine:
    return Machine(json.loads(to_json(machine)), "it")


def listed(table: dict[tuple[int, ...], int], C: int) -> WindowTable:
    windows, images = np.array(list(table), dtype=np.int64), np.array(list(table.values()), dtype=np.int64)
    return WindowTable(100, windows.reshape(-1, C), images)


@settings(max_examples=60)
@given(machines(), st.integers(0, 999), st.integers(1, 3), st.integers(2, 3), SIDES)
def test_the_independent_checker_decides_alike(machine: MooreMachine, seed: int, K: int, C: int, aligned: Side):
    network = Synthetic(seed, K, 2, aligned)
    proof = prove(Specification.of_machine(machine), C, network.image, network.answers, aligned)
    tables = []
    for level, size in ((0, 2), (1, K)):
        lengths = (itertools.product(range(1, 1 + size), repeat=n) for n in range(1, C + 1))
        windows = (w + (0,) * (C - len(w)) for w in itertools.chain(*lengths))
        tables.append(listed({w: network.one(level, w) for w in windows}, C))
    arguments = (machine_of_checker(machine), C, *tables, network.answers.tolist(), aligned)
    if proof.holds:
        found = induction(*arguments)
        homomorphism = all(len(functions) == 1 for functions in found.functions.values())
        assert (found.levels, homomorphism, found.roots) == (proof.n_levels, proof.is_homomorphism, len(proof.roots))
        assert {state for state, functions in found.functions.items() if functions} == set(proof.pairs[:, 0].tolist())
    else:
        with pytest.raises(Rejected, match="is the root of words that lead the automaton to"):
            induction(*arguments)


@settings(max_examples=200)
@given(machines(most=4), st.integers(1, 6), st.integers(1, 6))
def test_what_long_spans_answer_or_reach_short_ones_do_too(machine: MooreMachine, span: int, times: int):
    uses, checker = Specification.of_machine(machine).top, machine_of_checker(machine)

    def after(span: int) -> int:
        return checker.top.useful(0, span)[checker.initial]

    def before(span: int) -> int:
        return checker.top.repeated(span)[checker.initial]

    for short, long in itertools.pairwise(span * times**level for level in range(6)):
        assert not (uses.answerable(long) & ~uses.answerable(short)).any()
        answerable, reached = ([states_of(of(n)) for n in (long, short)] for of in (after, before))
        assert answerable[0] <= answerable[1]
        assert answerable[0] == set(np.flatnonzero(uses.answerable(long)).tolist())
        assert reached[0] <= reached[1]
        assert reached[0] == set(np.flatnonzero(uses.reached(long)).tolist())


# Words of odd length whose even places all hold 0 have an answer: which nodes count depends on where they stand.
ODD = MooreMachine(("even", "odd", "no"), "01", ((1, 1), (0, 2), (2, 2)), "even", (-1, 0, -1), ("no", "yes"))


@settings(max_examples=200)
@given(machines(most=4), st.integers(1, 4), SIDES)
@example(ODD, 2, "right")
@example(ODD, 2, "left")
def test_which_nodes_count_is_what_words_of_each_length_say(machine: MooreMachine, span: int, aligned: Side):
    """`before[k]` are the states after words of k symbols, `after[k]` those from which k symbols lead to an answer."""
    rows, states = machine.table.tolist(), range(machine.n_states)
    before, after = [{machine.initial_index}], [{q for q in states if machine.output_table[q] >= 0}]
    for _ in range(16 * span):  # of a multiple of span symbols, all states are there after as many as there are states
        before.append({r for q in before[-1] for r in rows[q]})
        after.append({q for q in states if after[-1] & set(rows[q])})
    multiples, beside = slice(None, None, span), slice(None)
    first, last = (beside, multiples) if aligned == "right" else (multiples, beside)
    starts, ends = set().union(*before[first]), set().union(*after[last])
    specification, checker = Specification.of_machine(machine), machine_of_checker(machine)
    inside, rest = specification.top.can_be_inside(span, aligned), specification.top.can_be_rest(span, aligned)
    for element, f in enumerate(map(tuple, specification.monoid.elements.tolist())):
        expected = any(f[q] in ends for q in starts)
        assert (checker.top.can_be_inside(f, span, aligned), bool(inside[element])) == (expected, expected)
        expected = any(f[q] in after[0] for q in starts) if aligned == "left" else f[machine.initial_index] in ends
        assert (checker.top.can_be_rest(f, span, aligned), bool(rest[element])) == (expected, expected)


@settings(max_examples=200)
@given(machines(most=4), st.integers(1, 4), SIDES)
@example(ODD, 2, "left")
def test_what_is_useful_by_states_is_useful_by_elements(machine: MooreMachine, span: int, aligned: Side):
    """An automaton's elements act on its few states; without these they act on each other, as with brackets."""
    specification = Specification.of_machine(machine)
    by_states, times = specification.top, specification.times
    by_elements = ForestUses(times, times, specification.letters, specification.answers >= 0)
    assert (by_states.can_be_inside(span, aligned) == by_elements.can_be_inside(span, aligned)).all()
    assert (by_states.can_be_rest(span, aligned) == by_elements.can_be_rest(span, aligned)).all()


def pairs(kinds: levels.Kinds) -> set[tuple[int, int]]:
    return set(zip(kinds.states.tolist(), kinds.elements.tolist(), strict=True))


@settings(max_examples=30)
@given(machines(), st.integers(0, 999), st.integers(1, 3), st.integers(2, 3), SIDES)
def test_levels_after_the_repetition_bring_nothing_new(machine: MooreMachine, seed: int, K: int, C: int, aligned: Side):
    specification, network = Specification.of_machine(machine), Synthetic(seed, K, 2, aligned)
    found = list(levels.levels(specification, C, network.image, aligned))
    first = next(i for i in range(1, len(found)) if found[i].key() == found[-1].key())
    level, height = found[-1], len(found) - 1
    for later in range(height + 1, height + 7):
        level = levels.next_level(level, later, C**later, specification.top, C, network.image, aligned)
        then = found[first + 1 + (later - height - 1) % (height - first)]
        for part in PARTS:
            assert pairs(getattr(level, part)) <= pairs(getattr(then, part))


def ideal_network(specification: Specification, aligned: Side = "right"):
    """The network that the monoid itself is."""
    return multiplication(specification.monoid, aligned)


def tables_of(machine: MooreMachine, C: int, aligned: Side) -> tuple[Proof, list[dict[tuple[int, ...], int]]]:
    """The search's proof of the network that the monoid is, and the windows that it asked for, of leaves and nodes."""
    specification, found = Specification.of_machine(machine), [{}, {}]
    network = ideal_network(specification, aligned)

    def image(level: int, rows: np.ndarray) -> np.ndarray:
        images = network(level, rows)
        found[level > 0].update(zip(map(tuple, rows.tolist()), images.tolist(), strict=True))
        return images

    return prove(specification, C, image, np.maximum(specification.answers, 0), aligned), found


@settings(max_examples=200)
@given(machines(), st.integers(2, 3), SIDES)
@example(ODD, 2, "right")
@example(ODD, 2, "left")
def test_the_checker_asks_for_exactly_the_windows_that_the_search_asks_for(
    machine: MooreMachine, C: int, aligned: Side
):
    specification = Specification.of_machine(machine)
    C = C if specification.monoid.size <= 8 else 2  # windows in thousands, not more
    proof, found = tables_of(machine, C, aligned)
    answers = [None if answer < 0 else answer for answer in specification.answers.tolist()]
    checker = machine_of_checker(machine)
    checked = induction(checker, C, *(listed(table, C) for table in found), answers, aligned)
    assert (checked.levels, checked.roots) == (proof.n_levels, len(proof.roots))
    assert checked.answered == int((specification.answers[proof.roots[:, 1]] >= 0).sum())
    functions = [tuple(row) for row in specification.monoid.elements.tolist()]
    kinds = {(state, f) for state, fs in checked.functions.items() for f in fs}
    assert kinds == {(state, functions[element]) for state, element in proof.pairs.tolist()}
    for part, rows in enumerate(found):
        for window in list(rows)[:: 1 + len(rows) // 4]:
            less = [dict(table) for table in found]
            del less[part][window]
            with pytest.raises(Rejected, match="is not in the table"):
                induction(checker, C, *(listed(table, C) for table in less), answers, aligned)


@settings(max_examples=40)
@given(machines(), st.integers(2, 3), SIDES)
@example(ODD, 2, "right")
@example(ODD, 2, "left")
def test_no_word_with_an_answer_has_a_window_that_was_not_asked_for(machine: MooreMachine, C: int, aligned: Side):
    C = C if Specification.of_machine(machine).monoid.size <= 8 else 2
    _, found = tables_of(machine, C, aligned)
    for T in range(1, 9):
        words = np.array(list(itertools.product(range(2), repeat=T)))
        for word in words[machine.answers(words) >= 0].tolist():
            nodes = [1 + symbol for symbol in word]
            for level in range(depth(T, C)):
                table, cut = found[level > 0], windows_of_word(nodes, C, aligned)
                assert set(cut) <= set(table)
                nodes = [table[window] for window in cut]


def windows_of_word(nodes: list[int], C: int, aligned: Side) -> list[tuple[int, ...]]:
    """The windows of a level by offset, from the left to the right."""
    absent = [0] * (-len(nodes) % C)
    nodes = absent + nodes if aligned == "right" else nodes + absent
    cut = [tuple(nodes[i : i + C]) for i in range(0, len(nodes), C)]
    return [window[::-1] for window in cut] if aligned == "right" else cut


SPECS = ["parity", "even-pairs", "cycle-navigation", "tomita-3", "dyck-3", "aa-star", "symmetric-3", "flip-flop"]


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("spec", [*SPECS, "modular-arithmetic:modulus=2", "modular-arithmetic:modulus=3,plus=true"])
def test_the_monoid_itself_is_proven_and_a_wrong_answer_is_found(spec: str, C: int):
    specification = Specification.from_task(languages.get(spec))
    answers = np.maximum(specification.answers, 0)
    proof = prove(specification, C, ideal_network(specification), answers)
    assert proof.holds
    assert proof.is_homomorphism
    for state, element in proof.pairs.tolist():
        if specification.answers[element] < 0:
            continue
        flipped = answers.copy()
        flipped[state - 1] = (flipped[state - 1] + 1) % len(specification.machine.output_names)
        wrong = prove(specification, C, ideal_network(specification), flipped).wrong
        # A kind of node that is never a root has no answer to give.
        assert wrong is None or specification.monoid.of_word(np.array(wrong)) == element


def test_the_size_of_modular_arithmetic_is_that_of_section_4_of_the_protocols():
    target = Target.from_specification(Specification.from_task(languages.get("modular-arithmetic:plus=true")), 2)
    occurring = np.unique(np.concatenate([target.symbol_products, target.products]))
    assert len(occurring) == 129
    # All pairs, and alone at the left end, with the pad, the 25 that a word can begin with.
    assert len(target.windows) == 129**2 + 25


def test_words_outside_the_domain_are_not_asked():
    task = languages.get("modular-arithmetic:plus=true")
    machine = specified_machine(task)
    for word in itertools.product(range(task.n_symbols), repeat=3):
        answer = machine.answers(np.array([word]))[0]
        inside = task.domain is not None and task.domain.accepts(np.array([word]))[0]
        assert answer == (task.labels(np.array([word]))[0] if inside else -1)


def test_a_task_whose_words_have_even_length_only_leaves_odd_ones_out():
    even = Dfa(("even", "odd"), "ab", ((1, 1), (0, 0)), "even", {"even"})
    count_a = MooreMachine(("0", "1"), "ab", ((1, 0), (0, 1)), "0", (0, 1), ("even a", "odd a"))
    specification = Specification.from_task(Task("even", count_a, "", "", (), domain=even))
    # From the level of two symbols on, full nodes have even length; so have left ones that can begin a word.
    for level in itertools.islice(levels.levels(specification, 2, ideal_network(specification)), 1, None):
        for kinds in (level.full, level.rest):
            assert all(len(specification.monoid.words[e]) % 2 == 0 for e in kinds.elements)


@settings(max_examples=100)
@given(machines(), st.integers(0, 999), st.integers(1, 3), st.integers(2, 4), SIDES, st.integers(1, 40))
@example(ODD, 0, 2, 2, "right", 1)
@example(ODD, 0, 2, 2, "left", 3)
def test_slices_give_the_levels_of_all_windows_at_once(
    machine: MooreMachine, seed: int, K: int, C: int, aligned: Side, size: int
):
    specification = Specification.of_machine(machine)
    C = C if specification.monoid.size * K <= 6 else 2
    assert_slices_give_all(specification, C, Synthetic(seed, K, 2, aligned), aligned, size)


@pytest.mark.parametrize("aligned", ["right", "left"])
def test_slices_give_the_levels_of_all_machines_of_two_states(aligned: Side):
    pairs_of_two = list(itertools.product(range(2), repeat=2))
    for rows in itertools.product(pairs_of_two, repeat=2):
        for outputs in ((0, 1), (-1, 1), (1, -1)):  # all others that say anything are these by other names
            machine = MooreMachine(("q0", "q1"), "01", rows, "q0", outputs, ("no", "yes"))
            assert_slices_give_all(Specification.of_machine(machine), 2, Synthetic(1, 2, 2, aligned), aligned, 3)


Found = tuple[list[levels.Level], Proof, list[set[tuple[int, ...]]]]


def followed(specification: Specification, C: int, network: Synthetic, aligned: Side, **patched: object) -> Found:
    """The levels, the proof, and the windows of leaves and nodes that were asked for, with parts of `levels` other."""
    asked: list[set[tuple[int, ...]]] = [set(), set()]

    def image(level: int, rows: np.ndarray) -> np.ndarray:
        asked[level > 0].update(map(tuple, rows.tolist()))
        return network.image(level, rows)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in patched.items():
            patch.setattr(levels, name, value)
        found = list(levels.levels(specification, C, image, aligned))
        return found, prove(specification, C, image, network.answers, aligned), asked


def assert_slices_give_all(specification: Specification, C: int, network: Synthetic, aligned: Side, size: int) -> None:
    whole = followed(specification, C, network, aligned, next_level=reference_levels.next_level)
    assert_same_proofs(followed(specification, C, network, aligned, SLICE=size), whole)


def assert_same_proofs(found: Found, expected: Found) -> None:
    (mine, proof, asked), (theirs, expected_proof, expected_asked) = found, expected
    assert asked == expected_asked
    assert len(mine) == len(theirs)
    for level, other in zip(mine, theirs, strict=True):
        for part, name in itertools.product(PARTS, ("states", "elements", "lengths", "children")):
            np.testing.assert_array_equal(*(getattr(getattr(of, part), name) for of in (level, other)))
    assert (proof.n_levels, proof.wrong) == (expected_proof.n_levels, expected_proof.wrong)
    np.testing.assert_array_equal(proof.pairs, expected_proof.pairs)
    np.testing.assert_array_equal(proof.roots, expected_proof.roots)


@pytest.mark.parametrize("aligned", ["right", "left"])
@pytest.mark.parametrize("spec", ["modular-arithmetic:modulus=2,plus=true", "dyck-3", "tomita-3"])
def test_windows_are_counted_before_they_are_made(spec: str, aligned: Side, monkeypatch: pytest.MonkeyPatch):
    specification = Specification.from_task(languages.get(spec))
    for height, level in enumerate(levels.levels(specification, 3, ideal_network(specification, aligned), aligned)):
        windows = levels.Windows.over(level, 3 ** (height + 1), specification.top, 3, aligned)
        count = max(sum(len(kept) for kept in windows.kept(n)) for n in (1, 2, 3))
        message = rf"{count:,} windows of \d nodes at level {height}: too many to look at"
        with monkeypatch.context() as patch:
            patch.setattr(levels, "MAX_WINDOWS", count)
            windows.check_count(height)
            patch.setattr(levels, "MAX_WINDOWS", count - 1)
            with pytest.raises(UserError, match=message):
                windows.check_count(height)


def test_too_many_windows_are_refused_in_one_line():
    specification = Specification.from_task(languages.get("symmetric-5"))
    with pytest.raises(UserError, match=r"windows of 5 nodes at level \d: too many to look at"):
        prove(specification, 5, ideal_network(specification), specification.answers)


def test_a_proof_names_homomorphism_only_where_each_state_has_one_element():
    roots = np.zeros((0, 2), dtype=np.int64)
    assert Proof(1, np.array([[1, 0], [2, 1]]), roots, None).is_homomorphism
    assert not Proof(1, np.array([[1, 0], [1, 1]]), roots, None).is_homomorphism


@pytest.mark.parametrize(
    ("height", "length"), [(40, f"{2**40 + 2**40 % 101:,}"), (70, f"{2**56:,} or more"), (None, "")]
)
def test_a_wrong_word_too_long_to_be_written_out_is_told_by_its_length(height: int | None, length: str):
    """Words over one symbol by their length modulo 101: level h has one full node, of 2^h symbols, for 100 levels."""
    after = [[(q + 1) % 101] for q in range(101)]
    machine = MooreMachine([f"q{q}" for q in range(101)], ["a"], after, "q0", [1, *[0] * 100], ["no", "yes"])
    specification = Specification.of_machine(machine)

    def image(level: int, windows: np.ndarray) -> np.ndarray:
        residues = (windows > 0).sum(1) if level == 0 else np.where(windows > 0, windows - 1, 0).sum(1) % 101
        wrong = False if height is None else (windows == 1 + pow(2, height, 101)).all(1) & (level > 0)
        return np.where(wrong, 102, 1 + residues)

    answers = np.array([1, *[0] * 100, 2])  # of each residue, and none of the automaton's
    if height is None:
        assert prove(specification, 2, image, answers).holds
        return
    with pytest.raises(TooManyWindows, match=f"errs has {length} symbols, too many to write out"):
        prove(specification, 2, image, answers)
