"""A pass key in filler sentences (Mohtashami and Jaggi 2023; thesis, section 5.5.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regulargpt.text.corpora.retrieval.prompts.base import WRONG, NeedleTask, Prompt, number, numbers, other_numbers

TASK = (
    "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. "
    "I will quiz you about the important information there."
)
FILLER = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. "
KEY = "The pass key is {key}. Remember it. {key} is the pass key."
QUESTION = "What is the pass key? The pass key is"


class PasskeyPrompts(NeedleTask):
    """So many characters of filler, and the key somewhere between them, every place equally likely.

    >>> from languages.randomness import rng
    >>> PasskeyPrompts().prompt(rng(1, "example"), size=60).text.splitlines()[1:]
    ['The g', 'The pass key is 10273. Remember it. 10273 is the pass key.', 'The grass is green. The sky is blue. The sun is yellow.', 'What is the pass key? The pass key is']
    """  # noqa: E501

    name = "passkey"
    unit = "characters of filler"
    longest = " 50000"

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        """As in the paper's code both parts of the filler begin with its first sentence, and end anywhere."""
        before = int(random.integers(size + 1))
        return self.hidden(number(random), before, size)

    def planted(self, random: np.random.Generator, amount: int, depth: float) -> Prompt:
        key = number(random)
        others = other_numbers(random, WRONG, {str(key)}, len(str(key)))
        return replace(self.hidden(key, int(depth * amount), amount), others=tuple(others))

    def hidden(self, key: int, before: int, size: int) -> Prompt:
        """The key behind so many of the characters."""
        filler = FILLER * (size // len(FILLER) + 1)
        lines = [TASK, filler[:before], KEY.format(key=key), filler[: size - before], QUESTION]
        return Prompt("\n".join(lines), str(key))

    def is_right(self, said: str, answer: str) -> bool:
        """The first number in what was said is the key."""
        return numbers(said)[:1] == [answer]
