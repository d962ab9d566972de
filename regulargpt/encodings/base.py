"""The protocol of positional encodings: hooks, each doing nothing unless an encoding says otherwise.

    embed(x, n)               the input of the first block       sinusoidal, learned
    prepare(x, layer)         a state of each token of a block   forgetting, path
    rotate(q, k, at)          the queries and keys of a block    rotary, xpos, transformer_xl, ssmax
    score(logits, q, k, at)   the scaled logits of the content   kerple_bias_wht, gauss_wht, cope, path
    bias(q, k, at)            added to the scaled logits         alibi, kerple, t5, sandwich, window, transformer_xl

A model owns one encoding and hands it to all its blocks; parameters that differ between blocks have a leading
layer axis. The causal mask is the attention's business, never the encoding's. `at` says where the queries and keys
stand: nothing may be read off their number, since attention hands over pieces, windows and cached keys.

An encoding of your own is a class derived from `Encoding`, in any package. It overrides what it needs of the
hooks, and `draw` if it has parameters. If it has options, a frozen dataclass derived from `EncodingOptions`, its class
attribute `Options`, names them with types, defaults, bounds and a line of help; they arrive as keyword arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.encodings.options import EncodingOptions

Queries: TypeAlias = Float[Tensor, "batch n_heads queries d_head"]
Keys: TypeAlias = Float[Tensor, "batch n_heads keys d_head"]
Logits: TypeAlias = Float[Tensor, "batch n_heads queries keys"]


@dataclass(frozen=True)
class Positions:
    """Where the queries and keys of an attention stand, in which layer, and what `prepare` said of each key.

    Positions are float64: exact, and angles made from them precise. In a causal model the queries are the last of the
    keys that are handed over; these need not begin at position 0. `shown` says how many keys each query sees where a
    view hides some; it stays the same where keys are moved.

    >>> Positions(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0, 2.0])).distances
    tensor([[ 1.,  0., -1.],
            [ 2.,  1.,  0.]])
    """

    m: Float[Tensor, "queries"]
    n: Float[Tensor, "keys"]
    layer: int = 0
    state: Shaped[Tensor, "batch keys *state"] | None = None
    shown: Float[Tensor, "queries"] | None = None

    @property
    def distances(self) -> Float[Tensor, "queries keys"]:
        """m - n for every query and key: positive where the key lies in the past."""
        return self.m[:, None] - self.n[None, :]

    def piece(self, queries: slice, keys: slice) -> Positions:
        """The same for some of the queries and keys."""
        state = None if self.state is None else self.state[:, keys]
        shown = None if self.shown is None else self.shown[queries]
        return Positions(self.m[queries], self.n[keys], self.layer, state, shown)

    def n_visible(self, causal: bool) -> Float[Tensor, "queries"]:
        """How many keys each query sees: in a causal model those up to its own, or as many of them as a view shows.

        >>> n = torch.arange(4.0)
        >>> Positions(n, n).n_visible(True), Positions(n, n, shown=(n + 1).clamp(max=2)).n_visible(True)
        (tensor([1., 2., 3., 4.]), tensor([1., 2., 2., 2.]))
        """
        if not causal:
            return torch.full_like(self.m, len(self.n))
        return self.m + 1 if self.shown is None else self.shown


def consecutive(
    q: Float[Tensor, "*rows queries width"], k: Float[Tensor, "*rows keys width"], layer: int = 0
) -> Positions:
    """Keys at 0, 1, 2, ..., queries at the last of these.

    >>> consecutive(torch.zeros(2, 8), torch.zeros(3, 8)).m
    tensor([1., 2.], dtype=torch.float64)
    """
    n = torch.arange(k.shape[-2], dtype=torch.float64, device=k.device)
    return Positions(n[k.shape[-2] - q.shape[-2] :], n, layer)


class Encoding(nn.Module):
    """Base of all encodings.

    The constructor gets the model's sizes, and `generator`, from which `draw` draws the parameters. A class with
    options takes them by name and hands everything else on; what `draw` reads is set before that. Heads are `d_head`
    wide, 0 for d_model / n_heads.

    `shift_invariant` says that moving all positions by the same number changes no logit: positions count through m - n.
    `fixed_bias` says that the bias has no parameters and does not look at the input, so that it may be made once and
    kept; `shared_bias` that it does not look at the input and is the same in all layers. `learning_rate` multiplies
    that of the parameters.

    Raises `UserError` where `n_heads` does not divide `d_model` and nobody says how wide heads are, and where it needs
    a causal model and has none.

    >>> from dataclasses import dataclass
    >>> from regulargpt.options import option
    >>> @dataclass(frozen=True)
    ... class NearOptions(EncodingOptions):
    ...     width: int = option(2, "Positions that are seen.", least=1, why="a window has at least 1 position")
    >>> class Near(Encoding):
    ...     Options = NearOptions
    ...
    ...     def __init__(self, *, width=2, **sizes):
    ...         self.width = width
    ...         super().__init__(**sizes)
    ...
    ...     def bias(self, q, k, at):
    ...         far = at.distances >= self.width
    ...         return torch.zeros(far.shape).masked_fill(far, -torch.inf).expand(1, self.n_heads, -1, -1)
    >>> q = torch.zeros(1, 1, 3, 4)
    >>> Near(width=2, d_model=4, n_heads=1).bias(q, q, consecutive(q, q))[0, 0]
    tensor([[0., 0., 0.],
            [0., 0., 0.],
            [-inf, 0., 0.]])
    """

    Options: ClassVar[type[EncodingOptions]] = EncodingOptions
    fixed_bias: ClassVar[bool] = False
    shared_bias: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_head: int = 0,
        n_layers: int = 1,
        causal: bool = True,
        learning_rate: float = 1.0,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        if not d_head and d_model % n_heads:
            raise UserError(f"n_heads = {n_heads} does not divide d_model = {d_model}; choose one that does")
        if not causal and self.Options.causal_only:
            raise UserError(f"{self.Options.causal_only}; set model.causal = true")
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head or d_model // n_heads
        self.n_layers, self.causal, self.learning_rate = n_layers, causal, learning_rate
        self.draw(generator or torch.Generator().manual_seed(0))

    def draw(self, generator: torch.Generator) -> None:
        """Create the parameters, if there are any."""

    @property
    def span(self) -> int | None:
        """How many keys, the query's own among them, can count at most; None if all can."""
        return None

    def project(self) -> None:
        """Put the parameters back where they may be, in place; the trainer calls it after every step."""

    @property
    def changes_logits(self) -> bool:
        """Whether anything happens to q k / sqrt(d_head): then the fused kernel cannot be used without a mask."""
        return type(self).bias is not Encoding.bias or self.changes_score

    @property
    def changes_score(self) -> bool:
        """Whether q k / sqrt(d_head) itself is changed: then the fused kernel cannot be used at all."""
        return type(self).score is not Encoding.score

    @property
    def changes_embedding(self) -> bool:
        """Whether positions are in what the first block reads."""
        return type(self).embed is not Encoding.embed

    @property
    def keys_turn_alone(self) -> bool:
        """Whether `rotate` makes of a key what its own position says, and no other: then keys may be kept turned."""
        return type(self).rotate is Encoding.rotate

    @property
    def reach(self) -> int:
        """How many tokens before its own `prepare` looks at for the state of a token."""
        return 0

    @property
    def depends_on_length(self) -> bool:
        """Whether a symbol's state depends on how many follow it: then nothing of it can be kept while a text grows."""
        return False

    def embed(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """What the first block reads instead of the symbols' embeddings x, which stand at positions n."""
        return x

    def prepare(self, x: Float[Tensor, "batch length d_model"], layer: int) -> Float[Tensor, "batch length *s"] | None:
        """A state for each token, made from what attention reads; it comes back as `at.state`, cut as the keys are."""
        return None

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        """The queries and keys with their positions in them."""
        return q, k

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        """q k / sqrt(d_head), changed; the bias comes after it. What stands above a causal diagonal is not read."""
        return logits

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "#batch n_heads queries keys"] | None:
        """What is added to q k / sqrt(d_head), for q and k as `rotate` left them. -inf forbids a pair.

        It is float32, or float64 in a model of float64. In a causal model the entries above the diagonal may hold
        anything finite: the attention masks them.
        """
        return None
