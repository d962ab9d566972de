"""What is asked of the model: labels from running the machine word by word, never along the tree."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import languages
from languages.randomness import rng
from languages.task import Task
from regulargpt.models.gru import Gru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.tree import Level, tree_levels
from regulargpt.objectives import Every, Last, Next, Nodes, objective


def value(scalar: torch.Tensor) -> float:
    return scalar.detach().item()


CPU = torch.device("cpu")
LANGUAGES = ["parity", "modular-arithmetic:plus=true", "tomita-5", "dyck-3", "cycle-navigation", "symmetric-3"]


def model_of(task: Task, n_outputs: int | None = None, **options) -> RegularGPT:
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 8} | options
    return RegularGPT(task.n_symbols, n_outputs or task.n_outputs, **sizes).double()


def some_words(task: Task, length: int, count: int = 6) -> np.ndarray:
    return task.sample(rng(0, "test", length), length, count)


def run_slowly(task: Task, word: list[int], state: int) -> int:
    for symbol in word:
        state = int(task.machine.table[state, symbol])
    return state


def levels_of(model: RegularGPT, words: np.ndarray, share: bool = True) -> list[Level]:
    with torch.no_grad():
        return list(tree_levels(model, torch.from_numpy(words).long(), share))


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("chunk_size", [2, 3, 5])
@pytest.mark.parametrize("share", [True, False])
def test_transitions_are_those_of_the_subword_under_each_node(name: str, chunk_size: int, share: bool):
    task = languages.get(name)
    goal, model = Nodes(task, 1.0), model_of(task, chunk_size=chunk_size)
    checked = 0
    for length in task.lengths(1, 19):
        words = some_words(task, length)
        levels = levels_of(model, words, share)
        for height, (level, f) in enumerate(zip(levels, goal.transitions(levels), strict=True)):
            assert len(f) == len(level.states) - 1
            answers = goal.answers(f)
            for b, n in product(range(len(words)), range(level.node.shape[1])):
                end = length - (level.node.shape[1] - 1 - n) * chunk_size**height
                subword = words[b, max(0, end - chunk_size**height) : end].tolist()
                row = int(level.node[b, n]) - 1
                assert f[row].tolist() == [run_slowly(task, subword, q) for q in range(task.machine.n_states)]
                state = run_slowly(task, subword, task.machine.initial_index)
                assert int(answers[row]) == task.machine.outputs[state]
                checked += 1
    assert checked > 500


@pytest.mark.parametrize("name", LANGUAGES)
def test_nodes_without_an_answer_do_not_count_and_the_others_weigh_the_same(name: str):
    task = languages.get(name)
    model = model_of(task)
    words = some_words(task, task.lengths(9, 12)[0], count=16)
    levels = levels_of(model, words)
    nodes = []
    for height, level in enumerate(levels):
        for row in range(1, len(level.states)):
            b, n = (level.node == row).nonzero()[0].tolist()
            end = words.shape[1] - (level.node.shape[1] - 1 - n) * 2**height
            subword = words[b, max(0, end - 2**height) : end].tolist()
            label = task.machine.outputs[run_slowly(task, subword, task.machine.initial_index)]
            if label != -1:
                nodes.append(F.cross_entropy(model.readout(level.states[row]), torch.tensor(label)))
    last = F.cross_entropy(model(torch.from_numpy(words).long()), torch.from_numpy(task.labels(words)))
    for weight in (0.0, 1.0, 2.5):
        loss, _ = Nodes(task, weight).loss(model, words, CPU)
        assert value(loss) == pytest.approx(value(last + weight * torch.stack(nodes).mean()), abs=1e-10)


def test_a_thick_level_shows_the_answer_only_where_its_subword_is_known():
    """With K = 2 the first layer of a level ends at every node: its sub-words overlap, and its labels are of those."""
    task = languages.get("parity")
    model, words = model_of(task, thickness=2), some_words(task, 7)
    levels = levels_of(model, words)
    labels = [Nodes(task, 1.0).answers(f) for f in Nodes(task, 1.0).transitions(levels)]
    first = levels[1]
    for b, n in product(range(len(words)), range(7)):
        assert int(labels[1][first.node[b, n] - 1]) == words[b, max(0, n - 1) : n + 1].sum() % 2


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_counts_the_positions_that_have_an_answer(name: str):
    task = languages.get(name)
    model = model_of(task)
    words = some_words(task, task.lengths(8, 12)[0])
    logits = model(torch.from_numpy(words).long(), readout="all")
    losses, right = [], []
    for b, word in enumerate(words.tolist()):
        right.append(True)
        for t in range(len(word)):
            label = task.machine.outputs[run_slowly(task, word[: t + 1], task.machine.initial_index)]
            if label != -1:
                losses.append(F.cross_entropy(logits[b, t], torch.tensor(label)))
                right[-1] &= int(logits[b, t].argmax()) == label
    loss, accuracy = Every(task).loss(model, words, CPU)
    assert value(loss) == pytest.approx(value(torch.stack(losses).mean()), abs=1e-10)
    assert accuracy == np.mean(right)
    assert Every(task).correct(model, words, CPU).tolist() == right


def legal(task: Task, prefix: list[int], longest: int) -> list[bool]:
    """Which symbols (and last: the end) may follow, by trying all continuations: for small machines only."""
    state = run_slowly(task, prefix, task.machine.initial_index)
    found = []
    for symbol in range(task.n_symbols):
        reached, frontier = set(), {int(task.machine.table[state, symbol])}
        for _ in range(longest):
            reached |= frontier
            frontier = {int(task.machine.table[q, s]) for q in frontier for s in range(task.n_symbols)}
        found.append(any(task.machine.outputs[q] == 1 for q in reached))
    return [*found, task.machine.outputs[state] == 1]


@pytest.mark.parametrize("name", ["tomita-2", "tomita-7", "dyck-3", "ab-d-bc", "regex:(ab)*"])
def test_next_asks_for_the_set_of_legal_symbols_after_every_prefix(name: str):
    task = languages.get(name)
    goal = Next(task)
    assert goal.n_outputs == task.n_symbols + 1
    model = model_of(task, goal.n_outputs)
    words = some_words(task, 8, count=10)
    logits = model(torch.from_numpy(words).long(), readout="all")
    expected = torch.tensor([[legal(task, word[: t + 1], 10) for t in range(8)] for word in words.tolist()])
    log_odds = torch.where(expected, logits, -logits)
    loss, accuracy = goal.loss(model, words, CPU)
    assert value(loss) == pytest.approx(value(-log_odds.sigmoid().log().mean()), abs=1e-10)
    right = (log_odds > 0).all(-1).all(-1)
    assert goal.correct(model, words, CPU).tolist() == right.tolist()
    assert accuracy == float(right.double().mean())


@pytest.mark.parametrize("supervision", ["last", "nodes"])
def test_last_and_nodes_are_right_where_the_last_answer_is(supervision: str):
    task = languages.get("cycle-navigation")
    model, words = model_of(task), some_words(task, 11, count=200)
    goal = objective(task, supervision)
    answers = model(torch.from_numpy(words).long()).argmax(-1).numpy()
    machine = [task.machine.outputs[run_slowly(task, w, task.machine.initial_index)] for w in words.tolist()]
    assert goal.correct(model, words, CPU).tolist() == (answers == machine).tolist()
    assert goal.loss(model, words, CPU)[1] == np.mean(answers == machine)


def test_a_loss_is_one_number_with_gradients_for_what_it_reads():
    task = languages.get("tomita-5")
    words = some_words(task, 9)
    for supervision, model in [
        *(("last", m) for m in (model_of(task), Gru(task.n_symbols, 2, d_model=4))),
        ("every", Gru(task.n_symbols, 2, d_model=4)),
        ("nodes", model_of(task)),
        ("next", model_of(task, 3)),
    ]:
        loss, _ = objective(task, supervision).loss(model, words, CPU)
        assert loss.shape == ()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_names():
    task = languages.get("tomita-5")
    kinds = {"last": Last, "every": Every, "next": Next, "nodes": Nodes}
    assert {name: type(objective(task, name)) for name in kinds} == kinds
    assert objective(task, "nodes", 0.3).weight == 0.3
