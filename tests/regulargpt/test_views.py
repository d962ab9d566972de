"""What restricted attention sees, for every encoding, against the definitions pair by pair in float64."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import consecutive
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.options import RecurrentOptions, TransformerOptions
from regulargpt.models.rnn import Rnn
from regulargpt.models.transformer import attention
from regulargpt.models.transformer.attention import Pass
from regulargpt.models.transformer.piece import Piece
from regulargpt.options.views import KNOWN, Bca, Full, Sliding, View, parse
from tests.pairwise import pairwise
from tests.regulargpt.attending import D_MODEL, N_HEADS, attended, attention_of, transformer, visible, words
from tests.regulargpt.cases import assert_equal, slopes

VIEWS: dict[str, View] = {
    **{"full": Full(), "sliding:1": Sliding(1), "sliding:5": Sliding(5), "sliding:1000000000": Sliding(1_000_000_000)},
    **{"bca:2": Bca(2), "bca:7": Bca(7), "bca:200": Bca(200)},
}
PIECES = (1, 4, 1 << 19)
"""Queries at a time: pieces of any size give the same."""


def cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention is computed in pieces of this size."""
    monkeypatch.setattr(attention, "CPU_AT_ONCE", size)
    monkeypatch.setattr(attention, "MIN_QUERIES", min(4, size))


def normed(length: int) -> Tensor:
    """What attention reads."""
    x = torch.randn(2, length, D_MODEL, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return F.layer_norm(x, [D_MODEL])


@pytest.mark.parametrize(
    ("name", "view", "size", "length"), pairwise(list(ENCODINGS), list(VIEWS), PIECES, (1, 2, 31, 67))
)
@torch.no_grad()
def test_attention_under_a_view_is_that_over_the_pairs_it_names(name, view, size, length, monkeypatch):
    cut(size, monkeypatch)
    model, x, n = transformer(name, train_len=67), normed(length), torch.arange(length, dtype=torch.float64)
    for layer in (0, 1):
        found = attention_of(model, layer)(x, model.encoding, n, layer, passing=Pass(VIEWS[view]))
        assert_equal([found], [attended(model, layer, x, visible(length, view))])


@pytest.mark.parametrize(("name", "view", "size"), pairwise(list(ENCODINGS), ["full", "sliding:5", "bca:7"], PIECES))
def test_gradients_under_a_view_are_those_over_the_pairs_it_names(name: str, view: str, size: int, monkeypatch):
    cut(size, monkeypatch)
    model, x, n = transformer(name, train_len=33), normed(33).requires_grad_(), torch.arange(33, dtype=torch.float64)
    found = attention_of(model, 1)(x, model.encoding, n, 1, passing=Pass(VIEWS[view]))
    assert_equal(slopes(model, found, x), slopes(model, attended(model, 1, x, visible(33, view)), x))


@pytest.mark.parametrize("text", ["sliding:1", "sliding:5", "bca"])
@pytest.mark.parametrize("name", list(ENCODINGS))
@torch.no_grad()
def test_who_listens_hears_the_restricted_pattern_and_changes_nothing(name: str, text: str):
    model, seen = transformer(name, train_len=13), visible(13, text if ":" in text else "bca:8")
    model.set_attention(text, train_len=8)
    output, cache = run_with_cache(model, words(2, 13), readout="all")
    assert torch.allclose(output, model(words(2, 13), readout="all"), atol=1e-12, rtol=1e-12)
    assert torch.allclose(output[:, -1], model(words(2, 13)), atol=1e-12, rtol=1e-12)
    for layer in (0, 1):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"]
        assert bool((pattern[:, :, ~seen] == 0).all())
        assert torch.allclose(pattern.sum(-1), torch.ones(2, N_HEADS, 13).double())


def test_a_full_view_undoes_a_restricted_one():
    model, some = transformer("alibi"), words(1, 20)
    before = model(some, readout="all")
    model.set_attention("sliding:3", train_len=8)
    assert not torch.allclose(model(some, readout="all"), before, atol=1e-3)
    model.set_attention("full", train_len=8)
    assert torch.equal(model(some, readout="all"), before)


@pytest.mark.parametrize("view", [Sliding(1), Sliding(40), Bca(64), Bca(65)])
def test_the_pairs_that_are_computed_grow_with_the_length_and_not_with_its_square(view: View):
    encoding, pairs = transformer("none").encoding, {}
    for length in (2048, 4096, 8192):
        q = torch.empty(1, 1, length, 1)
        cut = list(attention.pieces(Piece(q, q, encoding, consecutive(q, q), view)))
        assert [query.start for query, _ in cut[1:]] == [query.stop for query, _ in cut[:-1]]
        pairs[length] = sum((query.stop - query.start) * (key.stop - key.start) for query, key in cut)
        assert pairs[length] <= 2 * length * max(64, view.most or 0)
    assert pairs[8192] <= 2.01 * pairs[4096]


@pytest.mark.parametrize("half", [1, 2, 5])
def test_blockwise_attention_shows_no_distance_that_training_has_not(half: int):
    for train_len in (2 * half, 2 * half + 1):
        seen = visible(6 * half, f"bca:{train_len}")
        distances = [m - n for m in range(6 * half) for n in range(6 * half) if seen[m, n]]
        keys = seen[half:].sum(-1)
        assert (max(distances), int(keys.min()), int(keys.max())) == (2 * half - 1, half + 1, 2 * half)


def test_memory_of_a_piece_is_bounded_however_wide_the_batch_is():
    for patterns in (1, 12, 1000, 100_000):
        for n_keys in (16, 8192, 1 << 16):
            rows = attention.rows_at_once(patterns, n_keys, n_keys, torch.device("cpu"))
            assert rows == 1 or rows * patterns * n_keys <= attention.MOST_AT_ONCE


REFUSED = [
    *(
        (
            text,
            f"attention = '{text}'; choose {KNOWN}",
        )
        for text in ("sliding:0", "sliding:", "sliding:-3", "blocks")
    ),
    ("bca", "attention = 'bca' halves the training length 1; it must be at least 2"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_view_that_means_nothing_is_refused(text: str, message: str):
    with pytest.raises(UserError) as refused:
        parse(text, train_len=1)
    assert str(refused.value) == message


def test_who_has_no_such_attention_says_so_before_and_after_it_is_built():
    message = "attention = 'bca': Rnn has no attention that could be restricted"
    with pytest.raises(UserError, match=message):
        Rnn(2, 2, d_model=4).set_attention("bca", 8)
    Rnn(2, 2, d_model=4).set_attention("full", 8)
    assert RecurrentOptions("rnn").why_no_views() == "rnn has no attention that could be restricted"
    with pytest.raises(UserError, match="'bca' needs a causal model; set model"):
        transformer("none", causal=False).set_attention("bca", 8)
    assert TransformerOptions("transformer", causal=False).why_no_views() == "set model.causal = true"
    assert TransformerOptions("transformer").why_no_views() is None
