"""What is asked of the model: labels from running the machine word by word, never along the tree."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import languages
from languages.randomness import rng
from languages.task import Task
from regulargpt import data, objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data import read_data
from regulargpt.models.gru import Gru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.levels import Level, tree_levels
from regulargpt.objectives import OBJECTIVES
from regulargpt.objectives.answers import Last, Next, Objective, Prefixes
from regulargpt.objectives.measures import Guess
from regulargpt.objectives.subwords import ROUNDS, SubWords, Subwords, confusion, kinds


def value(scalar: torch.Tensor) -> float:
    return scalar.detach().item()


CPU = torch.device("cpu")
LANGUAGES = ["parity", "modular-arithmetic:plus=true", "tomita-5", "dyck-3", "cycle-navigation", "symmetric-3"]


def objective(name: str, written: str) -> Objective:
    return objectives.build(OBJECTIVES.options(written, "objective"), read_data(name))


def subwords(name: str, train_len: int = 40, **options: Any) -> Subwords:
    config = RunConfig().replaced({"data.name": name, "data.train_len": train_len})
    return Subwords(data.build(config.data), **options)


def model_of(task: Task, n_outputs: int | None = None, **options) -> RegularGPT:
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 8} | options
    return RegularGPT(task.n_symbols, n_outputs or task.n_outputs, **sizes).double()


def some_words(task: Task, length: int, count: int = 6) -> np.ndarray:
    return task.sample(rng(0, "test", length), length, count)


def right_words(goal: Objective, model: torch.nn.Module, words: np.ndarray) -> list[bool]:
    return goal.measure(model, words, CPU)["accuracy"].tolist()


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
    goal, model = subwords(name), model_of(task, chunk_size=chunk_size)
    checked = 0
    for length in task.lengths(1, 19):
        words = some_words(task, length)
        levels = levels_of(model, words, share)
        for height, (level, f) in enumerate(zip(levels, goal.sub_words(levels), strict=True)):
            assert len(f.transitions) == len(f.lengths) == len(level.states)
            assert f.lengths[0] == 0
            assert f.transitions[0].tolist() == list(range(task.machine.n_states))
            answers = goal.answers(f.transitions)
            for b, n in product(range(len(words)), range(level.node.shape[1])):
                end = length - (level.node.shape[1] - 1 - n) * chunk_size**height
                subword = words[b, max(0, end - chunk_size**height) : end].tolist()
                row = int(level.node[b, n])
                assert f.lengths[row] == len(subword)
                assert f.transitions[row].tolist() == [
                    run_slowly(task, subword, q) for q in range(task.machine.n_states)
                ]
                state = run_slowly(task, subword, task.machine.initial_index)
                assert int(answers[row]) == task.machine.outputs[state]
                checked += 1
    assert checked > 500


@pytest.mark.parametrize("name", LANGUAGES)
def test_subwords_without_an_answer_do_not_count_and_the_others_weigh_the_same(name: str):
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
        loss, _ = subwords(name, weight=weight).loss(model, words, CPU)
        assert value(loss) == pytest.approx(value(last + weight * torch.stack(nodes).mean()), abs=1e-10)


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("chunk_size", [2, 3])
def test_compositions_are_asked_for_the_answer_to_the_concatenation(name: str, chunk_size: int):
    """Each window's transition is that of its nodes' sub-words, one after the other; none is longer than a word."""
    task = languages.get(name)
    model = model_of(task, chunk_size=chunk_size)
    goal = subwords(name, train_len=12, compositions=300)
    under = goal.sub_words(levels_of(model, some_words(task, task.lengths(9, 12)[0], count=16)))
    nodes = SubWords.join([under[0], *(part.without_pad() for part in under[1:])])
    windows = goal.windows(nodes, model)
    assert windows.shape == (300, chunk_size)
    assert windows.min() >= 1  # never the pad
    calls = model.state_noise.calls
    rounds = goal.composed(model, nodes)
    # Chunks of three do not fall on (operator, digit) pairs: hardly a composition of theirs has an answer.
    assert len(rounds) == (0 if chunk_size == 3 and name.startswith("modular") else ROUNDS)
    for number, composed in enumerate(rounds):
        model.state_noise.calls = calls + number
        kept = windows_again(goal, nodes, model)
        assert 0 < len(kept) == len(composed.states)
        assert composed.lengths.max() <= 12
        for row, window in enumerate(kept.tolist()):
            state = list(range(task.machine.n_states))
            for child in reversed(window):
                state = [int(nodes.transitions[child][q]) for q in state]
            assert composed.transitions[row].tolist() == state
        nodes = SubWords.join([nodes, composed])


def windows_again(goal: Subwords, nodes: SubWords, model: RegularGPT) -> torch.Tensor:
    """The windows that `composed` drew, short enough and with an answer."""
    windows = goal.windows(nodes, model)
    states = torch.full((len(windows),), goal.initial)
    for child in reversed(windows.unbind(1)):
        states = nodes.transitions[child, states]
    return windows[(nodes.lengths[windows].sum(1) <= goal.train_len) & (goal.outputs[states] != -1)]


def test_windows_take_each_transition_equally_often():
    task = languages.get("tomita-3")
    model, goal = model_of(task), subwords("tomita-3", compositions=40_000)
    under = goal.sub_words(levels_of(model, some_words(task, 16, count=64)))
    nodes = SubWords.join([under[0], *(part.without_pad() for part in under[1:])])
    kind = kinds(nodes.transitions)[goal.windows(nodes, model)]
    shares = kind.flatten().bincount()[kind.unique()] / kind.numel()
    assert torch.allclose(shares, torch.full_like(shares, 1 / len(shares)), atol=0.005)


def test_kinds_number_equal_transitions_alike():
    transitions = torch.randint(0, 3, (200, 4), generator=torch.Generator().manual_seed(0))
    kind = kinds(transitions)
    for i, j in product(range(0, 200, 7), range(200)):
        assert bool(kind[i] == kind[j]) == transitions[i].equal(transitions[j])


def test_confusion_is_the_cross_entropy_of_the_nearest_mean():
    """Against distances written out one by one, on two parts with three transitions."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    transitions = torch.tensor([[0, 1], [1, 0], [0, 0]] * 3)
    parts = [SubWords(states[at], transitions[at], torch.ones(len(states[at]))) for at in (slice(0, 6), slice(6, 9))]
    expected = 0.0
    for at in (range(6), range(6, 9)):
        losses = []
        for i in at:
            distances = [(states[i] - states[j::3].mean(0)).square().sum() for j in range(3)]
            logits = -torch.stack(distances) / 4**0.5
            losses.append(-torch.log_softmax(logits, 0)[i % 3])
        expected += float(torch.stack(losses).mean())
    assert value(confusion(parts)) == pytest.approx(expected, abs=1e-10)


def test_alignment_pulls_without_changing_the_loss():
    task = languages.get("tomita-5")
    words = some_words(task, 9)
    values, gradients = [], []
    for alignment in (0.0, 1.0):
        model = model_of(task)
        loss, _ = subwords("tomita-5", alignment=alignment).loss(model, words, CPU)
        loss.backward()
        values.append(value(loss))
        gradients.append(model.embedding.weight.grad)
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert not torch.allclose(gradients[0], gradients[1])


@pytest.mark.parametrize("name", LANGUAGES)
def test_prefixes_count_the_positions_that_have_an_answer(name: str):
    task = languages.get(name)
    model = model_of(task)
    words = some_words(task, task.lengths(8, 12)[0])
    logits = model(torch.from_numpy(words).long(), readout="all")
    losses, right, shares = [], [], []
    for b, word in enumerate(words.tolist()):
        here = []
        for t in range(len(word)):
            label = task.machine.outputs[run_slowly(task, word[: t + 1], task.machine.initial_index)]
            if label != -1:
                losses.append(F.cross_entropy(logits[b, t], torch.tensor(label)))
                here.append(int(logits[b, t].argmax()) == label)
        right.append(here[-1])
        shares.append(here)
    goal = Prefixes(read_data(name))
    loss, measured = goal.loss(model, words, CPU)
    assert value(loss) == pytest.approx(value(torch.stack(losses).mean()), abs=1e-10)
    by_position = [float(np.mean(here)) for here in shares]
    assert measured == pytest.approx(
        {
            "accuracy": 100 * np.mean(right),
            "accuracy_by_position": 100 * np.mean(by_position),
            "words": 100 * np.mean([all(here) for here in shares]),
        }
    )
    found = goal.measure(model, words, CPU)
    assert found["accuracy"].tolist() == right
    assert found["accuracy_by_position"].tolist() == pytest.approx([100 * share for share in by_position])
    assert found["words"].tolist() == [all(here) for here in shares]


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
    goal = Next(read_data(name))
    assert goal.n_outputs == task.n_symbols + 1
    model = model_of(task, goal.n_outputs)
    words = some_words(task, 8, count=10)
    logits = model(torch.from_numpy(words).long(), readout="all")
    expected = torch.tensor([[legal(task, word[: t + 1], 10) for t in range(8)] for word in words.tolist()])
    log_odds = torch.where(expected, logits, -logits)
    loss, measured = goal.loss(model, words, CPU)
    assert value(loss) == pytest.approx(value(-log_odds.sigmoid().log().mean()), abs=1e-10)
    whole, end = (log_odds > 0).all(-1), log_odds[..., -1] > 0
    found = goal.measure(model, words, CPU)
    assert found["next_sets"].tolist() == whole.all(-1).tolist()
    assert found["words"].tolist() == end.all(-1).tolist()
    # Whether the word may end is the answer that the other supervisions ask for.
    accepted = torch.from_numpy(task.labels(words) == 1)
    assert found["accuracy"].tolist() == ((logits[:, -1, -1] > 0) == accepted).tolist()
    by_position = {"next_sets_by_position": whole, "accuracy_by_position": end}
    for measure, right in by_position.items():
        assert found[measure].tolist() == pytest.approx((100 * right.double().mean(1)).tolist())
    means = {m: (100 if of.dtype == torch.bool else 1) * of.double().mean().item() for m, of in found.items()}
    assert measured == pytest.approx(means)


@pytest.mark.parametrize("supervision", ["last", "subwords", "last:output_token=true"])
def test_last_and_subwords_are_right_where_the_last_answer_is(supervision: str):
    task = languages.get("cycle-navigation")
    goal, words = objective("cycle-navigation", supervision), some_words(task, 11, count=200)
    model = RegularGPT(goal.n_inputs, goal.n_outputs, d_model=8, n_heads=2, d_ff=8).double()
    read = torch.from_numpy(words).long()
    if goal.n_inputs > task.n_symbols:  # a token of no other meaning, after the word
        read = F.pad(read, (0, 1), value=task.n_symbols)
    answers = model(read).argmax(-1).numpy()
    machine = [task.machine.outputs[run_slowly(task, w, task.machine.initial_index)] for w in words.tolist()]
    assert right_words(goal, model, words) == (answers == machine).tolist()
    assert goal.loss(model, words, CPU)[1] == {"accuracy": 100 * np.mean(answers == machine)}
    shares = tuple(np.mean(np.array(machine) == answer) for answer in range(5))
    assert goal.guesses(words) == {"accuracy": Guess(1 / 5, shares)}


def test_a_loss_is_one_number_with_gradients_for_what_it_reads():
    task = languages.get("tomita-5")
    words = some_words(task, 9)
    for supervision, model in [
        *(("last", m) for m in (model_of(task), Gru(task.n_symbols, 2, d_model=4))),
        ("prefixes", Gru(task.n_symbols, 2, d_model=4)),
        ("subwords", model_of(task)),
        ("next", model_of(task, 3)),
    ]:
        loss, _ = objective("tomita-5", supervision).loss(model, words, CPU)
        assert loss.shape == ()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_names_and_what_the_options_say_of_the_measures():
    kinds = {"last": Last, "prefixes": Prefixes, "next": Next, "subwords": Subwords}
    assert {name: type(objective("tomita-5", name)) for name in kinds} == kinds
    assert subwords("tomita-5").weight == 1.0
    assert vars(objective("tomita-5", "subwords:weight=0.3"))["weight"] == 0.3
    task = languages.get("tomita-5")
    for name in kinds:
        goal = objective("tomita-5", name)
        found = goal.measure(model_of(task, goal.n_outputs), some_words(task, 9), CPU)
        assert tuple(found) == OBJECTIVES.options(name, "objective").measures
