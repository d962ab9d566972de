"""Attention in which far keys stand elsewhere, each pair scored once: the fast form of `Regrouped`.

All queries and keys are turned twice, once as they stand and once as they are moved. Then some queries at a time have
their logits with the keys in the window and those with the keys behind it side by side, and one softmax over both. In
the window distances are the true ones; a sink is equally far from all queries that see it moved (Xiao et al. 2024).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Positions
from regulargpt.encodings.regrouped import Regrouped
from regulargpt.models.transformer.piece import Piece
from regulargpt.models.transformer.slices import cut
from regulargpt.options.views import Sliding


def regrouping(whole: Piece) -> Regrouped | None:
    """What moves the keys of a pattern that may be made so: one pair tells nothing of others, keys are at 0, 1, 2, ...

    >>> from regulargpt.encodings.base import Encoding, consecutive
    >>> from regulargpt.options.views import Full
    >>> q, plain = torch.zeros(1, 1, 5, 4), Encoding(d_model=4, n_heads=1)
    >>> regrouping(Piece(q, q, plain, consecutive(q, q), Full())) is None
    True
    """
    encoding, at = whole.encoding, whole.at
    if not isinstance(encoding, Regrouped) or whole.view != encoding.view:
        return None
    by_pairs = not encoding.inner.changes_score and at.state is None
    return encoding if by_pairs and float(at.n[-1]) == len(at.n) - 1 else None


def mixtures(
    whole: Piece, encoding: Regrouped, v: Float[Tensor, "batch n_heads keys d_head"], rows: int
) -> Iterator[Float[Tensor, "batch n_heads some d_head"]]:
    """The pattern times the values, for so many queries at a time."""
    (n_queries, n_keys), window = whole.shape, encoding.view.window
    before = n_keys - n_queries
    oldest = max(0, before - window + 1)
    near = turned(whole, encoding, slice(oldest, n_keys), whole.at)
    # One key at least: an encoding may look at where the first stands.
    far = turned(whole, encoding, slice(0, max(1, encoding.n_far(n_keys))), encoding.moved(whole.at))
    some = [slice(begin, min(n_queries, begin + rows)) for begin in range(0, n_queries, rows)]
    inside = [slice(max(oldest, before + each.start - window + 1), before + each.stop) for each in some]
    behind = [slice(0, encoding.n_far(before + each.stop)) for each in some]
    counted = [slice(keys.start - oldest, keys.stop - oldest) for keys in inside]  # from the first key that is near
    close, moved = near.cut(list(zip(some, counted, strict=True))), far.cut(list(zip(some, behind, strict=True)))
    # Values of keys that are near for some of these queries and far for others are read once.
    apart = [slice(0, min(keys.start, others.stop)) for keys, others in zip(inside, behind, strict=True)]
    for piece, beyond, v_near, v_far in zip(close, moved, cut(v, inside), cut(v, apart), strict=True):
        n_apart = v_far.shape[-2]
        pattern = side_by_side(encoding, piece, beyond, n_apart).softmax(-1).to(v.dtype)
        mixed = pattern[..., n_apart:] @ v_near
        yield pattern[..., :n_apart] @ v_far + mixed if n_apart else mixed


def side_by_side(
    encoding: Regrouped, near: Piece, far: Piece, n_apart: int
) -> Float[Tensor, "batch n_heads some apart_and_near"]:
    """The logits of the first keys, far for all these queries, and of those that are near for some of them."""
    logits = near.logits(near.bias())  # (batch, n_heads, some, near)
    if not (n_far := far.shape[1]):
        return logits
    beyond, n_both = far.logits(far.bias(), is_masked=True), n_far - n_apart
    is_near = encoding.is_near(near.at.piece(slice(None), slice(n_both)))
    both = torch.where(is_near, logits[..., :n_both], beyond[..., n_apart:])
    return torch.cat([beyond[..., :n_apart], both, logits[..., n_both:]], -1)


def turned(whole: Piece, encoding: Regrouped, keys: slice, at: Positions) -> Piece:
    """All queries and some of the keys as they stand at these positions; of the keys a window is seen."""
    at = at.piece(slice(None), keys)
    q, k = encoding.inner.rotate(whole.q, whole.k[..., keys, :], at)
    return Piece(q, k, encoding.inner, at, Sliding(encoding.view.window), keys.start)
