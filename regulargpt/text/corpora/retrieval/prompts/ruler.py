"""Needles of RULER among sentences of noise (Hsieh et al. 2024, arXiv:2404.06654; NVIDIA/RULER, niah and variables).

The wording is that of the paper. The noise is cut at sentences, so that a document is filled to just under a length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from regulargpt.text.corpora.retrieval.prompts.base import WRONG, NeedleTask, Prompt, numbers, other_numbers
from regulargpt.text.corpora.retrieval.prompts.names import ADJECTIVES, NOUNS, name

NOISE = ("The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.", "There and back again.")
ONE = (
    "A special magic number is hidden within the following text. Make sure to memorize it. I will quiz you about the "
    "number afterwards.\n{context}\nWhat is the special magic number for {query} mentioned in the provided text? The "
    "special magic number for {query} mentioned in the provided text is"
)
SOME = (
    "Some special magic numbers are hidden within the following text. Make sure to memorize it. I will quiz you about "
    "the numbers afterwards.\n{context}\nWhat are all the special magic numbers for {query} mentioned in the provided "
    "text? The special magic numbers for {query} mentioned in the provided text are"
)
NEEDLE = "One of the special magic numbers for {key} is: {value}."
CHAIN = (
    "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\nQuestion: Find "
    "all variables that are assigned the value {query} in the text above. Answer: According to the chain(s) of "
    "variable assignment in the text above, {count} variables are assigned the value {query}, they are:"
)
DIGITS = 7
HOPS = 4
LETTERS = 5


class MagicPrompts(NeedleTask):
    """Numbers of keys among noise, of which `queries` keys are requested; each has so many `values`.

    Wrong answers are numbers of other keys, or of several keys the numbers in another order; else they stand nowhere.

    >>> from languages.randomness import rng
    >>> SinglePrompts().planted(rng(0, "example"), 2, 0.5).text.splitlines()[1]
    'The grass is green. One of the special magic numbers for golden-hammer is: 9960823. The sky is blue.'
    """

    unit = "sentences of noise"
    keys: ClassVar[int] = 1
    values: ClassVar[int] = 1
    queries: ClassVar[int] = 1

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        return self.planted(random, size, float(random.random()))

    def planted(self, random: np.random.Generator, amount: int, depth: float) -> Prompt:
        count, n_queries = self.keys * self.values, self.queries * self.values
        chosen = random.choice(len(ADJECTIVES) * len(NOUNS), self.keys, replace=False)
        keys, numbers = [name(at) for at in chosen.tolist()], other_numbers(random, count, set(), DIGITS)
        needles = [NEEDLE.format(key=keys[at // self.values], value=value) for at, value in enumerate(numbers)]
        # Those that are requested in any order, the first of them at the depth.
        places = random.permutation([depth, *(depth + (1 - depth) * random.random(n_queries - 1))]).tolist()
        context = among(amount, needles, [*places, *random.random(count - n_queries).tolist()])
        text = (SOME if n_queries > 1 else ONE).format(context=context, query=listed(keys[: self.queries]))
        return Prompt(text, listed(numbers[:n_queries]), tuple(map(listed, self.wrong(random, numbers))))

    def wrong(self, random: np.random.Generator, numbers: Sequence[str]) -> list[list[str]]:
        """Wrong answers."""
        n_queries = self.queries * self.values
        if self.queries > 1:  # turned by 1, 2, ...: each number is another key's
            return [[*numbers[turn:n_queries], *numbers[:turn]] for turn in range(1, WRONG + 1)]
        if len(numbers) > n_queries:
            return [[number] for number in numbers[n_queries : n_queries + WRONG]]
        new = other_numbers(random, WRONG * n_queries, set(numbers), DIGITS)
        return [new[at : at + n_queries] for at in range(0, len(new), n_queries)]

    def is_right(self, said: str, answer: str) -> bool:
        """All numbers are in what was said, in any order: stricter than RULER's score, which counts parts."""
        return set(numbers(answer)) <= set(numbers(said))


class SinglePrompts(MagicPrompts):
    """One needle."""

    name = "single"
    longest = " 1234567"


class MultikeyPrompts(MagicPrompts):
    """Four keys, of which one is requested."""

    name = "multikey"
    longest = " 1234567"
    keys = 4


class MultivaluePrompts(MagicPrompts):
    """One key with four numbers."""

    name = "multivalue"
    longest = " 1234567, 1234567, 1234567, and 1234567"
    values = 4


class MultiqueryPrompts(MagicPrompts):
    """Four keys, of which all are requested."""

    name = "multiquery"
    longest = " 1234567, 1234567, 1234567, and 1234567"
    keys = 4
    queries = 4


class VariablePrompts(NeedleTask):
    """A chain of assignments: which variables have the value? Wrong answers are names that stand nowhere.

    >>> from languages.randomness import rng
    >>> print(VariablePrompts().planted(rng(0, "example"), 2, 0.0).text.splitlines()[2][:64])
    VAR IZRMH = 47559. The grass is green. VAR XVVNG = VAR IZRMH. VA
    """

    name = "variables"
    unit = "sentences of noise"
    longest = " ABCDE, ABCDE, ABCDE, ABCDE, and ABCDE"

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        return self.planted(random, size, float(random.random()))

    def planted(self, random: np.random.Generator, amount: int, depth: float) -> Prompt:
        """The first assignment stands at the depth, the others behind it in their order."""
        count = HOPS + 1
        names, (value,) = variables(random, count * (1 + WRONG)), other_numbers(random, 1, set(), LETTERS)
        given = [value, *(f"VAR {name}" for name in names[:HOPS])]
        needles = [f"VAR {name} = {other}." for name, other in zip(names, given, strict=False)]
        places = [depth, *sorted((depth + (1 - depth) * random.random(HOPS)).tolist())]
        text = CHAIN.format(context=among(amount, needles, places), query=value, count=count)
        answer, *others = (listed(names[at : at + count]) for at in range(0, len(names), count))
        return Prompt(text, answer, tuple(others))

    def is_right(self, said: str, answer: str) -> bool:
        """All names are in what was said, in any order: stricter than RULER's score, which counts parts."""
        return {*re.findall("[A-Z]+", answer)} <= {*re.findall("[A-Z]+", said)}


def variables(random: np.random.Generator, count: int) -> list[str]:
    """So many different names of letters."""
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(chr(ord("A") + at) for at in random.integers(26, size=LETTERS).tolist())] = None
    return list(names)


def among(amount: int, needles: Sequence[str], places: Sequence[float]) -> str:
    """So many sentences of noise, and each needle behind a share of them.

    >>> among(2, ["Here it is."], [0.5])
    'The grass is green. Here it is. The sky is blue.'
    """
    parts = [(at, NOISE[at % len(NOISE)]) for at in range(amount)]
    # A needle stands before the sentence of its place.
    parts += [(int(place * amount) - 0.5 + place / 4, needle) for place, needle in zip(places, needles, strict=True)]
    return " ".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def listed(words: Sequence[str]) -> str:
    """As RULER lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b, and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, and {words[-1]}"
