"""What a weight-shared tree is: one map of C children to their parent's state, used at every level of any word."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.noise import StateNoise
from regulargpt.models.tree.quantiser import Quantiser
from regulargpt.models.tree.shape import Side

Map = Callable[[Float[Tensor, "rows d_model"], Int[Tensor, "windows C"]], Float[Tensor, "windows d_model"]]


class Layer(NamedTuple):
    """A map of windows of nodes to states, and whether it is the last of its level, which thins the nodes out."""

    apply: Map
    last: bool


class Tree(Model):
    """A model that computes a word as a tree. It is trained on random bracketings, and certified, by what stands here.

    The word is cut into windows of `chunk_size` nodes, counted from the side `aligned`; the last window, on the other
    side, may hold fewer. Windows are by offset: place 0 is the node nearest to the side `aligned`, and is always there.
    Each network says itself what it makes of places that are absent. `state_norm` is the last layer of the map; what it
    gives may be replaced by the nearest of the prototypes that `quantiser` has.
    """

    chunk_size: int
    aligned: Side
    embedding: nn.Embedding
    embedding_scale: float = 1.0
    state_noise: StateNoise
    quantiser: Quantiser
    state_norm: nn.Module
    readout: nn.Module
    hook_embed: HookPoint

    @property
    def direction(self) -> Int[Tensor, "symbols"] | None:
        """Of each symbol whether it calls (1), returns (-1) or neither (0); None of a tree that follows no brackets."""
        return self._buffers.get("brackets")

    def follow(self, direction: Sequence[int]) -> None:
        """Let the tree follow the brackets of words (nested.py) from now on."""
        self.register_buffer("brackets", torch.tensor(direction), persistent=False)

    @property
    @abstractmethod
    def absent(self) -> Float[Tensor, "1 d_model"]:
        """What stands in row 0 for a place without a node."""

    @abstractmethod
    def leaf(self, embedded: Float[Tensor, "*n d_model"]) -> Float[Tensor, "*n d_model"]:
        """The states of leaves, from the embeddings of their symbols."""

    def leaves(self) -> Float[Tensor, "leaves d_model"]:
        """The states of the leaves: row 0 is `absent`, row 1 + s the symbol s."""
        return torch.cat([self.absent, self.leaf(self.hook_embed(self.embedding.weight * self.embedding_scale))])

    def positions(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """The state of the leaf at every position; where a function listens to `hook_embed`, each passes it alone."""
        if self.hook_embed.listened_to():
            return self.leaf(self.hook_embed(self.embedding(words.long()) * self.embedding_scale))
        return self.leaves()[1:][words.long()]

    @abstractmethod
    def merge(
        self, states: Float[Tensor, "rows d_model"], children: Int[Tensor, "windows C"]
    ) -> Float[Tensor, "windows d_model"]:
        """The state over each window of rows; row 0 is `absent`."""

    @property
    def last_layer(self) -> nn.Linear | None:
        """The linear layer whose outputs, added to something, the state norm is given by `merge`; None without one."""
        return None

    def why_no_certificate(self) -> str | None:
        """Why its levels are not one and the same map at every length; None if they are."""
        return None

    def depth(self, length: int) -> int:
        return depth(length, self.chunk_size)

    def tree_layers(self, length: int) -> list[Layer]:
        return [Layer(self.merge, True)] * self.depth(length)

    def set_noise(self, level: float) -> None:
        self.state_noise.level = level


def as_tree(model: nn.Module) -> Tree:
    """The model, which is a tree: the options refuse others where a tree is needed."""
    assert isinstance(model, Tree), "the options refuse other models"
    return model
