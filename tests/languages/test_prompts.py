"""Retrieval in English: the answer stands where a reader of its own finds it, and prompts are as long as asked for."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import CorpusError
from languages.randomness import rng
from regulargpt.text.corpora.retrieval.prompts import PROMPTS, Prompt, PromptTask, of_tokens
from regulargpt.text.corpora.retrieval.prompts.names import ADJECTIVES, NOUNS
from regulargpt.text.corpora.retrieval.prompts.topic import plain
from regulargpt.text.corpora.retrieval.prompts.topics import EXCHANGES, TOPICS
from tests.languages.prompt_reading import FOUND, lines_of, topics_of

SEEDS = st.integers(0, 10**6)
LARGEST = {"topic": 30, "line": 300, "passkey": 5000}


def drawn(name: str, seed: int, size: int) -> Prompt:
    return PROMPTS[name].prompt(rng(seed, "test"), size)


@pytest.mark.parametrize("name", PROMPTS)
@given(seed=SEEDS, share=st.floats(0.001, 1))
def test_the_answer_is_what_a_reader_finds(name: str, seed: int, share: float):
    size = max(1, round(share * LARGEST[name]))
    prompt = drawn(name, seed, size)
    assert prompt == drawn(name, seed, size) != drawn(name, seed + 1, size)
    assert FOUND[name](prompt.text) == prompt.answer
    assert PROMPTS[name].is_right(prompt.answer, prompt.answer)
    if name == "topic":
        topics = topics_of(prompt.text)
        assert len(set(topics)) == len(topics) == size
        assert f"on {size} different topics" in prompt.text
        assert set(topics) <= set(TOPICS)
    if name == "line":
        lines = lines_of(prompt.text)
        assert len(lines) == len({title for title, _ in lines}) == size
        assert all(1 <= int(content) <= 50_000 for _, content in lines)


@given(seed=SEEDS, size=st.integers(0, 60_000))
def test_filler_has_so_many_characters(seed: int, size: int):
    prompt = drawn("passkey", seed, size)
    _, before, key, after, question = prompt.text.split("\n")
    assert len(before) + len(after) == size
    assert key == f"The pass key is {prompt.answer}. Remember it. {prompt.answer} is the pass key."
    sentence = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. "
    assert all((sentence * 700).startswith(part) for part in (before, after))
    assert question == "What is the pass key? The pass key is"


@pytest.mark.parametrize("name", PROMPTS)
def test_every_place_is_asked_for(name: str):
    depths = []
    for seed in range(60):
        prompt = drawn(name, seed, {"topic": 4, "line": 50, "passkey": 2000}[name])
        sign = {"topic": f"USER: I would like to discuss the topic of {prompt.answer}.", "line": f"<{prompt.answer}>"}
        depths.append(prompt.text.index(sign.get(name, f"key is {prompt.answer}")) / len(prompt.text))
    if name == "topic":
        assert max(depths) < 0.3
    else:
        assert min(depths) < 0.25 < 0.75 < max(depths)


def words(text: str) -> int:
    return len(text.split())


COUNTS: dict[str, Callable[[str], int]] = {"words": words, "quarters of letters": lambda text: len(text) // 4}


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("task", PROMPTS.values(), ids=PROMPTS)
@given(seed=SEEDS, tokens=st.integers(450, 1200))
def test_a_prompt_fills_the_wanted_tokens(task: PromptTask, count: Callable[[str], int], seed: int, tokens: int):
    prompt = of_tokens(task, count, tokens, lambda: rng(seed, "test"))
    assert FOUND[task.name](prompt.text) == prompt.answer
    # A step is a line, a character, or a word in each of two topics, where a new exchange begins with its question.
    assert tokens - 60 < count(prompt.text) <= tokens


@pytest.mark.parametrize("task", PROMPTS.values(), ids=PROMPTS)
def test_a_wanted_length_that_no_prompt_has_is_refused(task: PromptTask):
    with pytest.raises(
        CorpusError, match=rf"the shortest prompt of '{task.name}' has [0-9]+ tokens .*; at most 20 are"
    ):
        of_tokens(task, words, 20, lambda: rng(0, "test"))


def test_a_conversation_of_two_topics_comes_to_an_end_and_25_are_as_long_as_those_of_the_papers():
    text = of_tokens(PROMPTS["topic"], words, 10**6, lambda: rng(0, "test")).text
    assert text.count("USER:") == 2 * (len(EXCHANGES) + 2)
    counts = [words(drawn("topic", seed, 25).text) for seed in range(5)]
    # 15,000 tokens of T5 are 11,000 to 12,000 words.
    assert 10_500 < min(counts) <= max(counts) < 12_000


RIGHT = [
    ("line", "24169", "24169", True),
    ("line", "The <REGISTER_CONTENT> in line torrid-kid is <24169>.", "24169", True),
    ("line", "line 3 has 24169", "24169", True),
    ("line", "24169, and 7", "24169", False),
    ("line", "124169", "24169", False),
    ("line", "", "24169", False),
    ("line", "none", "24169", False),
    ("passkey", "12345. Remember it. 12346 is not", "12345", True),
    ("passkey", "012345", "12345", True),
    ("passkey", "1 2345", "12345", False),
    ("passkey", "0", "12345", False),
    ("topic", "the ethics of zoos", "the ethics of zoos", True),
    ("topic", "The first topic we discussed was The Ethics of Zoos.", "the ethics of zoos", True),
    ("topic", "ethics of zoos", "the ethics of zoos", True),
    ("topic", "zoos and their ethics", "the ethics of zoos", False),
    ("topic", "the ethics of zoosemiotics", "the ethics of zoos", False),
    ("topic", "", "the ethics of zoos", False),
]


def test_what_is_right():
    for name, said, answer, is_right in RIGHT:
        assert PROMPTS[name].is_right(said, answer) is is_right, said


def test_names_and_topics_are_told_apart():
    assert len({*ADJECTIVES}) * len({*NOUNS}) == len(ADJECTIVES) * len(NOUNS) > 20_000
    assert all(re.fullmatch("[a-z]+", word) for word in (*ADJECTIVES, *NOUNS))
    shown = [f" {plain(topic)} " for topic in TOPICS]
    said = [f" {plain(part)} " for exchange in EXCHANGES for part in exchange]
    for topic in shown:
        assert sum(topic in other for other in (*shown, *said)) == 1
