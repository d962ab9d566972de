"""Multi-query associative recall: what is asked, by another program and by an automaton; and which words are drawn."""

from collections import deque
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import languages
from languages import find, rng
from languages.automata import MooreMachine
from languages.drawn import DrawnTask
from languages.errors import LanguageError
from languages.registry import level_of
from languages.tasks import tree_task
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.data import read_data
from regulargpt.data.language import LanguageData
from regulargpt.objectives import build
from regulargpt.runs.run import run
from tests.languages.refusing import is_like, refusal
from tests.regulargpt.planted import Whole

Memory = dict[str, str]


def step(memory: Memory, before: str, symbol: str) -> tuple[Memory, str | None]:
    """A memory after one more symbol, and the answer there, from a dictionary of what stood behind each key first."""
    if symbol[0] == "v" and before[:1] == "k":
        memory = {before: symbol} | memory
    return memory, memory.get(symbol)


def answers(word: list[str]) -> list[str | None]:
    memory, before, found = Memory(), "", list[str | None]()
    for symbol in word:
        memory, answer = step(memory, before, symbol)
        found.append(answer)
        before = symbol
    return found


def mqar(name: str = "mqar") -> DrawnTask:
    task = find(name)
    assert isinstance(task, DrawnTask)
    return task


def check(task: DrawnTask, words: np.ndarray) -> None:
    labels = task.labels(words, every=True)
    assert (task.labels(words) == labels[:, -1]).all()
    assert (task.questions(words) == (labels[:, -1] >= 0)).all()
    for word, row in zip(words, labels, strict=True):
        given = [task.output_names[i] if i >= 0 else None for i in row]
        assert given == answers([task.alphabet[i] for i in word])


@pytest.mark.parametrize(("vocabulary", "longest"), [(4, 6), (6, 5), (8, 4)])
def test_answers_to_all_short_words(vocabulary: int, longest: int) -> None:
    for length in range(1, longest + 1):
        check(mqar(f"mqar:pairs=1,vocabulary={vocabulary}"), np.array([*product(range(vocabulary), repeat=length)]))


@given(st.sampled_from([6, 10, 300]), st.integers(0, 99), st.integers(1, 60))
def test_answers_to_any_words(vocabulary: int, seed: int, length: int) -> None:
    """Of few symbols, so that keys come again; the memory of one word is none of another's."""
    words = rng(seed, "any words").integers(vocabulary, size=(5, length))
    check(mqar(f"mqar:pairs=1,vocabulary={vocabulary}"), words)


@pytest.mark.parametrize("vocabulary", [4, 6])
def test_the_automaton_has_more_states_than_values_to_the_power_of_keys(vocabulary: int) -> None:
    """What a table of a tiny vocabulary is: equal to the program, without a group, and as large as the docs say."""
    task = mqar(f"mqar:pairs=1,vocabulary={vocabulary}")
    start = ((), "")
    found, ahead = {}, deque([start])
    while ahead:
        state = ahead.popleft()
        found[state] = {}
        for symbol in task.alphabet:
            memory = step(dict(state[0]), state[1], symbol)[0]
            waits = symbol if symbol[0] == "k" else ""
            found[state][symbol] = (tuple(sorted(memory.items())), waits)
            if found[state][symbol] not in found and found[state][symbol] not in ahead:
                ahead.append(found[state][symbol])
    names = {state: " ".join([*map("=".join, state[0]), state[1] or "."]) for state in found}
    delta = {names[state]: {s: names[to] for s, to in row.items()} for state, row in found.items()}
    outputs = [task.output_names.index(dict(memory)[k]) if k in dict(memory) else -1 for memory, k in found]
    machine = MooreMachine(tuple(delta), task.alphabet, delta, names[start], tuple(outputs), task.output_names)
    words = rng(0, "words").integers(vocabulary, size=(500, 20))
    assert (machine.answers(words, every=True) == task.labels(words, every=True)).all()
    keys, values = vocabulary // 2 - 1, vocabulary // 2
    assert machine.minimise().n_states > (values + 1) ** keys
    assert languages.TransitionMonoid.from_machine(machine.minimise()).is_aperiodic


# The name, lengths, and how many pairs a word of a length may have.
DRAWN = [
    ("mqar", [15, 17, 63], lambda length: {4}),
    ("mqar:pairs=1,vocabulary=4", [3, 5, 21], lambda length: {1}),
    ("mqar:pairs=3,vocabulary=8,power=1.0,fill=blank", [11, 13, 101], lambda length: {3}),
    ("mqar:pairs=any,vocabulary=20,fill=blank", [3, 19, 63], lambda length: {*range(1, min(length // 4 + 1, 9) + 1)}),
    ("mqar:pairs=most,vocabulary=20,fill=blank", [3, 19, 63], lambda length: {min(length // 4 + 1, 9)}),
]


@pytest.mark.parametrize(("name", "lengths", "numbers"), DRAWN)
def test_drawn_words_are_pairs_and_then_a_question_for_each(
    name: str, lengths: list[int], numbers: Callable[[int], set[int]]
) -> None:
    task, is_blank = mqar(name), "blank" in name
    for length in lengths:
        words, again = (task.sample(rng(0, "test", length), length, 300) for _ in range(2))
        assert (words == again).all()
        check(task, words[:20])
        asked = task.labels(words, every=True) >= 0
        found = asked.sum(1) if is_blank else np.full(300, max(numbers(length)))
        assert {*found} == numbers(length)
        for word, n in zip(words.tolist(), found, strict=True):
            keys, values, rest = word[: 2 * n : 2], word[1 : 2 * n : 2], word[2 * n :]
            assert len({*keys}) == len({*values}) == n
            assert 0 < min(keys) <= max(keys) < task.n_outputs <= min(values)
            assert {*rest[::2]} >= {*keys}
            assert rest[-1] in keys
            assert not is_blank or sorted(filter(None, rest)) == sorted(keys)


def test_lengths_are_odd_and_hold_all_questions() -> None:
    assert mqar().lengths(1, 20) == [15, 17, 19]
    assert mqar("mqar:pairs=any").lengths(1, 8) == mqar("mqar:pairs=most").lengths(1, 8) == [3, 5, 7]
    assert mqar().describe_length(64) == "length 64: mqar has no words; the nearest lengths with words: 63 and 65"


@pytest.mark.parametrize("power", [0.01, 0.5, 1.0])
def test_places_of_questions_follow_the_power_law(power: float) -> None:
    """Of two questions at four places; the shares are those of drawing without putting back, as numpy's choice does."""
    weights = np.arange(1, 5) ** (power - 1)
    weights /= weights.sum()
    expected = np.zeros(4)
    for one, two in permutations(range(4), 2):
        share = weights[one] * weights[two] / (1 - weights[one])
        others = [one, two] if 3 not in (one, two) else [min(one, two)] * 2  # the other is asked at the end
        expected[others] += share / 2 if others[0] != others[1] else 0
        expected[others[0]] += share if others[0] == others[1] else 0
    words = mqar(f"mqar:pairs=2,power={power},fill=blank").sample(rng(0, "places"), 11, 40_000)
    asked = words[:, 4::2] > 0
    assert asked[:, 3].all()
    assert np.abs(asked[:, :3].mean(0) - expected[:3]).max() < 0.01
    assert abs((words[:, -1] == words[:, 0]).mean() - 0.5) < 0.01  # at the end either key is as likely
    assert np.abs(np.bincount(words[:, 0], minlength=32)[1:] / 40_000 - 1 / 31).max() < 0.005


REFUSED = [
    ("mqar:pairs=0", "mqar: pairs is '0'; it is a whole number from 1, 'any' or 'most'"),
    ("mqar:pairs=07", "mqar: pairs is '07'; …"),
    ("mqar:pairs=²", "mqar: pairs is '²'; …"),
    ("mqar:pairs=some", "mqar: pairs is 'some'; …"),
    ("mqar:pairs=32", "mqar: 32 pairs need as many keys, and vocabulary=64 has 31; raise vocabulary or lower pairs"),
    ("mqar:vocabulary=7", "mqar: vocabulary is 7; it is an even number, 4 to 65536"),
    ("mqar:vocabulary=65538", "mqar: vocabulary is 65538; …"),
    ("mqar:vocabulary=2", "mqar: vocabulary is 2; …"),
    ("mqar:power=0", "mqar: power is 0.0; it is a number above 0.0, at most 1.0"),
    ("mqar:power=nan", "mqar: power is nan; …"),
    ("mqar:power=1.01", "mqar: power is 1.01; …"),
    ("mqar:fill=noise", "mqar: fill is 'noise'; it is 'any' or 'blank'"),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
def test_what_is_refused(name: str, message: str) -> None:
    assert is_like(refusal(find, name, error=LanguageError), message)


def test_where_an_automaton_is_needed_one_line_says_why_there_is_none() -> None:
    assert level_of("mqar:pairs=2") == mqar().level == "vast"
    too_large = "mqar is regular, but has too many states for an automaton"
    assert refusal(languages.get, "mqar", error=LanguageError).startswith(f"{too_large}, and this needs one; choose")
    assert refusal(tree_task, mqar(), error=LanguageError).startswith(f"{too_large}: no table along a tree")


def test_answers_are_counted_at_questions_only() -> None:
    """A network that says at every other symbol anything, and at one question of three the wrong value."""
    data = read_data("mqar:pairs=3,vocabulary=8,fill=blank")
    assert isinstance(data, LanguageData)
    words = data.test(0, 15, 40)
    labels = data.task.labels(words, every=True)
    said = np.where(labels >= 0, labels, 1)  # (words, length)
    rows, places = np.nonzero(labels >= 0)
    said[rows[::3], places[::3]] = (said[rows[::3], places[::3]] + 1) % 4
    goal = build(RunConfig().replaced({"data.name": data.name, "objective.name": "prefixes"}).objective, data)
    found = goal.measure(Whole(lambda words, every: said, 4), words, torch.device("cpu"))
    assert np.allclose(found["accuracy_by_position"], 200 / 3)
    assert found["accuracy"].all()
    assert not found["words"].any()


@pytest.mark.parametrize("model", ["delta", "lstm"])
def test_a_network_is_trained_tested_and_searched_for_wrong_words(model: str, tmp_path: Path) -> None:
    tiny = {"training.steps": 3, "training.cooldown": 0, "model.d_model": 8, "evaluation.samples": 4}
    lengths = {"data.train_len": 7, "evaluation.test_len": 9, "evaluation.extra_lengths": ()}
    config = resolve(None, model, "mqar:pairs=2,vocabulary=6", {"objective.name": "prefixes"})
    summary = run(config.replaced({**tiny, **lengths}), tmp_path / "run")
    assert set(summary["measures"]) == {"accuracy", "accuracy_by_position", "words"}
    assert (summary["proven"], summary["phases"]) == (None, {})
    assert summary["falsified"]["wrong"]


def test_names_and_examples() -> None:
    for name in ("mqar", "mqar:pairs=any,vocabulary=8192", "mqar:power=1.0,fill=blank"):
        task = mqar(name)
        assert task.name == name
        for word, answer in task.examples:
            assert task.written(task.machine.encode(word)) == (word, answer)
