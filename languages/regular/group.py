"""A finite group by generators, and its word problem: which element is the product of the letters?

An element is a permutation of points. By default products are from left to right: the letters act in the order they are
read, as in GAP and sympy. With order="right-to-left" the last letter acts first, as where functions are composed. The
answer is the product or, with `answer="identity"`, whether it is the identity (balanced classification).
"""

from collections.abc import Mapping
from dataclasses import dataclass
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

MAX_ELEMENTS = 720  # as letters


@dataclass(frozen=True)
class FiniteGroup:
    """A group: `title` is how people write it, `generators` are the letters, and `names` the elements' names.

    The identity is the first of the generators and of the names.
    """

    name: str
    title: str
    generators: Mapping[str, Permutation]
    names: Mapping[Permutation, str]


def then(first: Permutation, second: Permutation) -> Permutation:
    """The permutation that does in turn.

    >>> then((1, 0, 2), (1, 2, 0))
    (2, 1, 0)
    """
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


def word_problem(
    group: FiniteGroup, answer: Answer, letters: Letters | Literal["swaps"], order: Order = "left-to-right"
) -> Task:
    """The task of a group; its swaps are the elements that move at most two points.

    LanguageError: another word for `answer`, `letters` or `order`, or too many letters.
    """
    name, names = group.name, group.names
    if answer not in ("element", "identity"):
        raise LanguageError(f"{name}: answer is {answer!r}; it is 'element' or 'identity'")
    if letters not in ("generators", "elements", "swaps"):
        raise LanguageError(f"{name}: letters is {letters!r}; it is 'generators' or 'elements'")
    if order not in ("left-to-right", "right-to-left"):
        raise LanguageError(f"{name}: order is {order!r}; it is 'left-to-right' or 'right-to-left'")
    if letters == "elements" and len(names) > allowed(MAX_ELEMENTS):
        most = f"at most {allowed(MAX_ELEMENTS)}{hint(len(names), MAX_ELEMENTS)}"
        raise LanguageError(f"{name}: {len(names)} elements as letters are too many; {most}")
    chosen = [element for element in names if letters != "swaps" or moved(element) <= 2]
    alphabet = group.generators if letters == "generators" else {names[element]: element for element in chosen}
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
        summary=f"word problem of {group.title}: " + ("the product" if answer == "element" else "is it the identity?"),
        source="word problems of finite groups: Barrington 1989; Liu et al. 2023; Merrill et al. 2024",
        examples=_examples(group, answer, letters),
        sampling="uniform" if answer == "element" else "balanced",
    )


def moved(element: Permutation) -> int:
    """How many points it moves."""
    return sum(image != point for point, image in enumerate(element))


def _examples(group: FiniteGroup, answer: Answer, letters: Letters | Literal["swaps"]) -> tuple[tuple[str, str], ...]:
    """Each generator that is a letter alone, and the identity twice."""
    generators, names = group.generators, group.names
    if letters == "swaps":
        generators = {letter: element for letter, element in generators.items() if moved(element) <= 2}
    identity = next(iter(names))

    def shown(element: Permutation) -> str:
        if answer == "element":
            return names[element]
        return "accept" if element == identity else "reject"

    words = {letter if letters == "generators" else names[g]: shown(g) for letter, g in generators.items()}
    neutral = next(iter(words))
    single = all(len(name) == 1 for name in (generators if letters == "generators" else names.values()))
    return (*words.items(), (neutral * 2 if single else f"{neutral} {neutral}", shown(identity)))
