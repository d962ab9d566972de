"""Word problems of finite groups: which element is the product of the letters?

An element is a permutation of 1..n. By default products are from left to right: the letters act in the order they are
read, as in GAP and sympy. With order="right-to-left" the last letter acts first, as where functions are composed. The
answer is the product or, with `answer="identity"`, whether it is the identity (balanced classification).
"""

from collections.abc import Mapping
from math import factorial
from typing import Literal

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa, MooreMachine
from languages.automata.words import smallest_unsigned
from languages.budget import allowed, hint
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task

Permutation = tuple[int, ...]  # the images of 0, 1, ...
Answer = Literal["element", "identity"]
Letters = Literal["generators", "elements"]
Order = Literal["left-to-right", "right-to-left"]

MAX_CYCLIC = 1000
MAX_DIHEDRAL = 500
MAX_PERMUTED = 7
MAX_ELEMENTS = 720  # as letters


def cyclic(n: int, answer: Answer = "element", letters: Letters = "generators") -> Task:
    """The sum mod n. Letters 0 (the identity) and 1 (the generator); cyclic-2 is Parity.

    With letters="elements" every element is a letter. LanguageError: n outside 1..1000, or another word for
    `answer` or `letters`.

    >>> cyclic(3).machine.answers("1101", every=True).tolist()
    [1, 2, 2, 0]

    Source: Z_n; thesis, section 6.6.
    """
    _check("cyclic", n, 1, MAX_CYCLIC)
    names = {_turn(n, k): str(k) for k in range(n)}
    return _task(f"cyclic-{n}", f"Z_{n}", {"0": _turn(n, 0), "1": _turn(n, 1)}, names, answer, letters)


def dihedral(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The symmetries of a regular n-gon. Letters e (the identity), r (a turn by one corner), s (a reflection).

    Elements are named r0, r1, ... (turns) and s0, s1, ... (the reflection s, then that turn). Parameters as
    in `cyclic`. LanguageError: n outside 3..500.

    >>> machine = dihedral(4).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("rsre", every=True)]
    (8, ['r1', 's3', 's0', 's0'])

    Source: D_n, of order 2n.
    """
    _check("dihedral", n, 3, MAX_DIHEDRAL)
    flip = tuple(-i % n for i in range(n))
    turns = {_turn(n, k): f"r{k}" for k in range(n)}
    names = turns | {_then(flip, element): name.replace("r", "s") for element, name in turns.items()}
    generators = {"e": _turn(n, 0), "r": _turn(n, 1), "s": flip}
    return _task(f"dihedral-{n}", f"D_{n}", generators, names, answer, letters, order)


def symmetric(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """All permutations of 1..n. Letters e (the identity), t (the transposition (1 2)), c (the cycle (1 2 ... n)).

    Elements are named by their images of 1, 2, ..., n. Parameters as in `cyclic`, and the order of products: in "tc"
    the transposition acts first, or with order="right-to-left" the cycle. LanguageError: n outside 2..7.

    >>> machine = symmetric(3).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("tcct", every=True)]
    (6, ['213', '321', '132', '231'])
    >>> [machine.output_names[i] for i in symmetric(3, order="right-to-left").machine.answers("tcct", every=True)]
    ['213', '132', '321', '231']

    Source: S_n; S_5 is not solvable, and its word problem is complete for NC^1 (Barrington 1989).
    """
    _check_permuted("symmetric", n, 2)
    generators = {"e": _turn(n, 0), "t": (1, 0, *range(2, n)), "c": _turn(n, 1)}
    return _task(f"symmetric-{n}", f"S_{n}", generators, _one_line(generators), answer, letters, order)


def alternating(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The even permutations of 1..n. Letters e (the identity) and k = 3..n, each the cycle (1 2 k).

    Elements are named by their images of 1, 2, ..., n. Parameters as in `cyclic`. LanguageError: n outside 3..7.

    >>> machine = alternating(4).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("34e3", every=True)]
    (12, ['2314', '4321', '4321', '4132'])

    Source: A_n; A_5 is the smallest group that is not solvable.
    """
    _check_permuted("alternating", n, 3)
    rest = [[i if i != k else 0 for i in range(2, n)] for k in range(2, n)]
    generators = {"e": _turn(n, 0)} | {str(k + 1): (1, k, *images) for k, images in enumerate(rest, 2)}
    return _task(f"alternating-{n}", f"A_{n}", generators, _one_line(generators), answer, letters, order)


def _check(family: str, n: int, low: int, high: int) -> None:
    if not low <= n <= allowed(high):
        raise LanguageError(f"{family}-{n}: the number is {low} to {allowed(high)}{hint(n, high)}")


def _check_permuted(family: str, n: int, low: int) -> None:
    """The limit is on n!, which is how many permutations there are."""
    most, count = factorial(MAX_PERMUTED), factorial(min(n, 20))
    if n < low or count > allowed(most):
        raise LanguageError(f"{family}-{n}: the number is {low} to {MAX_PERMUTED}{hint(count, most)}")


def _turn(n: int, k: int) -> Permutation:
    """The cycle (1 2 ... n), k times; the identity for k = 0."""
    return tuple((i + k) % n for i in range(n))


def _then(first: Permutation, second: Permutation) -> Permutation:
    return tuple(second[image] for image in first)


def _products(elements: list[Permutation], letters: list[Permutation], order: Order) -> npt.NDArray[np.int32]:
    """The table (elements, letters) of the indices of "element, then letter", or from right to left the reverse."""
    kind = smallest_unsigned(len(elements[0]))
    images = np.array(elements, dtype=kind)  # (elements, n)
    index = {image.tobytes(): i for i, image in enumerate(images)}
    acting = (np.array(letter, dtype=kind) for letter in letters)
    moved = (letter[images] if order == "left-to-right" else images[:, letter] for letter in acting)  # (elements, n)
    columns = [[index[image.tobytes()] for image in row] for row in moved]  # (letters, elements)
    return np.array(columns, dtype=np.int32).T


def _one_line(generators: Mapping[str, Permutation]) -> dict[Permutation, str]:
    """The elements that the generators reach, in the order of their shortest words, and their names."""
    todo = [generators["e"]]
    names: dict[Permutation, str] = {}
    for element in todo:
        if element not in names:
            names[element] = "".join(str(image + 1) for image in element)
            todo.extend(_then(element, generator) for generator in generators.values())
    return names


def _task(
    name: str,
    group: str,
    generators: Mapping[str, Permutation],
    names: Mapping[Permutation, str],
    answer: Answer,
    letters: Letters,
    order: Order = "left-to-right",
) -> Task:
    """The task of a group given by its elements' names, the identity's first."""
    if answer not in ("element", "identity"):
        raise LanguageError(f"{name}: answer is {answer!r}; it is 'element' or 'identity'")
    if letters not in ("generators", "elements"):
        raise LanguageError(f"{name}: letters is {letters!r}; it is 'generators' or 'elements'")
    if order not in ("left-to-right", "right-to-left"):
        raise LanguageError(f"{name}: order is {order!r}; it is 'left-to-right' or 'right-to-left'")
    if letters == "elements" and len(names) > allowed(MAX_ELEMENTS):
        most = f"at most {allowed(MAX_ELEMENTS)}{hint(len(names), MAX_ELEMENTS)}"
        raise LanguageError(f"{name}: {len(names)} elements as letters are too many; {most}")
    alphabet = generators if letters == "generators" else {names[element]: element for element in names}
    delta = _products(list(names), list(alphabet.values()), order)
    states = tuple(names.values())
    identity = states[0]
    changed = {
        "answer": (answer, "element"),
        "letters": (letters, "generators"),
        "order": (order, "left-to-right"),
    }
    if answer == "identity":
        machine = Dfa(states, tuple(alphabet), delta, identity, {identity}).as_moore()
    else:
        machine = MooreMachine(states, tuple(alphabet), delta, identity, tuple(range(len(states))), states)
    return Task(
        name=spec(name, changed),
        machine=machine,
        summary=f"word problem of {group}: " + ("the product" if answer == "element" else "is it the identity?"),
        source="word problems of finite groups: Barrington 1989; Liu et al. 2023; Merrill et al. 2024",
        examples=_examples(generators, names, answer, letters),
        sampling="uniform" if answer == "element" else "balanced",
    )


def _examples(
    generators: Mapping[str, Permutation], names: Mapping[Permutation, str], answer: Answer, letters: Letters
) -> tuple[tuple[str, str], ...]:
    """Each generator alone, and the identity twice."""
    identity = next(iter(names))

    def shown(element: Permutation) -> str:
        if answer == "element":
            return names[element]
        return "accept" if element == identity else "reject"

    words = {letter if letters == "generators" else names[g]: shown(g) for letter, g in generators.items()}
    neutral = next(iter(words))
    single = all(len(name) == 1 for name in (generators if letters == "generators" else names.values()))
    return (*words.items(), (neutral * 2 if single else f"{neutral} {neutral}", shown(identity)))
