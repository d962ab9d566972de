"""A prompt with its answer, a task that draws prompts, and the longest prompt of so many tokens."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from languages.errors import CorpusError

LARGEST = 50_000
"""Numbers to be found are 1 to this, in both papers."""
WRONG = 3
"""Wrong answers beside the right one, where it is asked which is likeliest."""


@dataclass(frozen=True)
class Prompt:
    """A text that ends with a question, and what the answer is to say."""

    text: str
    answer: str
    others: tuple[str, ...] = ()
    """Wrong answers of the same form, where it may be asked which answer is likeliest."""


class PromptTask(ABC):
    """A task in English. A prompt is a pure function of the size and the random numbers.

    >>> from languages.randomness import rng
    >>> from regulargpt.text.corpora.retrieval.prompts import PROMPTS
    >>> prompt = PROMPTS["passkey"].prompt(rng(0, "example"), size=100)
    >>> prompt.answer in prompt.text, PROMPTS["passkey"].is_right(f"It is {prompt.answer}.", prompt.answer)
    (True, True)
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    """What a size counts, in the plural."""
    most: ClassVar[int] = 10**9
    """The largest amount of a growing prompt."""

    @abstractmethod
    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        """A prompt of so many topics, lines or characters of filler."""

    def growing(self, random: np.random.Generator, amount: int) -> Prompt:
        """A prompt that becomes longer with the amount, 1 to `most`, in small steps."""
        return self.prompt(random, amount)

    @abstractmethod
    def is_right(self, said: str, answer: str) -> bool:
        """Whether what was said is the answer."""


class NeedleTask(PromptTask):
    """A task whose needle stands at a depth of one's choice: the answer goes on behind the prompt, after a blank."""

    longest: ClassVar[str]
    """An answer with as many letters as any."""

    @abstractmethod
    def planted(self, random: np.random.Generator, amount: int, depth: float) -> Prompt:
        """A prompt of so many lines, sentences or characters, of which a share of `depth` stands before the needle.

        Of several needles that are requested together, it is the first.
        """

    def is_found(self, said: str, answer: str) -> bool:
        """Whether what was said behind such a prompt is the answer."""
        return self.is_right(said, answer)


def of_tokens(
    task: PromptTask, count: Callable[[str], int], tokens: int, draw: Callable[[], np.random.Generator]
) -> Prompt:
    """A prompt as long as it can be with at most so many tokens, as `count` counts them.

    `draw` gives the same random numbers at every call. Raises CorpusError if the shortest prompt has more tokens.

    >>> from languages.randomness import rng
    >>> from regulargpt.text.corpora.retrieval.prompts import PROMPTS
    >>> def words(text: str) -> int:
    ...     return len(text.split())
    >>> words(of_tokens(PROMPTS["line"], words, 150, lambda: rng(0, "example")).text)
    147
    """

    return longest(task, lambda amount: task.growing(draw(), amount), count, tokens)


def longest(task: PromptTask, at: Callable[[int], Prompt], count: Callable[[str], int], tokens: int) -> Prompt:
    """The same of prompts of a task that become longer with an amount, as `at` draws them."""
    prompt, fits, beyond = at(1), 1, task.most + 1
    if (least := count(prompt.text)) > tokens:
        what = f"the shortest prompt of '{task.name}' has {least:,} tokens of this tokenizer"
        raise CorpusError(f"{what}; at most {tokens:,} are wanted")
    while beyond - fits > 1:
        # Doubled until it is too long, and halved from there on.
        amount = min(2 * fits, (fits + beyond) // 2)
        longer = at(amount)
        if count(longer.text) <= tokens:
            prompt, fits = longer, amount
        else:
            beyond = amount
    return prompt


def numbers(said: str) -> list[str]:
    """The numbers in a text, without zeros before them.

    >>> numbers("<024169>, or 7?")
    ['24169', '7']
    """
    return [digits.lstrip("0") for digits in re.findall(r"[0-9]+", said)]


def other_numbers(random: np.random.Generator, count: int, known: set[str], digits: int) -> list[str]:
    """So many different numbers of so many digits that are not known."""
    numbers: list[str] = []
    while len(numbers) < count:
        number = f"{random.integers(10 ** (digits - 1), 10**digits)}"
        if number not in known and number not in numbers:
            numbers.append(number)
    return numbers


def number(random: np.random.Generator) -> int:
    return int(random.integers(1, LARGEST + 1))
