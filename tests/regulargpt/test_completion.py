"""Code completion: which lines are asked for, against plain Python; greedy writing, against whole forward passes."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt import data
from regulargpt.models.base import Model
from regulargpt.text.data.segments import TextData
from regulargpt.text.measurements import completion
from regulargpt.text.measurements.completion import LEAST, MOST, NEWLINE, CompletedLine, completed, continued, places
from tests.regulargpt.attending import transformer, words
from tests.regulargpt.texts import text_config


def text_of(path: Path, content: bytes) -> TextData:
    path.write_bytes(content)
    source = data.build(text_config(f"text:{path}").data)
    assert isinstance(source, TextData)
    return source


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> TextData:
    """Lines of 0 to 99 characters, some indented, some of spaces alone."""
    random = np.random.default_rng(0)
    lines = [
        b" " * int(random.integers(0, 30)) + b"\t" * int(random.integers(0, 2)) + b"x" * int(random.integers(0, 70))
        for _ in range(3000)
    ]
    return text_of(tmp_path_factory.mktemp("code") / "code", b"\n".join(lines))


def fit(source: TextData, farthest: int) -> set[int]:
    """Where lines begin that can be asked for, by splitting the text."""
    found, at = set(), 0
    whole = bytes(source.corpus.test)
    for line in whole.split(b"\n")[:-1]:
        inked = len(line.replace(b" ", b"").replace(b"\t", b""))
        if at and at >= farthest and len(line) <= MOST and inked >= LEAST:
            found.add(at)
        at += len(line) + 1
    return found


@pytest.mark.parametrize("farthest", [0, 100, 3000])
def test_lines_that_are_asked_for_begin_after_enough_text_and_are_neither_short_nor_long(code: TextData, farthest: int):
    can = fit(code, farthest)
    assert set(places(code, farthest, len(can), 0)) == can
    drawn = places(code, farthest, 20, seed=3)
    assert list(drawn) == sorted(set(drawn))
    assert set(drawn) <= can
    assert np.array_equal(drawn, places(code, farthest, 20, seed=3))
    assert not np.array_equal(drawn, places(code, farthest, 20, seed=4))
    with pytest.raises(UserError, match=f"has {len(can)} lines to complete after {farthest:,} symbols; ask for fewer"):
        places(code, farthest, len(can) + 1, 0)


def test_word_pieces_have_no_lines(code: TextData):
    pieces = replace(code, options=replace(code.options, tokenizer="pieces.json"))
    with pytest.raises(UserError, match="is read in word pieces, which have no lines; choose a run on bytes"):
        places(pieces, 0, 1, 0)


@pytest.mark.parametrize("name", ["t5", "rotary", "none", "alibi"])
@pytest.mark.parametrize("tempered", [False, True])
def test_writing_on_is_the_likeliest_symbol_of_the_whole_text_each_time(name: str, tempered: bool, monkeypatch: Any):
    monkeypatch.setattr(completion, "NEWLINE", 2)
    monkeypatch.setattr(completion, "MOST", 12)
    model = transformer(name, 64).eval()
    if tempered:
        model.set_temperature(torch.full((len(model.attentions), model.attentions[0].n_heads), 0.3))
    read = words(3, 10)
    written = torch.from_numpy(continued(model, read.numpy()))
    for row, text in zip(written, read, strict=True):
        for i, symbol in enumerate(row):
            expected = model(torch.cat([text, row[:i]])[None])[0].argmax()
            assert symbol == expected
    # As far as the last line needs, and no farther.
    ends = [row.tolist().index(2) if 2 in row else 99 for row in written]
    assert written.shape[1] == min(12, max(ends) + 1)


class Cycle(Model):
    """Knows which byte comes after which: every byte of the text says what is next."""

    def __init__(self, text: bytes, wrong: int | None = None):
        super().__init__()
        self.table = torch.zeros(256, 256)
        for one, next_one in zip(text, text[1:] + text[:1], strict=True):
            self.table[one, next_one] = 1.0
        if wrong is not None:
            self.table[wrong] = torch.eye(256)[NEWLINE]

    def forward(self, words: torch.Tensor, readout: str = "last") -> torch.Tensor:
        return self.table[words[:, -1]]


def test_who_knows_what_comes_next_writes_every_line(tmp_path: Path):
    once = b"abcdefghijklmnopqrstuvwxyz0123456789\n"
    source = text_of(tmp_path / "text", once * 800)
    at = places(source, 50, 40, 0)
    for length in (1, 8, 50):
        lines = completed(Cycle(once), source, length, at)
        assert [line.wanted for line in lines] == [once[:-1].decode()] * 40
        assert all(line.is_exact and line.similarity == 100 for line in lines)
    (short, *_) = completed(Cycle(once, wrong=ord("r")), source, 8, at)
    assert short.written == "abcdefghijklmnopqr"
    assert not short.is_exact
    assert short.similarity == pytest.approx(200 * 18 / (18 + 36))


def test_a_line_that_never_ends_is_broken_off(tmp_path: Path):
    source = text_of(tmp_path / "text", b"aaaaaaaaaaaa\n" * 800)
    forever = Cycle(b"a")
    (line, *_) = completed(forever, source, 5, places(source, 50, 3, 0))
    # Nothing is known of what comes after a newline, so it is the first byte; the line has bytes all the same.
    assert len(line.written) == MOST


@given(st.text(), st.text())
def test_similarity_is_a_share_that_is_whole_for_equals_alone(one: str, other: str):
    found = CompletedLine(one, other).similarity
    assert 0 <= found <= 100
    assert (found == 100) == (one == other)
    matched = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    assert found == pytest.approx(200 * matched / (len(one) + len(other)) if one or other else 100)
