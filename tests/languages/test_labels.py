"""Labels are right: by hand, by independent oracles on all short words, and on a million sampled words per language."""

from collections.abc import Callable
from itertools import groupby, product

import numpy as np
import pytest

from languages import get, rng
from languages.automata import Dfa
from languages.registry import names
from languages.task import Task
from tests.languages.cases import CASES, Case
from tests.languages.oracles import ORACLES, VECTORISED, arithmetic, arithmetic_left_to_right, products

MOST_WORDS = 10_000  # tried of one length, so that binary words are tried up to length 12
GROUPS = {
    "cyclic-5": ((0, 1, 2, 3, 4), (1, 2, 3, 4, 0)),
    "dihedral-4": ((0, 1, 2, 3), (1, 2, 3, 0), (0, 3, 2, 1)),
    "symmetric-3": ((0, 1, 2), (1, 0, 2), (1, 2, 0)),
    "symmetric-5": ((0, 1, 2, 3, 4), (1, 0, 2, 3, 4), (1, 2, 3, 4, 0)),
    "alternating-5": ((0, 1, 2, 3, 4), (1, 2, 0, 3, 4), (1, 3, 2, 0, 4), (1, 4, 2, 3, 0)),
}


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
    assert set(ORACLES) == set(VECTORISED)
    assert set(names()) == set(ORACLES) | set(GROUPS)


@pytest.mark.parametrize("name", names())
def test_examples(name: str) -> None:
    task = get(name)
    assert len(task.examples) >= 3
    for word, label in task.examples:
        assert task.output_names[task.machine.answers(word).item()] == label


@pytest.mark.parametrize("name", ORACLES)
def test_all_short_words(name: str) -> None:
    task, oracle = get(name), ORACLES[name]
    lengths = [n for n in range(1, 13) if task.n_symbols**n <= MOST_WORDS or (n <= 5 and task.domain is not None)]
    assert task.n_symbols > 2 or max(lengths) == 12
    for length in lengths:
        words = words_of_domain(task, length)
        expected = [oracle(task.machine.decode(word)) for word in words]
        assert [task.output_names[label] for label in task.labels(words)] == expected


@pytest.mark.parametrize("name", ORACLES)
def test_the_two_oracles_agree(name: str) -> None:
    task = get(name)
    near_misses = 0.5 if task.sampling == "balanced" else 0.0
    batches = [words_of_domain(task, length)[:2000] for length in task.lengths(1, 5)]
    batches += [task.sample(rng(0, "oracles"), length, 200, near_misses) for length in task.lengths(40, 44)]
    for words in batches:
        expected = [ORACLES[name](task.machine.decode(word)) for word in words]
        assert [task.output_names[label] for label in VECTORISED[name](words)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", VECTORISED)
def test_a_million_samples(name: str) -> None:
    task = get(name)
    near_misses = 0.5 if task.sampling == "balanced" else 0.0
    lengths = task.lengths(1, 45)[::3]  # even and odd ones
    count = 1_000_000 // len(lengths) + 1
    for step, length in enumerate(lengths):
        words = task.sample(rng(0, "a million", step), length, count, near_misses)
        assert (task.labels(words) == VECTORISED[name](words)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS)
def test_a_million_products(name: str) -> None:
    task = get(name)
    expected_of: dict[int, bytes] = {}
    for step, length in enumerate((1, 3, 10, 25, 40)):
        words = task.sample(rng(0, "products", step), length, 200_000)
        images, labels = products(GROUPS[name], words), task.labels(words)
        keys = (images.astype(np.int64) * 8 ** np.arange(images.shape[1])).sum(axis=1)
        pairs = np.unique(np.stack([labels, keys], axis=1), axis=0)
        for label, key in pairs.tolist():  # one image to a label, one label to an image
            assert expected_of.setdefault(label, key) == key
    assert len(set(expected_of.values())) == len(expected_of) == task.n_outputs


@pytest.mark.parametrize("letters", ["generators", "elements"])
def test_identity_is_the_answer_of_the_first_element(letters: str) -> None:
    element, identity = get(f"dihedral-3:letters={letters}"), get(f"dihedral-3:answer=identity,letters={letters}")
    words = element.sample(rng(0, "identity"), 6, 2000)
    assert ((element.labels(words) == 0) == (identity.labels(words) == 1)).all()


@pytest.mark.parametrize("name", ["symmetric-3", "symmetric-4", "alternating-4", "dihedral-4"])
@pytest.mark.parametrize("order", ["left-to-right", "right-to-left"])
def test_products_in_both_orders(name: str, order: str) -> None:
    """Every short word moves the points one after the other, as its letters act from the left or from the right."""
    task = get(f"{name}:order={order}")
    moves = {letter: task_images(name, letter) for letter in task.alphabet}
    seen: dict[tuple[int, ...], int] = {}
    for word in (word for length in range(1, 6) for word in product(task.alphabet, repeat=length)):
        points = range(len(moves["e"]))
        for letter in word if order == "left-to-right" else reversed(word):
            points = [moves[letter][point] for point in points]
        label = task.machine.answers("".join(word)).item()
        # One image to a label, one label to an image; elements of S_n and A_n are named by their images.
        assert seen.setdefault(tuple(points), label) == label
        if not name.startswith("dihedral"):
            assert task.output_names[label] == "".join(str(point + 1) for point in points)
    assert len(set(seen.values())) == len(seen)


def task_images(name: str, letter: str) -> tuple[int, ...]:
    """What a letter does to the points, in the words of the docs."""
    n = int(name[-1])
    if letter == "s":
        return tuple(-point % n for point in range(n))
    if letter.isdigit():  # the cycle (1 2 k)
        return tuple({0: 1, 1: int(letter) - 1, int(letter) - 1: 0}.get(point, point) for point in range(n))
    swap, turn = (1, 0, *range(2, n)), (*range(1, n), 0)
    return {"e": tuple(range(n)), "t": swap, "c": turn, "r": turn}[letter]


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


def test_cyclic_two_is_parity() -> None:
    assert get("cyclic-2").machine.delta == get("parity").machine.delta


@pytest.mark.parametrize("modulus", [2, 3, 5, 10])
@pytest.mark.parametrize("operators", ["+", "-", "*", "+-", "-*", "+-*"])
@pytest.mark.parametrize("plus", ["true", "false"])
@pytest.mark.parametrize(
    ("name", "oracle"),
    [("modular-arithmetic", arithmetic), ("modular-arithmetic-left-to-right", arithmetic_left_to_right)],
)
def test_arithmetic_with_parameters(
    modulus: int, operators: str, plus: str, name: str, oracle: Callable[[str, int], str]
) -> None:
    task = get(f"{name}:modulus={modulus},operators={operators},plus={plus}")
    length = 10 if plus == "true" else 9
    words = task.sample(rng(0, "arithmetic"), length, 100)
    texts = [task.machine.decode(word) for word in words]
    assert [task.output_names[label] for label in task.labels(words)] == [
        oracle(text[1:] if plus == "true" else text, modulus) for text in texts
    ]
    assert all((text[0] == "+") == (plus == "true") for text in texts)
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


@pytest.mark.parametrize("name", ["modular-arithmetic", "modular-arithmetic-left-to-right"])
def test_ill_formed_expressions_have_no_answer(name: str) -> None:
    task = get(name)
    for length in (1, 2, 3):
        words = np.array(list(product(range(task.n_symbols), repeat=length)), dtype=np.uint8)
        assert ((task.labels(words) == -1) == ~task.domain.accepts(words)).all()


@pytest.mark.parametrize("name", [*names(), "modular-arithmetic:plus=true", "modular-arithmetic:modulus=2,operators=*"])
def test_every_word_of_the_domain_has_an_answer(name: str) -> None:
    task, machine = get(name), get(name).machine
    undefined = {state for state, output in zip(machine.states, machine.outputs, strict=True) if output == -1}
    silent = Dfa(machine.states, machine.alphabet, machine.delta, machine.initial, undefined)
    assert not undefined or (silent & task.domain).is_empty()


@pytest.mark.parametrize("name", [name for name in ORACLES if get(name).is_classification])
def test_next_symbols(name: str) -> None:
    """A symbol may follow iff some continuation, tried out, is a member."""
    task, oracle = get(name), ORACLES[name]
    reach = 6 if task.n_symbols == 2 else 5
    endings = ["".join(e) for n in range(reach + 1) for e in product(task.alphabet, repeat=n)]
    if name in ("dyck-12", "aa-bb-cc-dd-ee"):
        endings = ["".join(sorted(e)) for e in endings if list(e) == sorted(e)]  # members end in 1s, or in order
    hopeful: dict[str, bool] = {}

    def can(prefix: str) -> bool:
        if prefix not in hopeful:
            hopeful[prefix] = any(oracle(prefix + ending) == "accept" for ending in endings)
        return hopeful[prefix]

    for length in (1, 3):
        words = words_of_domain(task, length)
        table = task.next_symbols(words)
        assert table.shape == (len(words), length, task.n_symbols + 1)
        for word, rows in zip(words, table, strict=True):
            text = task.machine.decode(word)
            for t, row in enumerate(rows):
                prefix = text[: t + 1]
                assert row.tolist() == [*(can(prefix + a) for a in task.alphabet), oracle(prefix) == "accept"]
