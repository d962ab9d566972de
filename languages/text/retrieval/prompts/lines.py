"""LongEval's lines: the content of one line among many (Li et al. 2023; thesis, section 5.5.2)."""

from __future__ import annotations

import numpy as np

from languages.text.retrieval.prompts.base import Prompt, PromptTask, number, numbers
from languages.text.retrieval.prompts.names import ADJECTIVES, NOUNS

TASK = (
    "Below is a record of lines I want you to remember. Each line begins with 'line <line index>' and contains a "
    "'<REGISTER_CONTENT>' at the end of the line as a numerical value. For each line index, memorize its "
    "corresponding <REGISTER_CONTENT>. At the end of the record, I will ask you to retrieve the corresponding "
    "<REGISTER_CONTENT> of a certain line index. Now the record start:\n\n"
)
QUESTION = "\nNow the record is over. Tell me what is the <REGISTER_CONTENT> in line {name}? I need the number."


class LinePrompts(PromptTask):
    """So many lines with names of their own; the content of one of them, any of them, is asked for.

    >>> from languages.randomness import rng
    >>> LinePrompts().prompt(rng(0, "example"), size=2).text.splitlines()[2:4]
    ['line golden-hammer: REGISTER_CONTENT is <24538>', 'line young-hill: REGISTER_CONTENT is <14213>']
    """

    name = "line"
    unit = "lines"
    most = len(ADJECTIVES) * len(NOUNS)

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        """Names are drawn without replacement, contents with."""
        chosen = random.choice(len(ADJECTIVES) * len(NOUNS), size, replace=False)
        names = [f"{ADJECTIVES[at // len(NOUNS)]}-{NOUNS[at % len(NOUNS)]}" for at in chosen.tolist()]
        contents = [number(random) for _ in names]
        lines = "".join(
            f"line {name}: REGISTER_CONTENT is <{content}>\n" for name, content in zip(names, contents, strict=True)
        )
        asked = int(random.integers(size))
        return Prompt(TASK + lines + QUESTION.format(name=names[asked]), str(contents[asked]))

    def is_right(self, said: str, answer: str) -> bool:
        """The last number in what was said is the content, which is how LongEval reads an answer."""
        return numbers(said)[-1:] == [answer]
