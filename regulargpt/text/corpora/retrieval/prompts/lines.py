"""LongEval's lines: the content of one line among many (Li et al. 2023; thesis, section 5.5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regulargpt.text.corpora.retrieval.prompts.base import (
    LARGEST,
    WRONG,
    NeedleTask,
    Prompt,
    number,
    numbers,
    other_numbers,
)
from regulargpt.text.corpora.retrieval.prompts.names import ADJECTIVES, NOUNS, name

TASK = (
    "Below is a record of lines I want you to remember. Each line begins with 'line <line index>' and contains a "
    "'<REGISTER_CONTENT>' at the end of the line as a numerical value. For each line index, memorize its "
    "corresponding <REGISTER_CONTENT>. At the end of the record, I will ask you to retrieve the corresponding "
    "<REGISTER_CONTENT> of a certain line index. Now the record start:\n\n"
)
QUESTION = "\nNow the record is over. Tell me what is the <REGISTER_CONTENT> in line {name}? I need the number."


CUE = " The <REGISTER_CONTENT> in line {name} is"


class LinePrompts(NeedleTask):
    """So many lines with names of their own; the content of one of them, any of them, is requested.

    >>> from languages.randomness import rng
    >>> LinePrompts().prompt(rng(0, "example"), size=2).text.splitlines()[2:4]
    ['line golden-hammer: REGISTER_CONTENT is <24538>', 'line young-hill: REGISTER_CONTENT is <14213>']
    """

    name = "line"
    unit = "lines"
    longest = " <50000>"
    most = len(ADJECTIVES) * len(NOUNS)

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        """Names are drawn without replacement, contents with."""
        names, contents = drawn(random, size)
        return self.prompt_at(names, contents, int(random.integers(size)))

    def planted(self, random: np.random.Generator, amount: int, depth: float) -> Prompt:
        """With the beginning of the answer behind the question, since a network need not have learned to answer.

        Wrong answers are the contents of other lines, as far as there are such.
        """
        names, contents = drawn(random, amount)
        prompt = self.prompt_at(names, contents, int(depth * amount))
        wrong = sorted({str(content) for content in contents} - {prompt.answer})
        order: list[int] = random.permutation(len(wrong)).tolist()
        chosen = [wrong[at] for at in order[:WRONG]]
        others = [*chosen, *other_numbers(random, WRONG - len(chosen), {prompt.answer, *chosen}, len(str(LARGEST)))]
        cue = CUE.format(name=names[int(depth * amount)])
        return Prompt(prompt.text + cue, f"<{prompt.answer}>", tuple(f"<{wrong}>" for wrong in others))

    def prompt_at(self, names: Sequence[str], contents: Sequence[int], at: int) -> Prompt:
        """The lines, of which one is requested."""
        lines = "".join(
            f"line {name}: REGISTER_CONTENT is <{content}>\n" for name, content in zip(names, contents, strict=True)
        )
        return Prompt(TASK + lines + QUESTION.format(name=names[at]), str(contents[at]))

    def is_right(self, said: str, answer: str) -> bool:
        """The last number in what was said is the content, which is how LongEval reads an answer."""
        return numbers(said)[-1:] == [answer]

    def is_found(self, said: str, answer: str) -> bool:
        """The first number in what goes on is the content: a network that is no assistant goes on with other lines."""
        return numbers(said)[:1] == numbers(answer)


def drawn(random: np.random.Generator, size: int) -> tuple[list[str], list[int]]:
    """Names without replacement, contents with."""
    chosen = random.choice(len(ADJECTIVES) * len(NOUNS), size, replace=False)
    return [name(at) for at in chosen.tolist()], [number(random) for _ in range(size)]
