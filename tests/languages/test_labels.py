"""Labels are right: by hand, by independent oracles on all short words, on each transition and on long words."""

from dataclasses import replace
from functools import cache
from itertools import combinations, groupby, product

import numpy as np
import pytest

from languages import get, rng
from languages.automata import Dfa, MooreMachine
from languages.registry import names
from languages.task import Task, all_words
from tests.languages.cases import CASES, Case
from tests.languages.oracles import ORACLES, arithmetic, arithmetic_left_to_right
from tests.pairwise import pairwise

MOST_WORDS = 10_000  # tried of one length, so that binary words are tried up to length 12


def words_of_domain(task: Task, length: int) -> np.ndarray:
    """All words of a length that the task asks about."""
    words = np.array(list(product(range(task.n_symbols), repeat=length)), dtype=np.uint8)
    return words if task.domain is None else words[task.domain.accepts(words)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language} {case.word}")
def test_cases(case: Case) -> None:
    task = get(case.language)
    word = task.machine.encode(case.word)
    trace = task.machine.run(word, every=True)
    assert tuple(task.machine.states[state] for state in trace) == case.trace
    assert task.output_names[task.labels(word[None])[0]] == case.label
    assert task.labels(word[None], every=True)[0, -1] == task.labels(word[None])[0]


def test_cases_cover_every_family() -> None:
    covered = {case.language.partition(":")[0] for case in CASES}
    families = {name.rstrip("0123456789") for name in names()}
    assert families <= {name.rstrip("0123456789") for name in covered}
    assert set(names()) - set(ORACLES) <= set(GROUPS)


@pytest.mark.parametrize("name", names())
def test_examples(name: str) -> None:
    task = get(name)
    assert len(task.examples) >= 3
    for word, label in task.examples:
        assert task.output_names[task.machine.answers(word).item()] == label


@pytest.mark.parametrize("name", ORACLES)
def test_all_short_words(name: str) -> None:
    task = get(name)
    lengths = [n for n in range(1, 13) if task.n_symbols**n <= MOST_WORDS or (n <= 5 and task.domain is not None)]
    assert task.n_symbols > 2 or max(lengths) == 12
    for length in lengths:
        assert_right(name, task, words_of_domain(task, length))


def assert_right(name: str, task: Task, words: np.ndarray) -> None:
    expected = [ORACLES[name](task.machine.decode(word)) for word in words]
    assert [task.output_names[label] for label in task.labels(words)] == expected


def access_words(machine: MooreMachine) -> list[tuple[int, ...]]:
    """A shortest word to each state."""
    words: dict[int, tuple[int, ...]] = {machine.initial_index: ()}
    for state in (todo := [machine.initial_index]):
        for symbol, target in enumerate(machine.delta[state]):
            if target not in words:
                words[target] = (*words[state], symbol)
                todo.append(target)
    return [*words.values()]


@pytest.mark.parametrize("name", ORACLES)
def test_every_transition(name: str) -> None:
    """No other machine of as many states agrees on these words: to each state, a symbol, and what tells states apart.

    Source: Chow, Testing software design modeled by finite-state machines, 1978.
    """
    task = get(name)
    machine = task.machine.minimise()
    starts = [replace(machine, initial=state) for state in machine.states]
    apart = {p.encode(p.counterexample(q)).tobytes(): None for p, q in combinations(starts, 2)}
    endings = [tuple(np.frombuffer(word, machine.encode("").dtype)) for word in apart]
    words = {
        (*u, *a, *v)
        for u in access_words(machine)
        for a in [(), *((s,) for s in range(task.n_symbols))]
        for v in endings
    }
    for length, group in groupby(sorted(words, key=len), key=len):
        batch = np.array([*group], dtype=np.uint8)
        if length:
            assert_right(name, task, batch if task.domain is None else batch[task.domain.accepts(batch)])


@pytest.mark.parametrize("name", ORACLES)
def test_long_words(name: str) -> None:
    task = get(name)
    for length in task.lengths(40, 44):
        assert_right(name, task, task.sample(rng(0, "long"), length, 500, 0.5 if task.sampling == "balanced" else 0.0))


def test_identity_is_the_answer_of_the_first_element() -> None:
    for letters in ("generators", "elements"):
        element, identity = (get(f"dihedral-3:{answer}letters={letters}") for answer in ("", "answer=identity,"))
        words = element.sample(rng(0, "identity"), 6, 2000)
        assert ((element.labels(words) == 0) == (identity.labels(words) == 1)).all()


def test_swaps_are_the_elements_that_move_two_points() -> None:
    """And the identity: ten of them, and it, in S_5; the answers are those of all elements as letters."""
    swaps, every = get("symmetric-5:letters=swaps"), get("symmetric-5:letters=elements")
    assert [sum(a != b for a, b in zip(letter, "12345", strict=True)) for letter in swaps.alphabet] == [0] + 10 * [2]
    words = swaps.sample(rng(0, "swaps"), 20, 200)
    texts = [swaps.machine.decode(word) for word in words]
    expected = [every.machine.answers(text).item() for text in texts]
    assert [swaps.output_names[i] for i in swaps.labels(words)] == [every.output_names[i] for i in expected]


def test_products_have_the_answers_of_their_factors() -> None:
    """With all elements as letters, in both orders: Merrill et al. 2024 have A_4 x Z_5."""
    for order in ("left-to-right", "right-to-left"):
        task = get(f"alternating-4*cyclic-5:letters=elements,order={order}")
        parts = [get(f"alternating-4:letters=elements,order={order}"), get("cyclic-5:letters=elements")]
        words = task.sample(rng(0, "products"), 30, 200)
        texts = [[letter.split(".") for letter in task.machine.decode(word).split()] for word in words]
        expected = [
            ".".join(
                part.output_names[part.machine.answers(part.machine.encode([letter[i] for letter in text])).item()]
                for i, part in enumerate(parts)
            )
            for text in texts
        ]
        assert [task.output_names[label] for label in task.labels(words)] == expected


def test_matrices_multiply_in_the_order_that_is_asked_for() -> None:
    """From right to left the matrix of a word is the product of its letters' as they stand."""
    task = get("heisenberg-5:order=right-to-left")
    matrices = {"e": np.eye(3, dtype=int), "x": np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])}
    matrices["y"] = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])
    for word in task.sample(rng(0, "matrices"), 40, 50):
        found = np.linalg.multi_dot([matrices[letter] for letter in task.machine.decode(word)]) % 5
        assert task.output_names[task.labels(word[None])[0]] == "".join(map(str, found[[0, 1, 0], [1, 2, 2]]))


GROUPS = ["cyclic-5", "dihedral-4", "symmetric-3", "symmetric-4", "symmetric-5", "alternating-4", "alternating-5"]


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("order", ["left-to-right", "right-to-left"])
def test_every_product(name: str, order: str) -> None:
    """Each letter moves the points from each state on; as many states as images; S_n and A_n are named by theirs."""
    machine = get(name if name == "cyclic-5" else f"{name}:order={order}").machine
    images = {machine.initial_index: tuple(range(int(name[-1])))}
    for state in (todo := [machine.initial_index]):
        for symbol, target in zip(machine.alphabet, machine.delta[state], strict=True):
            first, then = images[state], moves(name, symbol)
            if order == "right-to-left":
                first, then = then, first
            if target not in images:
                todo.append(target)
            image = tuple(then[point] for point in first)
            assert images.setdefault(target, image) == image
    assert len(set(images.values())) == machine.n_states == len(set(machine.outputs)) == len(machine.output_names)
    for state, image in images.items():
        if name.startswith(("symmetric", "alternating")):
            assert machine.output_names[machine.outputs[state]] == "".join(str(point + 1) for point in image)


def moves(name: str, letter: str) -> tuple[int, ...]:
    """What a letter does to the points, in the words of the docs."""
    n = int(name[-1])
    turn = (*range(1, n), 0)
    if name.startswith("cyclic"):
        return turn if letter == "1" else tuple(range(n))
    if letter == "s":
        return tuple(-point % n for point in range(n))
    if letter.isdigit():  # the cycle (1 2 k)
        return tuple({0: 1, 1: int(letter) - 1, int(letter) - 1: 0}.get(point, point) for point in range(n))
    return {"e": tuple(range(n)), "t": (1, 0, *range(2, n)), "c": turn, "r": turn}[letter]


def test_two_languages_are_called_tomita_3() -> None:
    """All words up to length 12: odd runs of 1s, and an odd run of 0s at once or anywhere behind them."""
    at_once, later = get("tomita-3"), get("tomita-3:forbidden=later")
    assert at_once.machine.counterexample(later.machine) == "100110"
    for length in range(1, 13):
        words = words_of_domain(later, length)
        texts = [later.machine.decode(word) for word in words]
        runs = [[(symbol, len(list(run)) % 2) for symbol, run in groupby(text)] for text in texts]
        # What stands behind the first odd run of 1s has no odd run of 0s.
        expected = [("1", 1) not in word or ("0", 1) not in word[word.index(("1", 1)) :] for word in runs]
        assert [bool(label) for label in later.labels(words)] == expected


ARITHMETIC = {"modular-arithmetic": arithmetic, "modular-arithmetic-left-to-right": arithmetic_left_to_right}


@pytest.mark.parametrize(
    ("modulus", "operators", "plus", "name"),
    pairwise([2, 3, 5, 10], ["+", "-", "*", "+-", "-*", "+-*"], [False, True], [*ARITHMETIC]),
)
def test_arithmetic_with_parameters(modulus: int, operators: str, plus: bool, name: str) -> None:
    task = get(f"{name}:modulus={modulus},operators={operators},plus={str(plus).lower()}")
    words = task.sample(rng(0, "arithmetic"), 9 + plus, 100)
    texts = [task.machine.decode(word) for word in words]
    expected = [ARITHMETIC[name](text[plus:], modulus) for text in texts]
    assert [task.output_names[label] for label in task.labels(words)] == expected
    assert all((text[0] == "+") == plus for text in texts)
    assert not any(set(text[1:]) & (set("+-*") - set(operators)) for text in texts)


def test_words_of_pairs_have_answers_after_a_plus() -> None:
    """What a node of a tree over "+1-2*3..." is asked: any sequence of (operator, digit), from the value 0."""
    task = get("modular-arithmetic:plus=true")
    pairs = ["".join(pair) for pair in product("+-*", "01234")]
    for count in (1, 2, 3):
        texts = ["".join(parts) for parts in product(pairs, repeat=count)]
        words = np.stack([task.machine.encode(text) for text in texts])
        expected = [arithmetic("0" + text) for text in texts]
        assert [task.output_names[label] for label in task.labels(words)] == expected


@pytest.mark.parametrize("name", [*names(), "modular-arithmetic:plus=true", "modular-arithmetic:modulus=2,operators=*"])
def test_the_words_of_the_domain_have_an_answer_and_of_arithmetic_no_others(name: str) -> None:
    task, machine = get(name), get(name).machine
    answered = {state for state, output in zip(machine.states, machine.outputs, strict=True) if output >= 0}
    dfa = Dfa(machine.states, machine.alphabet, machine.delta, machine.initial, answered)
    assert ((all_words(machine.alphabet) if task.domain is None else task.domain) - dfa).is_empty()
    assert name not in ARITHMETIC or dfa.equivalent(task.domain)


@pytest.mark.parametrize("name", [name for name in ORACLES if get(name).is_classification])
def test_next_symbols(name: str) -> None:
    """A symbol may follow iff some continuation, tried out, is a member."""
    task, oracle = get(name), ORACLES[name]
    reach = 6 if task.n_symbols == 2 else 5
    endings = ["".join(e) for n in range(reach + 1) for e in product(task.alphabet, repeat=n)]
    if name in ("dyck-12", "aa-bb-cc-dd-ee"):
        endings = ["".join(sorted(e)) for e in endings if list(e) == sorted(e)]  # members end in 1s, or in order

    @cache
    def can(prefix: str) -> bool:
        return any(oracle(prefix + ending) == "accept" for ending in endings)

    for words in (words_of_domain(task, 1), words_of_domain(task, 3)):
        table = task.next_symbols(words)
        assert table.shape == (*words.shape, task.n_symbols + 1)
        for word, rows in zip(words, table, strict=True):
            for t, row in enumerate(rows):
                prefix = task.machine.decode(word[: t + 1])
                assert row.tolist() == [*(can(prefix + a) for a in task.alphabet), oracle(prefix) == "accept"]
