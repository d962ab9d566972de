"""Extraction: L* and its exact teacher on tables that are known, clusters against scikit-learn, blind codebooks."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.errors import UserError
from regulargpt.extraction import clusters
from regulargpt.extraction.blind import Blind, every_word
from regulargpt.extraction.dendrogram import Dendrogram
from regulargpt.extraction.recurrent import ClusterAutomaton, SymbolStep, closure
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.learn import Teacher, learn, short_words
from regulargpt.finite.levels import MAX_WINDOWS
from regulargpt.finite.nonempty import answer_to_empty_word, counterexample, smallest_machine
from regulargpt.finite.specification import Specification, specified_machine
from regulargpt.finite.table import nearest_two
from regulargpt.finite.trees import roots, states
from regulargpt.models.gru import Gru
from regulargpt.models.lstm import Lstm
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.rnn import Rnn
from tests.regulargpt.machines import machines, multiplication

LANGUAGES = [
    *("parity", "even-pairs", "cycle-navigation", "dyck-2", "dyck-3", "abab-star", "flip-flop", "cyclic-6"),
    *("symmetric-3", "modular-arithmetic:plus=true", *(f"tomita-{n}" for n in range(1, 8))),
]


def teacher_of(machine: MooreMachine, chunk_size: int, domain=None) -> Teacher:
    monoid = TransitionMonoid.from_machine(machine)
    at = np.maximum(machine.output_table[monoid.elements[:, machine.initial_index].astype(np.int64)], 0)
    return Teacher(machine.alphabet, machine.output_names, chunk_size, multiplication(monoid), at, domain)


def learnt(*arguments: Any, **options: Any) -> Any:
    """What `learn` found, its machine not None until shown."""
    return learn(*arguments, **options)


@pytest.mark.parametrize(
    ("name", "chunk_size"),
    # Modular arithmetic has too many windows of three nodes.
    [(name, C) for name in LANGUAGES for C in (2, 3) if (name, C) != ("modular-arithmetic:plus=true", 3)],
)
def test_of_a_table_that_multiplies_the_minimal_machine_comes_back(name: str, chunk_size: int):
    task = languages.get(name)
    specification = Specification.from_task(task)
    teacher = teacher_of(specification.machine, chunk_size, task.domain)
    found = learnt(teacher, empty=answer_to_empty_word(task))
    assert found.proven, found.reason
    assert found.machine == specified_machine(task) or (
        # The empty word's answer is nobody's: a state that only it needs is not there.
        counterexample(found.machine, specified_machine(task)) is None
        and found.machine.n_states < specified_machine(task).n_states
    )


@given(machines(4, symbols=(1, 2), outputs=(1, 2, 3), least=0), st.integers(2, 4))
@settings(max_examples=60)
def test_of_any_small_machine_the_minimal_one_comes_back(machine: MooreMachine, chunk_size: int):
    assume(TransitionMonoid.from_machine(machine).size ** chunk_size <= MAX_WINDOWS // 4)
    found = learnt(teacher_of(machine, chunk_size), empty=machine.outputs[0])
    assert found.proven
    assert counterexample(found.machine, machine) is None
    assert found.machine.n_states <= machine.minimise().n_states


def arbitrary(seed: int, n_prototypes: int, chunk_size: int):
    """A table without any law."""
    random = np.random.Generator(np.random.SFC64(seed))
    shape = [random.integers(1, n_prototypes + 1, (1 + n,) * chunk_size) for n in (2, n_prototypes)]
    at = random.integers(0, 2, n_prototypes)
    return (lambda level, windows: shape[min(level, 1)][tuple(windows.T)]), at


def test_what_a_table_without_law_computes_is_extracted_or_said_to_be_no_small_machine():
    proven = 0
    for seed in range(60):
        chunk_size, n_prototypes = 2 + seed % 2, 2 + seed % 3
        image, at = arbitrary(seed, n_prototypes, chunk_size)
        found = learnt(Teacher(("0", "1"), ("reject", "accept"), chunk_size, image, at), most_states=24)
        if found.machine is None:
            assert found.reason == "no machine of at most 24 states is the quantised network's language"
            continue
        for length in range(1, 11):
            words = np.array(list(product((0, 1), repeat=length)))
            answered = at[roots(chunk_size, image, words) - 1]
            assert (found.machine.answers(words) == answered).all(), (seed, length)
        proven += found.proven
    assert 5 <= proven < 60


def test_one_wrong_entry_gives_the_machine_of_the_wrong_table():
    right = teacher_of(languages.get("parity").machine, 2)

    def image(level: int, windows: np.ndarray) -> np.ndarray:
        both_odd = (windows == 2).all(1) if level else np.zeros(len(windows), dtype=bool)
        return np.where(both_odd, 2, right.image(level, windows))

    teacher = Teacher(right.alphabet, right.output_names, 2, image, right.at_prototypes)
    found = learnt(teacher)
    assert (found.proven, found.machine.n_states) == (True, 5)
    assert counterexample(found.machine, languages.get("parity").machine) == (1, 0, 1)
    for words in short_words(2):
        assert (found.machine.answers(words) == teacher.answers(words)).all()
    assert learn(teacher, most_states=4).machine is None


def test_a_proof_that_is_too_large_is_not_claimed(monkeypatch):
    monkeypatch.setattr("regulargpt.finite.learn.MAX_ELEMENTS", 3)
    found = learnt(teacher_of(languages.get("cycle-navigation").machine, 2))
    assert not found.proven
    assert found.machine.n_states == 5
    assert found.reason.startswith("right on every word that was looked at, but not proven: the transition monoid")


def test_short_words_are_all_words():
    assert [words.shape for words in short_words(3, 30)] == [(3, 1), (9, 2), (27, 3)]
    assert [words.shape for words in short_words(40, 30)] == [(40, 1)]


def test_the_empty_words_answer_is_the_convention_where_it_makes_no_difference():
    table, colours = np.array([[1, 1], [1, 1]]), np.array([-2, 1])
    assert smallest_machine(table, colours, ("a", "b"), ("x", "y")).outputs == (1,)
    table, colours = np.array([[1, 2], [1, 1], [2, 2]]), np.array([-2, 0, 1])
    assert smallest_machine(table, colours, ("a", "b"), ("x", "y")).outputs[0] == 0
    assert smallest_machine(table, colours, ("a", "b"), ("x", "y"), empty=1).outputs[0] == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("linkage", ["single", "average"])
def test_a_cut_of_the_merges_is_what_scikit_learn_cuts(seed: int, linkage: Any):
    random = np.random.default_rng(seed)
    points = random.normal(size=(60, 3)) + 6 * random.integers(0, 3, (60, 3))
    tree = Dendrogram.from_states(points, linkage)
    for cut in (0.3, 1.0, 2.0, 4.0):
        label = tree.labels(1 + int((tree.heights > cut).sum()))
        single: Any = AgglomerativeClustering
        oracle = single(n_clusters=None, distance_threshold=cut, linkage=linkage).fit(points).labels_
        assert len(set(zip(label, oracle, strict=True))) == len(set(label)) == len(set(oracle))
        # Numbered by first rows.
        assert list(dict.fromkeys(label.tolist())) == list(range(len(set(label))))


def test_states_that_are_all_one_are_one_cluster():
    [cut] = clusters.cuts(torch.ones(5, 3, dtype=torch.float64))
    assert (cut.means.tolist(), cut.rho > 0) == ([[1.0, 1.0, 1.0]], True)


def network_of(machine: MooreMachine, chunk_size: int, blur: float, copies: int = 1) -> Any:
    """What a well trained network is: near one of `copies` points of the element, wherever its children are exactly.

    A node's point depends on its leftmost child, so that an element has several clusters.
    """
    monoid = TransitionMonoid.from_machine(machine)
    image = multiplication(monoid)
    generator = torch.Generator().manual_seed(7)
    points = 10 * torch.eye(monoid.size * copies, dtype=torch.float64)
    at = machine.output_table[monoid.elements[:, machine.initial_index].astype(np.int64)].repeat(copies)

    def placed(elements: np.ndarray, windows: np.ndarray) -> torch.Tensor:
        which = torch.from_numpy((elements - 1) * copies + windows.sum(1) % copies)
        noise = torch.rand(len(which), points.shape[1], generator=generator, dtype=torch.float64) - 0.5
        return points[which] + blur * noise

    def nearest(states: torch.Tensor) -> np.ndarray:
        return nearest_two(states, points)[1][:, 0].numpy()

    def over(states: torch.Tensor, windows: np.ndarray) -> torch.Tensor:
        elements = np.append(0, 1 + nearest(states) // copies)
        return placed(image(1, elements[windows]), elements[windows])

    return SimpleNamespace(
        chunk_size=chunk_size,
        aligned="right",
        symbols=torch.zeros(1 + machine.n_symbols, points.shape[1], dtype=torch.float64),
        beside=torch.zeros(0, points.shape[1], dtype=torch.float64),
        over=over,
        over_symbols=lambda windows: placed(image(0, windows), windows),
        readout=lambda states: torch.nn.functional.one_hot(torch.from_numpy(at[nearest(states)]), 8).double(),
    )


def words_of(task, count: int = 8) -> list[np.ndarray]:
    return [task.sample(languages.rng(0, "test", T), T, count).astype(np.int64) for T in task.lengths(1, 20)]


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize(("name", "chunk_size"), [("parity", 2), ("parity", 3), ("tomita-3", 2), ("symmetric-3", 2)])
def test_a_blind_codebook_finds_the_points_and_the_machine(name: str, chunk_size: int, copies: int):
    task = languages.get(name)
    network = network_of(task.machine.minimise(), chunk_size, blur=0.3, copies=copies)
    blind = Blind.quantise(network, every_word(task.alphabet), words_of(task))
    size = TransitionMonoid.from_machine(task.machine.minimise()).size
    assert (blind.agreement, blind.n_prototypes <= size * copies) == (1.0, True)
    answers = blind.table.answers()[0]
    teacher = Teacher(task.alphabet, task.output_names, chunk_size, blind.table.image, answers, task.domain)
    found = learnt(teacher, words_of(task), empty=answer_to_empty_word(task))
    assert found.proven
    assert counterexample(found.machine, task.machine) is None


def test_states_everywhere_are_refused():
    task = languages.get("symmetric-3")
    network = network_of(task.machine, 2, blur=60.0)
    with pytest.raises(UserError, match="the states do not lie near 8 points or fewer"):
        Blind.quantise(network, every_word(task.alphabet), words_of(task), max_prototypes=8)


def test_the_states_of_a_tree_are_the_models_own():
    model = RegularGPT(2, 3, chunk_size=3, d_model=16, n_heads=2, d_ff=32)
    network = Float64Network(model)
    for length in (1, 2, 3, 4, 9, 10):
        words = np.array(list(product((0, 1), repeat=length))[:40])
        _, at_roots = states(network, words)
        torch.testing.assert_close(network.readout(at_roots), network.model(torch.from_numpy(words)).detach())


@pytest.mark.parametrize("model", [Rnn(2, 3, d_model=8), Gru(2, 3, d_model=8, n_layers=2), Lstm(2, 3, d_model=8)])
def test_a_step_after_the_other_is_the_model(model):
    words = np.array(list(product((0, 1), repeat=5)))
    step = SymbolStep(model)
    with torch.no_grad():
        expected = step.model(torch.from_numpy(words), readout="all")
    along = step.along(words)
    torch.testing.assert_close(step.readout(along.flatten(0, 1)).unflatten(0, expected.shape[:2]), expected)


def parity_rnn() -> Rnn:
    """An RNN of two units: h_1 holds parity by h' = ReLU(x + h - 2 y), y' = ReLU(x + h - 1)."""
    model = Rnn(2, 2, d_model=2)
    rnn = {"weight_ih_l0": [[0, 1], [0, 1]], "weight_hh_l0": [[1, -2], [1, -2]], "bias_ih_l0": [0, -1]}
    readout = {"readout.weight": [[-1, 2], [1, -2]], "readout.bias": [0.5, -0.5]}
    for name, values in ({f"rnn.{name}": values for name, values in rnn.items()} | readout).items():
        model.get_parameter(name).data = torch.tensor(values, dtype=torch.float32)
    model.rnn.bias_hh_l0.data.zero_()
    return model


@pytest.mark.parametrize("has_clusters", [True, False])
def test_a_recurrent_network_that_is_an_automaton_gives_it(monkeypatch: pytest.MonkeyPatch, has_clusters: bool):
    """x + h counts to 2 at most; h - 2 y is the parity of what was read. Without clusters balls cover the states."""
    if not has_clusters:
        monkeypatch.setattr("regulargpt.extraction.recurrent.cuts", lambda states: [])
    task = languages.get("parity")
    automaton = ClusterAutomaton.fit(SymbolStep(parity_rnn()), words_of(task))
    assert automaton.agreement == 1.0
    assert has_clusters or (automaton.cut.below, len(automaton.prototypes)) == (0.0, 3)
    assert automaton.machine(task) == task.machine.minimise()


def test_a_recurrent_network_that_counts_is_covered_by_no_small_balls():
    model = parity_rnn()
    model.rnn.weight_hh_l0.data = torch.eye(2)
    step = SymbolStep(model)
    with pytest.raises(UserError, match="the states do not lie near 50 points or fewer"):
        closure(step, clusters.Cut(0.0, 0.5, step.initial()), max_prototypes=50)
