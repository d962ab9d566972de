"""What is asked of the model: labels from running the machine word by word, never along the tree."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import languages
from languages.randomness import rng
from languages.task import Task
from regulargpt import objectives
from regulargpt.data import read_data
from regulargpt.models.gru import Gru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.objectives import OBJECTIVES
from regulargpt.objectives.answers import Last, Next, Objective, Prefixes
from regulargpt.objectives.measures import Guess


def value(scalar: torch.Tensor) -> float:
    return scalar.detach().item()


CPU = torch.device("cpu")
LANGUAGES = ["parity", "modular-arithmetic:plus=true", "tomita-5", "dyck-3", "cycle-navigation", "symmetric-3"]


def objective(name: str, written: str) -> Objective:
    return objectives.build(OBJECTIVES.options(written, "objective"), read_data(name))


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
    means = {"accuracy": right, "accuracy_by_position": by_position, "words": [all(here) for here in shares]}
    assert measured == pytest.approx({name: 100 * np.mean(values) for name, values in means.items()})
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


@pytest.mark.parametrize("supervision", ["last", "last:bracketings=0.5", "last:output_token=true"])
def test_a_word_is_right_where_the_last_answer_is(supervision: str):
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
        ("next", model_of(task, 3)),
    ]:
        loss, _ = objective("tomita-5", supervision).loss(model, words, CPU)
        assert loss.shape == ()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(("name", "kind"), [("last", Last), ("prefixes", Prefixes), ("next", Next)])
def test_names_and_what_the_options_say_of_the_measures(name: str, kind: type[Objective]):
    task, goal = languages.get("tomita-5"), objective("tomita-5", name)
    assert type(goal) is kind
    found = goal.measure(model_of(task, goal.n_outputs), some_words(task, 9), CPU)
    assert tuple(found) == OBJECTIVES.options(name, "objective").measures
