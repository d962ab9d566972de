"""Reading a text symbol by symbol gives what one pass over it gives, for every encoding and every model."""

from typing import Any

import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.encodings import ENCODINGS
from regulargpt.models.decoding import Decoder, Recomputing
from regulargpt.models.rnn import Rnn
from regulargpt.models.transformer import decoding
from regulargpt.models.transformer.decoding import CachedDecoder
from tests.pairwise import pairwise
from tests.regulargpt.attending import N_HEADS, transformer, words

LENGTH, BOUNDARY = 40, 8


def one_by_one(decoder: Decoder, text: Tensor) -> Tensor:
    """The logits after each symbol: (batch, length, n_outputs)."""
    return torch.stack([decoder.feed(symbol) for symbol in text.split(1, dim=1)], 1)


@pytest.mark.parametrize("window", [None, 1, 11, 100])
@pytest.mark.parametrize("name", list(ENCODINGS))
def test_a_transformer_that_reads_on_answers_as_one_that_reads_all(name: str, window: int | None):
    model, text = transformer(name, train_len=LENGTH), words(2, LENGTH)
    found = one_by_one(model.decoder(window), text)
    model.set_attention("full" if window is None else f"sliding:{window}", train_len=LENGTH)
    assert torch.allclose(found, model(text, readout="all"), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("view", ["full", "sliding:5", "bca"])
@pytest.mark.parametrize("name", list(ENCODINGS))
def test_it_may_read_in_pieces_of_any_length_under_the_view_of_the_model(
    name: str, view: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decoding, "PIECE", 9)
    model, text = transformer(name, train_len=LENGTH), words(3, LENGTH)
    model.set_attention(view, train_len=8)
    decoder, wanted, read = model.decoder(), model(text, readout="all"), 0
    for some in (1, 7, 2, 20, 3, 7):
        logits = decoder.feed(text[:, read : read + some])
        read += some
        assert torch.allclose(logits, wanted[:, read - 1], atol=1e-10, rtol=1e-10)
    assert read == LENGTH


SCALED = [
    {"name": "rotary", "scaling": scaling, "factor": factor, "train_len": BOUNDARY}
    for scaling in ("interpolation", "ntk", "dynamic_ntk", "yarn")
    for factor in (0.0, 3.0)
]
# All encodings, and what changes with the length of the text in any of them; `learned` ends at the training length.
CROSSING: list[dict[str, Any]] = [
    *({"name": name} for name in ENCODINGS if name != "learned"),
    *SCALED,
    *({"name": around, "inner": inner} for around in ("log_n", "ssmax") for inner in SCALED),
    {"name": "learned", "beyond": "clamp"},
    {"name": "rotary", "scaling": "yarn", "layout": "halves", "fraction": 0.5, "attention_factor": 1.5},
    {"name": "xpos", "zeta": "scalar", "scale_base": 5.0},
    {"name": "alibi", "bias_dtype": "bfloat16"},
    {"name": "t5", "max_distance": 8, "buckets": 4},
    {"name": "transformer_xl", "clamp": 5},
    {"name": "path", "gate": True},
    {"name": "window", "width": 5},
    *({"name": "log_n", "inner": {"name": name}} for name in ("forgetting", "xpos", "window", "cope")),
]


@pytest.mark.parametrize(("encoding", "window", "tau"), pairwise(CROSSING, [None, 5], [None, 0.7]), ids=str)
def test_reading_on_across_the_training_length_is_a_pass_over_all_that_was_read(
    encoding: dict[str, Any], window: int | None, tau: float | None
):
    """The same text, cut after each symbol: a scaling may change what the first symbols are to a longer one."""
    model, text = transformer(encoding, train_len=BOUNDARY), words(2, 3 * BOUNDARY)
    model.set_temperature(None if tau is None else torch.full((2, N_HEADS), tau, dtype=torch.float64))
    found = one_by_one(model.decoder(window), text)
    model.set_attention("full" if window is None else f"sliding:{window}", train_len=BOUNDARY)
    for t in (1, 2, BOUNDARY - 1, BOUNDARY, BOUNDARY + 1, BOUNDARY + 2, 2 * BOUNDARY, 3 * BOUNDARY - 1, 3 * BOUNDARY):
        assert torch.allclose(found[:, t - 1], model(text[:, :t]), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("encoding", SCALED, ids=str)
def test_keys_are_kept_where_the_scaling_is_the_same_at_every_length(encoding: dict[str, Any]):
    fixed = encoding["factor"] > 0 and encoding["scaling"] != "dynamic_ntk"
    assert isinstance(transformer(encoding).decoder(), CachedDecoder if fixed else Recomputing)


def test_what_is_kept_does_not_grow_behind_the_window():
    model = transformer("alibi")
    decoder, sizes, kept = CachedDecoder(model, window=8), set(), set()
    for symbol in words(1, 50).split(1, dim=1):
        decoder.feed(symbol)
        sizes.add(decoder.bytes)
        kept.add(decoder.kept)
    # Of the window, the next symbol is the last; two layers of keys and values of 16 numbers of 8 bytes.
    assert (max(kept), max(sizes)) == (7, 7 * 2 * 2 * 16 * 8)
    decoder.feed(words(1, 1000))
    assert decoder.kept == 7


def test_what_an_encoding_does_not_see_is_not_kept():
    model = transformer({"name": "window", "width": 16})
    decoder = CachedDecoder(model)
    decoder.feed(words(1, 200))
    assert decoder.kept == 15


@pytest.mark.parametrize("view", ["full", "bca"])
@pytest.mark.parametrize("name", ["rotary", "xpos", "none"])
def test_a_fork_reads_on_by_itself(name: str, view: str):
    """Two texts that begin alike: each is read as if there were no other, in any order."""
    model, one, other = transformer(name, train_len=LENGTH), words(2, LENGTH), words(2, LENGTH).roll(1, 0)
    other = torch.cat([one[:, :20], other[:, 20:]], 1)
    model.set_attention(view, train_len=8)
    for decoder in (model.decoder(), Recomputing(model)):
        decoder.feed(one[:, :20])
        fork = decoder.fork()
        halves = [(decoder, one[:, 20:30]), (fork, other[:, 20:30]), (fork, other[:, 30:]), (decoder, one[:, 30:])]
        logits = [reader.feed(some) for reader, some in halves]
        assert torch.allclose(logits[2], model(other), atol=1e-10, rtol=1e-10)
        assert torch.allclose(logits[3], model(one), atol=1e-10, rtol=1e-10)


def test_a_recurrent_model_keeps_its_state_alone():
    decoder = Rnn(5, 5, d_model=8).decoder()
    decoder.feed(words(1, 30))
    assert [x.shape for x in vars(decoder).values() if isinstance(x, Tensor)] == [(1, 8)]


@pytest.mark.parametrize("options", [{"random_positions": 64}, {"causal": False}])
def test_where_positions_depend_on_what_is_to_come_all_is_computed_again(options: dict):
    model, text = transformer("rotary", **options), words(1, 12)
    decoder = model.decoder()
    assert isinstance(decoder, Recomputing)
    assert torch.allclose(one_by_one(decoder, text)[:, -1], model(text), atol=1e-12)


def test_a_window_of_nothing_and_nothing_to_read_are_refused():
    for model in (transformer("none"), Rnn(5, 5, d_model=8)):
        with pytest.raises(UserError, match="a window has at least 1 position"):
            model.decoder(window=0)
        with pytest.raises(UserError, match="length >= 1"):
            model.decoder().feed(words(1, 0))
