"""RegularGPT (section 6.2): one weight-shared thick layer, adaptive depth log_C T, Sliding-Dilated-Attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout, TiedReadout, check_words, choose, embedding, linear
from regulargpt.models.regulargpt.all_positions import state_at_all_positions
from regulargpt.models.regulargpt.block import TreeBlock, WindowAttention
from regulargpt.models.regulargpt.dense import dense_state
from regulargpt.models.regulargpt.gated import GatedAttention
from regulargpt.models.tree.base import Layer, Tree
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.nested import root_of
from regulargpt.models.tree.noise import StateNoise
from regulargpt.models.tree.quantiser import Quantiser
from regulargpt.models.tree.shape import Side

Computation = Literal["auto", "tree", "plain-tree", "every", "dense"]


class RegularGPT(Tree):
    """RegularGPT with a learned pad as the identity on the left of the word.

    Three computations of the same function: `tree` (the default for readout "last"), `every` (the default for
    "all") and `dense` (the reference, Eq. 6.1). With `gates` a node's children are multiplied by gates computed from
    all of them (gated.py); without, the block is the thesis's.

    The ablations: `distinct_levels` is 1 for weight sharing across depth; with n > 1 the first n levels have weights of
    their own and deeper levels reuse the last. `levels` is 0 for the adaptive depth; n > 0 is the depth for all words,
    and the answer sees the last C^n symbols (for thickness 1). `pad` is "learned", or "masked": what is absent on the
    left takes no part. `attention` is "dilated", or "full": Eq. (6.1) with 0 instead of minus infinity up to the
    position itself, which only `dense` computes. `tied` reads out by the embedding's transpose (texts).

    Raises `UserError` for a chunk size below 2, a width the heads do not divide, and gates where children are missing.

    >>> model = RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32)
    >>> words = torch.tensor([[0, 1, 1], [1, 1, 1]])
    >>> model(words).shape, model(words, readout="all").shape
    (torch.Size([2, 2]), torch.Size([2, 3, 2]))
    >>> torch.allclose(model(words), model(words, computation="dense"), atol=1e-6)
    True
    """

    aligned: Side = "right"
    pad: Tensor

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        chunk_size: int = 2,
        gates: bool = False,
        thickness: int = 1,
        d_model: int = 64,
        n_heads: int = 4,
        d_ff: int = 256,
        norm: str = "pre",
        activation: str = "gelu",
        attention_bias: bool = True,
        embedding_std: float = 1.0,
        embedding_scale: float = 1.0,
        state_norm: bool = True,
        distinct_levels: int = 1,
        levels: int = 0,
        pad: str = "learned",
        attention: str = "dilated",
        tied: bool = False,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        if chunk_size < 2:
            raise UserError(f"chunk_size = {chunk_size}; a chunk has at least 2 symbols")
        if d_model % n_heads:
            raise UserError(f"n_heads = {n_heads} does not divide d_model = {d_model}; choose one that does")
        for name, given, usual in (("pad", pad, "learned"), ("attention", attention, "dilated")):
            if gates and given != usual:
                raise UserError(f"{name} = {given!r}: gates need {name} = {usual!r}")
        self.chunk_size, self.thickness = chunk_size, thickness
        self.distinct_levels, self.embedding_scale = distinct_levels, embedding_scale
        self.levels = levels
        self.masked = choose("pad", pad, {"learned": False, "masked": True})
        self.full = choose("attention", attention, {"dilated": False, "full": True})
        generator = generator or torch.Generator().manual_seed(0)
        self.embedding = embedding(n_symbols, d_model, generator, std=embedding_std)
        self.hook_embed, self.hook_state = HookPoint(), HookPoint()
        # Drawn in any case, so that a seed gives the other weights alike with and without it.
        vector = torch.empty(1, d_model).normal_(0.0, 0.02, generator=generator)
        if self.masked:
            # Row 0 of the states still stands for what is absent, but it is no parameter, and nobody attends to it.
            self.register_buffer("pad", torch.zeros(1, d_model), persistent=False)
        else:
            self.pad = nn.Parameter(vector)
        self.blocks = nn.ModuleList(
            TreeBlock(
                (GatedAttention if gates else WindowAttention)(
                    d_model, n_heads, chunk_size, bias=attention_bias, masked=self.masked, generator=generator
                ),
                d_model,
                d_ff,
                norm=norm,
                activation=activation,
                generator=generator,
            )
            for _ in range(thickness * distinct_levels)
        )
        self.state_norm = nn.LayerNorm(d_model) if state_norm else nn.Identity()
        self.state_noise, self.quantiser = StateNoise(), Quantiser()
        self.readout = TiedReadout(self.embedding, n_outputs) if tied else linear(d_model, n_outputs, generator)

    @property
    def quadratic(self) -> bool:
        return self.full

    def compiled_parts(self) -> Sequence[nn.Module]:
        return list(self.blocks)

    def why_no_certificate(self) -> str | None:
        if self.thickness > 1 or self.distinct_levels > 1:
            return f"thickness = {self.thickness}, distinct_levels = {self.distinct_levels}"
        if self.levels or self.masked or self.full:
            return f"levels = {self.levels}, masked = {self.masked}, full = {self.full}"
        return None

    def depth(self, length: int) -> int:
        return self.levels or depth(length, self.chunk_size)

    def layers(self, level: int) -> Sequence[TreeBlock]:
        """The K layers of a level: SA^(l K + k) = SA^(k), FFN^(l K + k) = FFN^(k)."""
        first = min(level, self.distinct_levels - 1) * self.thickness
        return [self.blocks[first + k] for k in range(self.thickness)]  # type: ignore[misc]

    def tree_layers(self, length: int) -> list[Layer]:
        return [layer for level in range(self.depth(length)) for layer in self.level_layers(level)]

    def level_layers(self, level: int) -> list[Layer]:
        """The K layers of a level as the tree applies them: the states settle after the last."""
        *inner, last = self.layers(level)
        return [
            *(Layer(block, False) for block in inner),
            Layer(lambda x, windows: self.normalise_state(last(x, windows)), True),
        ]

    def merge(
        self, states: Float[Tensor, "rows d_model"], children: Int[Tensor, "windows C"]
    ) -> Float[Tensor, "windows d_model"]:
        """The one weight-shared layer over windows of states."""
        # Not the compiled call: it cannot be derived twice, as the Jacobian's loss asks, and hears no hooks set later.
        return self.normalise_state(self.layers(0)[0].forward(states, children))

    @property
    def last_layer(self) -> nn.Linear | None:
        """The second layer of the FFN; in post-LN a LayerNorm comes after it."""
        last = self.layers(0)[-1]
        return last.ff_out if last.pre else None

    @property
    def absent(self) -> Float[Tensor, "1 d_model"]:
        return self.pad

    def leaf(self, embedded: Float[Tensor, "*n d_model"]) -> Float[Tensor, "*n d_model"]:
        return self.hook_state(self.state_noise(self.state_norm(embedded)))

    def normalise_state(self, states: Float[Tensor, "*nodes d_model"]) -> Float[Tensor, "*nodes d_model"]:
        """The same of a node: it holds the recursion on a fixed set of states, or the quantiser on finitely many."""
        return self.hook_state(self.quantiser(self.state_noise(self.state_norm(states))))

    def forward(
        self,
        words: Int[Tensor, "batch length"],
        readout: Readout = "last",
        computation: Computation = "auto",
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        if self.full and computation not in ("auto", "dense"):
            raise UserError(f"computation = '{computation}' is for dilated attention; full attention needs 'dense'")
        computation = "dense" if self.full else computation
        if readout == "last" and computation in ("auto", "tree", "plain-tree"):
            return self.readout(root_of(self, words, share=computation != "plain-tree"))
        if self.direction is not None:
            raise UserError("a tree that follows brackets answers at the end of a word; read the last position")
        x = dense_state(self, words) if computation == "dense" else state_at_all_positions(self, words)
        return self.readout(x[:, -1] if readout == "last" else x)
