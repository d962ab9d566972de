"""Prompts with a needle at a depth of one's choice: readers of their own find it there, and no wrong answer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.randomness import rng
from regulargpt.text.corpora.retrieval.prompts import NEEDLES, Prompt
from tests.languages.needle_reading import READERS

SEEDS = st.integers(0, 10**6)
DEPTHS = st.floats(0, 1, exclude_max=True)
NUMBERS = {"single": 1, "multikey": 4, "multivalue": 4, "multiquery": 4}


def planted(name: str, seed: int, amount: int, depth: float) -> Prompt:
    return NEEDLES[name].planted(rng(seed, "test"), amount, depth)


def parts(answer: str) -> list[str]:
    return re.findall("[0-9]+|[A-Z]{5}", answer)


def test_every_kind_has_a_reader():
    assert list(NEEDLES) == ["passkey", "single", "multikey", "multivalue", "multiquery", "line", "variables"]
    assert {*NEEDLES} == {*READERS}


@pytest.mark.parametrize("name", NEEDLES)
@given(seed=SEEDS, amount=st.integers(1, 300), depth=DEPTHS)
def test_a_reader_finds_the_answer_at_the_depth(name: str, seed: int, amount: int, depth: float):
    prompt, task = planted(name, seed, amount, depth), NEEDLES[name]
    assert prompt == planted(name, seed, amount, depth) != planted(name, seed + 1, amount, depth)
    found = READERS[name](prompt.text)
    assert sorted(found.answer) == sorted(parts(prompt.answer))
    assert found.depth == int(depth * amount) / amount
    assert task.is_found(f" {prompt.answer}. And so on", prompt.answer)
    assert len(prompt.answer) + 1 <= len(task.longest)
    if name in NUMBERS:
        assert prompt.text.count("One of the special magic numbers for") == NUMBERS[name]


@pytest.mark.parametrize("name", NEEDLES)
@given(seed=SEEDS, amount=st.integers(1, 40), depth=DEPTHS)
def test_three_answers_of_the_same_form_are_wrong(name: str, seed: int, amount: int, depth: float):
    prompt, task = planted(name, seed, amount, depth), NEEDLES[name]
    assert len({prompt.answer, *prompt.others}) == 4
    for other in prompt.others:
        assert re.sub("[0-9]+|[A-Z]{5}", "_", other) == re.sub("[0-9]+|[A-Z]{5}", "_", prompt.answer)
        if name == "multiquery":  # the same numbers, each another key's
            assert sorted(parts(other)) == sorted(parts(prompt.answer))
            assert all(one != right for one, right in zip(parts(other), parts(prompt.answer), strict=True))
        else:
            assert not task.is_found(other, prompt.answer)
    stand = [all(part in prompt.text for part in parts(other)) for other in prompt.others]
    wanted = {"multikey": True, "multiquery": True, "line": amount > 3}.get(name, False)
    assert all(stand) is wanted or name == "line"


@pytest.mark.parametrize("name", ["multivalue", "multiquery"])
def test_needles_behind_the_first_stand_in_any_order(name: str):
    orders = {tuple(READERS[name](prompt.text).answer) == tuple(parts(prompt.answer)) for prompt in
              (planted(name, seed, 90, 0.1) for seed in range(20))}  # fmt: skip
    assert orders == {True, False}


FOUND = [
    ("passkey", "12345. Remember it. 12346 is not", "12345", True),
    ("passkey", "1, 12345", "12345", False),
    ("single", "1234567, I think", "1234567", True),
    ("single", "1234568", "1234567", False),
    ("multivalue", "3, 2, and 1", "1, 2, and 3", True),
    ("multivalue", "1 and 3", "1, 2, and 3", False),
    ("line", "<24169>.\nline x: <7>", "<24169>", True),
    ("line", "<7>, <24169>", "<24169>", False),
    ("variables", "CD and AB", "AB, and CD", True),
    ("variables", "AB", "AB, and CD", False),
]


def test_what_is_found():
    for name, said, answer, is_found in FOUND:
        assert NEEDLES[name].is_found(said, answer) is is_found, said
