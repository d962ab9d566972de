"""LDRU (Pert, Alrajeh, Russo 2026, arXiv 2605.26035): a binary tree of an operator, read at its root.

Built from the paper's conventions; `mlp` is its operator. The others are the plain forms of what it is compared with.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Dropout, Readout, check_words, choose, embedding, linear
from regulargpt.models.ldru.layers import LdruFeedForward
from regulargpt.models.ldru.operators import OPERATORS
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nested import root_of
from regulargpt.models.tree.noise import StateNoise
from regulargpt.models.tree.quantiser import Quantiser


class Ldru(Tree):
    """A binary tree over the word, aligned on the left: the same operator at every level.

    A symbol's leaf is FFN(LN(E_s)). Two nodes become LN(FFN(z)), z = operator(x, y); a node without a neighbour on its
    right passes the level as LN(FFN(x)). FFN has a residual. There is no pad.

    >>> model = Ldru(2, 3, d_model=16)
    >>> words = torch.tensor([[0, 1, 1], [1, 1, 1]])
    >>> model(words).shape, model(words, readout="all").shape
    (torch.Size([2, 3]), torch.Size([2, 3, 3]))
    >>> torch.allclose(model(words), model.eval()(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    chunk_size, aligned = 2, "left"
    nothing: Tensor

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        operator: str = "mlp",
        d_model: int = 64,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.embedding = embedding(n_symbols, d_model, generator)
        self.embedding_norm, self.embedding_ffn = nn.LayerNorm(d_model), LdruFeedForward(d_model, generator)
        self.operator = choose("operator", operator, OPERATORS)(d_model, generator)
        self.ffn, self.state_norm = LdruFeedForward(d_model, generator), nn.LayerNorm(d_model)
        self.dropout, self.state_noise, self.quantiser = Dropout(dropout), StateNoise(), Quantiser()
        self.readout = linear(d_model, n_outputs, generator)
        self.register_buffer("nothing", torch.zeros(1, d_model), persistent=False)
        self.hook_embed, self.hook_state = HookPoint(), HookPoint()

    def parameter_groups(self) -> list[dict[str, Any]]:
        norms = [p for m in self.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()]
        kept = {id(p) for p in norms}
        return [{"params": [p for p in self.parameters() if id(p) not in kept]}, {"params": norms, "weight_decay": 0.0}]

    @property
    def absent(self) -> Float[Tensor, "1 d_model"]:
        return self.nothing

    @property
    def last_layer(self) -> nn.Linear:
        return self.ffn.ff_out

    def leaf(self, embedded: Float[Tensor, "*n d_model"]) -> Float[Tensor, "*n d_model"]:
        return self.hook_state(self.disturbed(self.embedding_ffn(self.embedding_norm(embedded))))

    def disturbed(self, states: Float[Tensor, "*n d_model"]) -> Float[Tensor, "*n d_model"]:
        return self.state_noise(self.dropout(states))

    def merge(
        self, states: Float[Tensor, "rows d_model"], children: Int[Tensor, "windows 2"]
    ) -> Float[Tensor, "windows d_model"]:
        x, y = (F.embedding(column, states) for column in children.unbind(1))
        alone = (children[:, 1:] == 0).expand_as(x)
        z = torch.where(alone, x, self.operator(x, y))
        return self.hook_state(self.quantiser(self.disturbed(self.state_norm(self.ffn(z)))))

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        if readout == "last":
            # Who listens at the embeddings hears each position, not each symbol once.
            return self.readout(root_of(self, words, share=not self.hook_embed.listened_to()))
        if self.direction is not None:
            raise UserError("a tree that follows brackets answers at the end of a word; read the last position")
        return self.readout(self.every_prefix(words))

    def every_prefix(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """The root of the tree over every prefix: O(T log T).

        All nodes of a prefix's tree but the last of each level are full, and the same for all longer prefixes.
        """
        B, T = words.shape
        full = self.positions(words)  # (batch, nodes of the level, d_model)
        last, roots = full, torch.empty_like(full)
        end = torch.arange(T, device=words.device)  # of each prefix, the number of its last node
        for level in range(1, self.depth(T) + 1):
            own, before = last.flatten(0, 1), full.flatten(0, 1)  # (batch * length, d_model), (batch * nodes, d_model)
            rows = torch.cat([self.nothing, own, before])
            prefix = 1 + torch.arange(B * T, device=words.device).view(B, T)  # (batch, length)
            left = 1 + B * T + full.shape[1] * torch.arange(B, device=words.device)[:, None] + end - 1  # (batch, T)
            paired = (end % 2 == 1).expand(B, T)  # (batch, length)
            children = torch.stack([torch.where(paired, left, prefix), torch.where(paired, prefix, 0)], -1)
            last = self.merge(rows, children.flatten(0, 1)).view(B, T, -1)  # (batch, length, d_model)
            # A node is full where a prefix ends with its last symbol.
            full = last[:, 2**level - 1 :: 2**level]  # (batch, full nodes, d_model)
            end = end // 2
            # The tree over a prefix of T symbols ends at the level where one node is left; one symbol has one level.
            ends = (end == 0) & (torch.arange(T, device=words.device) >= (2 ** (level - 1) if level > 1 else 0))
            roots = torch.where(ends[:, None], last, roots)
        return roots
