"""Exact construction: the lemma as printed, both representations against the machine, and what rounding does."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import languages
from languages import Dfa, TransitionMonoid, UserError, rng
from languages.regular.user import task_of
from languages.task import Task
from regulargpt.construct.configuration import check, configuration
from regulargpt.construct.lemma import product, w1, w2
from regulargpt.construct.matrix import flat, matrix
from regulargpt.construct.one_hot import one_hot
from regulargpt.construct.plan import MAX_BYTES, REPRESENTATIONS, model_config, plan
from regulargpt.construct.weights import constructed
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs.load import load_model
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder

LANGUAGES = [
    *("parity", "even-pairs", "cycle-navigation", *(f"tomita-{n}" for n in range(1, 8)), "dyck-2", "symmetric-3"),
    *("aa-star", "flip-flop", "regex:(ab)*", "regex:a*;alphabet=a"),
]
CASES = [(name, way, C) for name in LANGUAGES for way in REPRESENTATIONS for C in (2, 3)]
TINY = [(name, way, 4) for name in ("parity", "aa-star", "flip-flop", "tomita-2") for way in REPRESENTATIONS]
FITS = [(*case, plan(languages.get(case[0]).machine.minimise(), case[2], case[1])) for case in CASES + TINY]
FITS = [(name, way, C) for name, way, C, found in FITS if found.bytes <= MAX_BYTES // 8]


@cache
def task(name: str) -> Task:
    return languages.get(name)


@cache
def model(name: str, representation: str, chunk_size: int) -> RegularGPT:
    return build(task(name), representation, chunk_size)


def build(task: Task, representation: str, chunk_size: int) -> RegularGPT:
    return constructed(model_config(task, chunk_size, representation), task, representation).eval()


def all_words(n_symbols: int, length: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product(range(n_symbols), repeat=length)))


@torch.no_grad()
def assert_answers(found: RegularGPT, task: Task, words: torch.Tensor) -> None:
    """Right wherever the machine has an answer: at the last position by the tree, at all by `every`."""
    last, every = found(words), found(words, readout="all")
    labels = torch.from_numpy(task.labels(words.numpy(), every=True))
    asked = labels >= 0
    assert torch.isfinite(every).all()
    assert (every.argmax(-1) == labels)[asked].all()
    assert (last.argmax(-1) == labels[:, -1])[asked[:, -1]].all()
    right = F.one_hot(labels.clamp(min=0), task.n_outputs)
    assert (every - (1 - 2.0 * right) * -1)[asked].abs().max() < 1e-5  # +1 for the answer, -1 for the others


def test_the_weights_that_the_thesis_prints():
    rows = ["10100000", "01010000", "00001010", "00000101", "10001000", "00100010", "01000100", "00010001"]
    assert w1(2).tolist() == [[int(number) for number in row] for row in rows]
    assert w2(2).tolist() == [[int(unit // 2 == entry) for entry in range(4)] for unit in range(8)]


def test_the_worked_example_of_the_thesis():
    a, b = np.array([[1, 0], [1, 0]]), np.array([[0, 1], [1, 0]])
    x = np.concatenate([a.ravel(), b.ravel()])
    assert x.tolist() == [1, 0, 1, 0, 0, 1, 1, 0]
    assert (x @ w1(2)).tolist() == [1, 1, 2, 0, 1, 1, 2, 0]
    assert np.maximum(x @ w1(2) - 1, 0).tolist() == [0, 0, 1, 0, 0, 0, 1, 0]
    assert product(a, b).tolist() == (a @ b).tolist() == [[0, 1], [0, 1]]


@given(st.integers(1, 5), st.integers(0, 2**31))
def test_the_lemma_multiplies_all_binary_matrices(n: int, seed: int):
    a, b = rng(seed, "lemma").integers(0, 2, (2, n, n))
    assert (product(a, b) == a @ b).all()


def test_the_lemma_alone_passes_errors_on():
    """The constructed block does not: `test_a_ball_around_the_children_goes_to_the_exact_composition`."""
    error, shift = 0.01, np.eye(3)[[1, 2, 0]]
    assert np.abs(product(shift + error, shift + error) - shift @ shift).max() > 1.9 * error


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_paths_of_the_matrix_representation_are_the_units_of_the_lemma(n: int):
    machine = Dfa(tuple(map(str, range(n))), "a", tuple((q,) for q in range(n)), "0", set()).as_moore()
    found = matrix(machine, 2)
    slots = np.zeros((2, n * n, n**3))
    slots[1, found.reads[:, 0], np.arange(n**3)] = 1  # B is the child at offset 0
    slots[0, found.reads[:, 1], np.arange(n**3)] = 1
    assert (slots.reshape(2 * n * n, -1) == w1(n)).all()
    assert (np.eye(n * n)[found.writes] == w2(n)).all()


@pytest.mark.parametrize("name", ["parity", "tomita-2", "flip-flop", "dyck-1"])
@pytest.mark.parametrize("C", [2, 3])
def test_representations_compose_every_tuple_of_transitions(name: str, C: int):
    machine = task(name).machine.minimise()
    monoid = TransitionMonoid.from_machine(machine)
    coded, single = matrix(machine, C), one_hot(machine, C)
    for window in itertools.product(range(monoid.size), repeat=C):  # by offset: the rightmost child first
        expected = machine.element("".join(monoid.words[e] for e in window[::-1]))
        assert (coded.compose(np.stack([flat(monoid.elements[e]) for e in window])) == flat(expected)).all()
        (element,) = np.flatnonzero((monoid.elements == expected).all(1))
        assert single.compose(np.eye(monoid.size)[list(window)]).argmax() == element


@pytest.mark.parametrize(("name", "way", "C"), FITS)
def test_all_short_words_and_random_long_ones(name: str, way: str, C: int):
    found, n = model(name, way, C), task(name).n_symbols
    for length in range(1, 9 if n <= 2 else 6):
        assert_answers(found, task(name), all_words(n, length))
    random = rng(0, "construct")
    for length in (41, int(random.integers(42, 500)), 500):
        assert_answers(found, task(name), torch.from_numpy(random.integers(0, n, (2, length))))
        if task(name).has_length(length):
            words = torch.from_numpy(task(name).sample(random, length, 2).astype(np.int64))
            assert_answers(found, task(name), words)


def machines(n_states: int) -> st.SearchStrategy[Dfa]:
    state = st.integers(0, n_states - 1)
    names = tuple(map(str, range(n_states)))
    rows = st.lists(st.tuples(state, state), min_size=n_states, max_size=n_states).map(tuple)
    return st.builds(lambda delta, yes: Dfa(names, "ab", delta, "0", yes), rows, st.sets(st.sampled_from(names)))


@settings(max_examples=30)
@given(st.integers(1, 4).flatmap(machines), st.sampled_from([2, 3]))
def test_random_machines(dfa: Dfa, C: int):
    mine = task_of(dfa, "mine")
    elements = TransitionMonoid.from_machine(dfa.minimise()).size
    for way in REPRESENTATIONS if elements**C < 2000 else ["matrix"]:
        found = build(mine, way, C)
        assert_answers(found, mine, all_words(2, 9))
        assert_answers(found, mine, torch.from_numpy(rng(elements, "random").integers(0, 2, (4, 77))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("way", "C"), [("matrix", 2), ("one-hot", 3), ("matrix", 4)])
def test_dense_tree_and_every_agree_outputs_and_gradients(way: str, C: int, dtype: torch.dtype):
    found = build(task("flip-flop"), way, C).to(dtype)
    words = torch.from_numpy(rng(1, "agree").integers(0, 3, (3, 23)))
    gradients, tolerance = [], {torch.float32: 1e-4, torch.float64: 1e-9}[dtype]
    for computation in ("tree", "plain-tree", "every", "dense"):
        found.zero_grad()
        logits = found(words, computation=computation)
        logits[:, 0].sum().backward()
        parts = {name: p.grad for name, p in found.named_parameters() if p.grad is not None}
        assert all(torch.isfinite(g).all() for g in parts.values())
        gradients.append((logits.detach(), parts))
    for logits, parts in gradients[1:]:
        assert torch.allclose(logits, gradients[0][0], atol=1e-5)
        assert all(torch.allclose(g, gradients[0][1][name], atol=tolerance) for name, g in parts.items())
    all_positions = [found(words, readout="all", computation=which) for which in ("every", "dense")]
    assert torch.allclose(*all_positions, atol=1e-5)


@pytest.mark.parametrize("way", REPRESENTATIONS)
@pytest.mark.parametrize("name", ["parity", "cycle-navigation"])
@torch.no_grad()
def test_a_million_symbols_and_states_that_depth_does_not_move(name: str, way: str):
    found = model(name, way, 2)
    word = rng(2, "million").integers(0, task(name).n_symbols, (1, 1_000_000))
    machine = task(name).machine.minimise()
    exact = REPRESENTATIONS[way].make(machine, 2).size
    levels = list(tree_levels(found, torch.from_numpy(word)))
    assert len(levels) == 21
    for level in levels:
        assert (level.states - level.states.round()).abs().max() < 1e-6
        assert (level.states[:, exact:].abs() < 1e-6).all()
    root = levels[-1]
    assert found.readout(root.states[root.node[:, 0]]).argmax(-1).item() == task(name).labels(word).item()
    shallow = torch.unique(levels[3].states.round(), dim=0)
    deep = torch.unique(torch.cat([level.states for level in levels[10:]]).round(), dim=0)
    assert {tuple(row) for row in deep.tolist()} == {tuple(row) for row in shallow.tolist()}


@pytest.mark.parametrize(
    ("name", "way", "C"),
    [("parity", "matrix", 2), ("dyck-2", "one-hot", 2), ("tomita-3", "matrix", 3), ("symmetric-3", "matrix", 2)],
)
@torch.no_grad()
def test_a_ball_around_the_children_goes_to_the_exact_composition(name: str, way: str, C: int):
    found = model(name, way, C)
    states = torch.cat([found.pad, found.embedding.weight])
    children = torch.from_numpy(rng(3, "children").integers(0, len(states), (200, C)))
    block = found.blocks[0]
    exact = block(states, children)
    generator = torch.Generator().manual_seed(0)
    x = states[children.flatten()]  # a state of its own for every child
    direction = torch.randn(x.shape, generator=generator)
    noisy = x + 0.1 * direction / direction.norm(dim=-1, keepdim=True)
    own = torch.arange(len(x)).view(-1, C)
    assert (exact - exact.round()).abs().max() < 1e-6
    assert (block(noisy, own) - exact).abs().max() < 1e-5


def test_minus_infinity_survives_the_folder(tmp_path):
    config = configuration("parity", 3, "matrix").replaced({"evaluation.test_len": 42, "evaluation.extra_lengths": ()})
    summary = run(config, tmp_path / "parity")
    assert (summary["recipe"], summary["steps"], summary["score"]) == ("constructed-matrix", 0, 100.0)
    loaded = load_model(RunFolder.open(tmp_path / "parity"))
    expected = model("parity", "matrix", 3).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.state_dict().items())
    r = loaded.state_dict()["blocks.0.attn.r"]
    assert torch.equal(r.isinf(), ~torch.eye(3, dtype=torch.bool))


GIB, NONE = " GiB, at most 2 are taken; ", "no representation of it is small enough, train one with `regulargpt run`"
REFUSED = {
    ("dyck-12", 2, "one-hot"): f"'one-hot' with chunk_size = 2 needs 98.7{GIB}choose --representation matrix",
    ("dyck-12", 3, "matrix"): f"with chunk_size = 3 needs 5.1{GIB}choose --representation matrix --chunk-size 2",
    (
        "modular-arithmetic",
        2,
        None,
    ): f"27.4{GIB}{NONE}",
    ("parity", 2, "flat"): "unknown representation 'flat'; choose 'matrix', 'one-hot'",
    ("partiy", 2, None): "unknown language 'partiy'; did you mean 'parity'?",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=str)
def test_refusals(arguments: tuple):
    with pytest.raises(UserError, match=re.escape(REFUSED[arguments]) + "$"):
        configuration(*arguments)


@pytest.mark.parametrize("name", ["parity", "tomita-4", "dyck-4", "symmetric-5"])
def test_the_plan_is_what_the_model_has(name: str):
    config = configuration(name).model
    assert config.d_model % config.n_heads == 0
    found = plan(task(name).machine.minimise(), 2, configuration(name).recipe.removeprefix("constructed-"))
    assert found.bytes <= MAX_BYTES
    assert (found.d_model, found.d_ff) == (config.d_model, config.d_ff)


ONLY = "recipe 'constructed-one-hot'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.d_ff": 7}, f"model.d_ff = 7; {ONLY} needs 12: use `regulargpt construct`"),
        ({"model.norm": "pre"}, f"model.norm = pre; {ONLY} needs post: use `regulargpt construct`"),
        ({"training.steps": 3}, f"training.steps = 3; {ONLY} trains nothing, set it to 0"),
        ({"observers.snapshots.count": 3}, f"observers.snapshots: {ONLY} trains nothing to look at"),
        ({"recipe": "words"}, "training.steps = 0; training has at least 1 step"),
    ],
)
def test_a_config_that_is_not_the_constructions_is_refused_before_it_is_written(changes: dict, message: str, tmp_path):
    with pytest.raises(UserError, match=re.escape(message)):
        run(configuration("parity").replaced(changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_objective_that_asks_for_more_than_answers_is_refused():
    message = f"objective.name = 'next'; {ONLY} gives the machine's answers: choose 'last' or 'prefixes'"
    with pytest.raises(UserError, match=re.escape(message)):
        check(configuration("parity").replaced({"objective.name": "next"}), task("parity"))
