"""Attention with sinks and Self-Extend, each pair scored once, against the pattern that is made whole."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regulargpt.encodings import ENCODINGS, build
from regulargpt.encodings.added import Added
from regulargpt.encodings.base import Encoding, Positions
from regulargpt.encodings.regrouped import Regrouped, regrouped
from regulargpt.encodings.tempered import tempered
from regulargpt.models.transformer.attention import mixture
from regulargpt.models.transformer.masks import Masks
from regulargpt.models.transformer.piece import Piece
from regulargpt.models.transformer.regrouping import mixtures, regrouping
from regulargpt.options.views import SelfExtend, Sinks, Sliding, Within

HEADS, WIDTH = 2, 4
TAU = torch.tensor([[0.6, 1.7]], dtype=torch.float64)
VIEWS = st.builds(Sinks, st.integers(1, 5), st.integers(1, 9)) | st.builds(
    SelfExtend, st.integers(1, 4), st.integers(1, 9)
)


def whole(encoding: Encoding, view: Any, n_keys: int, n_queries: int, seed: int = 0) -> tuple[Piece, Tensor]:
    """A pattern of random queries, the last of its keys, and values."""
    generator = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, 2, HEADS, n_keys, WIDTH, generator=generator, dtype=torch.float64)
    n = torch.arange(n_keys, dtype=torch.float64)
    at = Positions(n[-n_queries:], n)
    return Piece(q[..., -n_queries:, :], k, encoding, at, view), v


def made(name: str) -> Encoding:
    sizes = {"d_model": HEADS * WIDTH, "n_heads": HEADS, "generator": torch.Generator().manual_seed(1)}
    return build(name, **sizes).double().eval()


def same(encoding: Encoding, view: Any, n_keys: int, n_queries: int, rows: int) -> None:
    """Pieces of so many queries have what the whole pattern has."""
    piece, v = whole(moving := regrouped(encoding, view), view, n_keys, n_queries)
    assert isinstance(moving, Regrouped)
    found = torch.cat(list(mixtures(piece, moving, v, rows)), -2)
    torch.testing.assert_close(found, piece.pattern(piece.bias()) @ v, atol=1e-12, rtol=1e-12)


@given(VIEWS, st.integers(1, 30), st.integers(1, 30), st.integers(1, 12))
def test_every_pair_is_scored_once_at_its_position(view: Any, n_keys: int, n_queries: int, rows: int):
    """Around the ends of windows, in pieces of any size, for all positions and for the last ones alone."""
    rotary = tempered(Added(made("rotary"), "kerple_log", {"r1": [[0.7, 2.0]], "r2": [[0.3, 1.0]]}), TAU)
    same(rotary, view, n_keys, min(n_keys, n_queries), rows)


@pytest.mark.parametrize("name", sorted({*ENCODINGS} - {"forgetting"}))
def test_of_any_encoding_whose_pairs_tell_nothing_of_others(name: str):
    """Those that change scores are made whole; `forgetting` needs a state, and positions in embeddings cannot move."""
    encoding = made(name)
    for view in (Sinks(2, 6), *[SelfExtend(3, 7)] * (not encoding.changes_embedding)):
        piece, _ = whole(regrouped(encoding, view), view, 20, 20)
        assert (regrouping(piece) is None) == encoding.changes_score
        if not encoding.changes_score:
            for n_keys, n_queries in ((25, 25), (25, 9), (25, 1), (3, 3)):
                same(encoding, view, n_keys, n_queries, 4)


def test_gradients_are_those_of_the_whole_pattern():
    for view in (Sinks(2, 6), SelfExtend(3, 7)):
        piece, v = whole(moving := regrouped(made("rotary"), view), view, 25, 25)
        assert isinstance(moving, Regrouped)
        inputs = [x.requires_grad_() for x in (piece.q, piece.k, v)]
        found = torch.cat(list(mixtures(piece, moving, v, 4)), -2)
        other = piece.pattern(piece.bias()) @ v
        of_found, of_other = (torch.autograd.grad(x.sin().sum(), inputs) for x in (found, other))
        torch.testing.assert_close(of_found, of_other, atol=1e-12, rtol=1e-12)


def test_another_view_and_positions_with_gaps_go_the_plain_way():
    """So does a state of each token. A window of the network's own is another view."""
    view = Sinks(2, 6)
    moving = regrouped(made("rotary"), view)
    plain, v = whole(moving, view, 20, 20)
    gaps, state = Positions(2 * plain.at.m, 2 * plain.at.n), replace(plain.at, state=torch.zeros(2, 20))
    others = [replace(plain, view=other) for other in (Within(view, 9), Sliding(4), Sinks(2, 5))]
    for piece in (*others, replace(plain, at=gaps), replace(plain, at=state)):
        assert regrouping(piece) is None
        expected = piece.pattern(piece.bias()) @ v
        torch.testing.assert_close(mixture(piece, v, Masks()), expected, atol=1e-12, rtol=1e-12)
