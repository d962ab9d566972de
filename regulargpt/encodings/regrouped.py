"""Keys that stand elsewhere in a test: StreamingLLM (Xiao et al. 2024) and Self-Extend (Jin et al. 2024).

A view says which keys a query sees; these two also say where they stand. Near pairs have the positions that they have,
far ones others, so that no distance occurs that training has not shown. Both need a score of their own for each pair.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.wrapper import EncodingWrapper
from regulargpt.options.views import SelfExtend, Sinks, View


class Regrouped(EncodingWrapper):
    """Another encoding, in which the pairs that are not near have the positions `moved`.

    Raises `UserError` for angles that depend on the word's length, since a piece of it does not say that.
    """

    shift_invariant = False

    def __init__(self, inner: Encoding, view: Sinks | SelfExtend):
        nn.Module.__init__(self)
        if inner.depends_on_length:
            raise UserError(f"attention = '{view}': angles depend on the word's length; give encoding.factor, or none")
        self.inner, self.view = inner, view
        self.d_model, self.n_heads, self.d_head = inner.d_model, inner.n_heads, inner.d_head
        self.n_layers, self.causal, self.learning_rate = inner.n_layers, inner.causal, inner.learning_rate

    @property
    def changes_logits(self) -> bool:
        return True

    @property
    def changes_score(self) -> bool:
        return True

    @property
    def keys_turn_alone(self) -> bool:
        """They are kept as they are, and turned where they are scored."""
        return True

    def is_near(self, at: Positions) -> Bool[Tensor, "queries keys"]:
        """Which pairs stand where they stand."""
        return at.distances < self.view.window

    def n_far(self, end: int) -> int:
        """How many of the first `end` keys the last of them sees moved."""
        return max(0, end - self.view.window)

    def moved(self, at: Positions) -> Positions:
        """Where the others stand."""
        raise NotImplementedError

    def hidden(self, at: Positions) -> Bool[Tensor, "queries keys"] | None:
        """Which pairs may not be seen; None if all may."""
        return None

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        return q, k

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        return torch.where(self.is_near(at), self.scored(q, k, at), self.scored(q, k, self.moved(at)))

    def scored(self, q: Queries, k: Keys, at: Positions) -> Logits:
        """The logits of the content, of the other encoding at these positions."""
        q, k = self.inner.rotate(q, k, at)
        return self.inner.score((q / math.sqrt(q.shape[-1])) @ k.mT, q, k, at)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "#batch #n_heads queries keys"] | None:
        near, far = (self.inner.bias(*self.inner.rotate(q, k, each), each) for each in (at, self.moved(at)))
        bias = None if near is None or far is None else torch.where(self.is_near(at), near, far)
        if (hidden := self.hidden(at)) is None:
            return bias
        dtype = torch.promote_types(q.dtype, torch.float32)
        bias = q.new_zeros(1, 1, *hidden.shape, dtype=dtype) if bias is None else bias
        return bias.masked_fill(hidden, -torch.inf)


class Streaming(Regrouped):
    """The first symbols, the sinks, and the last `window`, at the positions that they have in a cache of these alone.

    A sink is never farther from the query than the cache is long (Xiao et al. 2024, section 3.2). The authors' cache
    of `recent_size` keys has the query's own beside it: their window is one less.

    >>> from regulargpt.encodings.base import consecutive
    >>> from regulargpt.encodings.none import NoEncoding
    >>> q = torch.zeros(1, 1, 5, 4)
    >>> Streaming(NoEncoding(d_model=4, n_heads=1), Sinks(1, 2)).bias(q, q, consecutive(q, q))[0, 0, -1]
    tensor([0., -inf, -inf, 0., 0.])
    """

    view: Sinks

    def n_far(self, end: int) -> int:
        return min(self.view.sinks, super().n_far(end))

    def moved(self, at: Positions) -> Positions:
        return replace(at, m=at.m.clamp(max=self.view.kept - 1))

    def hidden(self, at: Positions) -> Bool[Tensor, "queries keys"]:
        return (at.distances >= self.view.window) & (at.n >= self.view.sinks)


class Extended(Regrouped):
    """The last `window` keys as they are; of others positions n // G, for queries m // G + W - W // G.

    Both have the same distance where near ends (Jin et al. 2024, Algorithm 1; W is their neighbour window).

    >>> from regulargpt.encodings.none import NoEncoding
    >>> n = torch.arange(10.0)
    >>> moved = Extended(NoEncoding(d_model=4, n_heads=1), SelfExtend(2, 4)).moved(Positions(n, n))
    >>> moved.distances[-1].tolist()
    [6.0, 6.0, 5.0, 5.0, 4.0, 4.0, 3.0, 3.0, 2.0, 2.0]
    """

    view: SelfExtend

    def __init__(self, inner: Encoding, view: SelfExtend):
        super().__init__(inner, view)
        if inner.changes_embedding:
            raise UserError(f"attention = '{view}': positions in the embeddings cannot stand elsewhere for some keys")

    def moved(self, at: Positions) -> Positions:
        group, window = self.view.group, self.view.window
        return replace(at, m=at.m // group + window - window // group, n=at.n // group)


def regrouped(encoding: Encoding, view: View) -> Encoding:
    """The encoding as a view moves keys, instead of as another one may have; as it is for a view that moves none.

    >>> from regulargpt.encodings.none import NoEncoding
    >>> plain = NoEncoding(d_model=4, n_heads=1)
    >>> regrouped(regrouped(plain, Sinks(1, 2)), SelfExtend(2, 4)).inner is plain
    True
    """
    inner = encoding.inner if isinstance(encoding, Regrouped) else encoding
    if isinstance(view, Sinks):
        return Streaming(inner, view)
    return Extended(inner, view) if isinstance(view, SelfExtend) else inner
