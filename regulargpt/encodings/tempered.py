"""A temperature for every attention softmax of a trained model: chapter 5 of the thesis."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.regrouped import Regrouped, regrouped
from regulargpt.encodings.wrapper import EncodingWrapper

PARTS = ("all", "content")


def tempered(encoding: Encoding, tau: Float[Tensor, "n_layers n_heads"] | None, on: str = "all") -> Encoding:
    """The encoding with these temperatures instead of those that it may have; with none of them for None.

    >>> import torch
    >>> inner = Encoding(d_model=4, n_heads=1)
    >>> tempered(tempered(inner, torch.tensor([[0.5]])), None) is inner
    True
    """
    if isinstance(encoding, Regrouped):
        return regrouped(tempered(encoding.inner, tau, on), encoding.view)
    inner = encoding.inner if isinstance(encoding, Tempered) else encoding
    return inner if tau is None else Tempered(inner, tau, on)


class Tempered(EncodingWrapper):
    """Another encoding, with logits divided by tau, one number for each layer and head (thesis, Algorithm 1).

    `on` says what is divided: `all` is (score(q k / sqrt(d_head)) + bias) / tau, as T5 is aligned in the thesis,
    `content` is score(q k / sqrt(d_head)) / tau + bias. Below 1 attention is sharper, above 1 flatter.

    Raises `UserError` for another `on`, a tau of another shape, or a tau that is not above 0.

    >>> import torch
    >>> inner = Encoding(d_model=4, n_heads=1)
    >>> q = torch.ones(1, 1, 2, 4)
    >>> from regulargpt.encodings.base import consecutive
    >>> Tempered(inner, torch.tensor([[0.5]])).rotate(q, q, consecutive(q, q))[0][0, 0, 0]
    tensor([2., 2., 2., 2.])
    """

    def __init__(self, inner: Encoding, tau: Float[Tensor, "n_layers n_heads"], on: str = "all"):
        nn.Module.__init__(self)
        if on not in PARTS:
            raise UserError(f"a temperature is on all or content, not on {on!r:.40}")
        if tau.shape != (inner.n_layers, inner.n_heads):
            wanted, given = f"{inner.n_layers} x {inner.n_heads}", " x ".join(map(str, tau.shape))
            raise UserError(f"the model has {wanted} heads; there are {given} temperatures")
        if not bool((tau.isfinite() & (tau > 0)).all()):
            raise UserError("a temperature is a number above 0")
        self.inner, self.on = inner, on
        self.d_model, self.n_heads, self.d_head = inner.d_model, inner.n_heads, inner.d_head
        self.n_layers, self.causal, self.learning_rate = inner.n_layers, inner.causal, inner.learning_rate
        self.register_buffer("tau", tau, persistent=False)

    @property
    def divides_bias(self) -> bool:
        return self.on == "all"

    @property
    def fixed_bias(self) -> bool:  # type: ignore[override]  # here it depends on what is requested
        """A divided bias is kept for no later pass: the next pass may have another temperature."""
        return self.inner.fixed_bias and not self.divides_bias

    @property
    def shared_bias(self) -> bool:  # type: ignore[override]
        """Layers may have temperatures of their own."""
        return self.inner.shared_bias and not self.divides_bias

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        return self.inner.shift_invariant

    def tau_at(self, layer: int, like: Tensor) -> Float[Tensor, "n_heads 1 1"]:
        assert isinstance(self.tau, Tensor)
        return self.tau[layer, :, None, None].to(like)

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        """Queries divided by tau, where q k / sqrt(d_head) is all that there is of the content."""
        q, k = self.inner.rotate(q, k, at)
        return (q if self.changes_score else q / self.tau_at(at.layer, q)), k

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        """What the other makes of the logits, divided by tau: it sees them, and the queries, as it always does."""
        scores = self.inner.score(logits, q, k, at)
        return scores / self.tau_at(at.layer, scores) if self.changes_score else scores

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "#batch n_heads queries keys"] | None:
        # A bias that looks at the queries sees them as they were.
        q = q if self.changes_score else q * self.tau_at(at.layer, q)
        bias = self.inner.bias(q, k, at)
        return bias if bias is None or not self.divides_bias else bias / self.tau_at(at.layer, bias)
