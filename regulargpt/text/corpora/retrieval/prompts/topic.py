"""A conversation in topics, of which the first is requested (LongEval, Li et al. 2023; thesis, section 5.5.2)."""

from __future__ import annotations

import re

import numpy as np

from regulargpt.text.corpora.retrieval.prompts.base import Prompt, PromptTask
from regulargpt.text.corpora.retrieval.prompts.topics import CLOSING, EXCHANGES, OPENING, TOPICS

TASK = (
    "Below is a record of our previous conversation on {count} different topics. You are the ASSISTANT, and I am the "
    "USER. At the beginning of each topic, the USER will say 'I would like to discuss the topic of <TOPIC>'. Memorize "
    "each <TOPIC>. At the end of the record, I will ask you to retrieve the first topic. Now the record start."
)
QUESTION = (
    "\nNow the record ends. What is the first topic we discussed? Only give me the topic name. Do not summarize "
    "yourself."
)
# A topic has so many words of exchanges or a few more, which makes it as long as LongEval's: 15,000 tokens hold 25.
WORDS = 330
# Of prompts as long as those of training: fewer make the first topic the only topic.
FEW = 2


class TopicPrompts(PromptTask):
    """So many topics, none of them twice, each with exchanges in an order of its own.

    >>> from languages.randomness import rng
    >>> prompt = TopicPrompts().prompt(rng(0, "example"), size=2)
    >>> prompt.answer, prompt.text.count("I would like to discuss the topic of")
    ('the recycling of glass', 3)
    """

    name = "topic"
    unit = "topics"
    most = 1000  # words, of which the exchanges come to an end

    def prompt(self, random: np.random.Generator, size: int) -> Prompt:
        """Each topic as long as LongEval's, and its exchanges whole."""
        return self.conversation(random, size, WORDS, is_whole=True)

    def growing(self, random: np.random.Generator, amount: int) -> Prompt:
        """Two topics, each with so many words of exchanges: the last answer of each is cut there."""
        return self.conversation(random, FEW, amount, is_whole=False)

    def conversation(self, random: np.random.Generator, count: int, words: int, is_whole: bool) -> Prompt:
        chosen: list[str] = [TOPICS[at] for at in random.choice(len(TOPICS), count, replace=False).tolist()]
        parts = [part for topic in chosen for part in discussed(random, topic, words, is_whole)]
        return Prompt("\n".join([TASK.format(count=count), *parts]) + QUESTION, chosen[0])

    def is_right(self, said: str, answer: str) -> bool:
        """All words of the topic are in what was said, in turn; the articles do not count."""
        return f" {plain(answer)} " in f" {plain(said)} "


def discussed(random: np.random.Generator, topic: str, words: int, is_whole: bool) -> list[str]:
    """What both say about a topic, as lines: an opening, exchanges until there are so many words, and a closing.

    If it is not to be whole, the last answer ends where there are so many words, but has one at least.
    """
    lines, so_far = [line.format(topic=topic) for line in OPENING], 0
    order: list[int] = random.permutation(len(EXCHANGES)).tolist()
    for at in order:
        if so_far >= words:
            break
        question, answer = EXCHANGES[at]
        so_far += len(question.split())
        said = answer.split() if is_whole else answer.split()[: max(1, words - so_far)]
        so_far += len(said)
        lines += [f"USER: {question}", f"ASSISTANT: {' '.join(said)}"]
    return [*lines, *(line.format(topic=topic) for line in CLOSING)]


def plain(text: str) -> str:
    """Words in small letters with one blank between, without articles.

    >>> plain("The art, of BAKING: a  start.")
    'art of baking start'
    """
    return " ".join(word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in ("the", "a", "an"))
