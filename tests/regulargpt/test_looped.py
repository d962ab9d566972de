"""looped against its definition: passes that share a block, and each position read after its own number of passes."""

from __future__ import annotations

import math

import pytest
import torch

from regulargpt.models.decoding import Recomputing
from regulargpt.models.transformer.decoding import CachedDecoder
from regulargpt.models.transformer.model import Transformer
from tests.regulargpt.cases import assert_equal, built, slopes, words_of

CASES = [
    *("looped", "looped:loops_by=length,norm=post", "looped:loops=3", "looped:encoding=path"),
    *("looped:loops=2,encoding=path", "looped:loops_by=length,encoding=rotary"),
]


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_every_position_answers_as_to_the_word_up_to_it(case: str):
    model, words = built(case), words_of(2, 9)
    every = model(words, readout="all")
    for t in range(9):
        assert_equal([every[:, t]], [model(words[:, : t + 1])])


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_one_by_one_it_answers_as_at_once(case: str):
    model, words = built(case), words_of(2, 9)
    for window in (None, 4):
        decoder = model.decoder(window)
        assert isinstance(decoder, CachedDecoder if model.loops else Recomputing)
        found = torch.stack([decoder.feed(symbol) for symbol in words.split(1, 1)], 1)
        model.set_attention("full" if window is None else "sliding:4", train_len=9)
        assert_equal([found], [model(words, readout="all")])


def test_passes_are_those_of_a_network_with_blocks_of_the_same_weights_and_the_input_again_in_each():
    model, words = built("looped:loops=2", n_layers=1), words_of(3, 7)
    h = torch.zeros(3, 7, 8, dtype=torch.float64)
    x = model.embedding(words) * math.sqrt(8)
    for _ in range(2):
        h = model.blocks[0](h + x, model.encoding, torch.arange(7).double(), 0)
    expected = model.readout(model.ln_final(h))
    assert_equal(slopes(model, model(words, readout="all")), slopes(model, expected))


def test_one_pass_is_the_transformer():
    model, plain = built("looped:loops=1"), built("transformer")
    plain.load_state_dict(model.state_dict())
    assert isinstance(plain, Transformer)
    assert_equal(slopes(model, model(words_of(3, 7), "all")), slopes(plain, plain(words_of(3, 7), "all")))


def test_longer_words_take_more_passes():
    log, length = built("looped"), built("looped:loops_by=length")
    for T in range(1, 70):
        assert log.passes(T) == math.ceil(math.log2(T)) + 1
        assert (length.passes(T), built("looped:loops=5").passes(T)) == (T, 5)
