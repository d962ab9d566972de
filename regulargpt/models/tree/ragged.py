"""The trees of words of many lengths at once: each sub-word of all of them is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.models.hooks import listened_to
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import level_over, windows_of

# Above the levels that have at most so many sub-words nodes hardly repeat, and each needs its own state. One pass has
# so many numbers in these states, and takes several times their memory; more symbols at once save hardly any time.
MOST_SUBWORDS, MOST_NUMBERS, MOST_SYMBOLS = 1 << 17, 1 << 24, 1 << 22


def may_be_ragged(model: object) -> TypeGuard[Tree]:
    """Whether a model is a tree of one map, which takes words of all lengths up together, and nobody listens to it."""
    if not isinstance(model, Tree) or model.direction is not None:
        return False
    return model.why_no_certificate() is None and not listened_to(model)


def symbols_at_once(model: Tree) -> int:
    """How many symbols one pass should have: the more sub-words repeat, the more.

    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> [symbols_at_once(RegularGPT(n, 2, d_model=64)) for n in (2, 5, 26, 1000)]
    [4194304, 2097152, 1048576, 524288]
    """
    n_symbols, width = model.embedding.weight.shape
    C = reach = model.chunk_size
    while reach < MOST_SYMBOLS and n_symbols**reach <= MOST_SUBWORDS:
        reach *= C
    return min(MOST_SYMBOLS, MOST_NUMBERS // width * reach)


def ragged_logits(model: Tree, batches: Sequence[Int[Tensor, "n length"]]) -> Float[Tensor, "words n_outputs"]:
    """The logits of all words, in order: each batch has words of equal length, and its trees are as deep as they need.

    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> model = RegularGPT(2, 2, d_model=8, n_heads=2, d_ff=8, generator=torch.Generator().manual_seed(0))
    >>> ragged_logits(model, [torch.tensor([[1], [0]]), torch.tensor([[0, 1, 1]])]).shape
    torch.Size([3, 2])
    """
    assert model.why_no_certificate() is None, "its levels are not one map, and a short word has fewer"
    (layer,) = model.tree_layers(1)
    states, share, height, C = model.leaves(), True, 0, model.chunk_size
    node = {i: words.long() + 1 for i, words in enumerate(batches)}
    roots: dict[int, Float[Tensor, "n d_model"]] = {}
    while node:
        shapes = {i: (len(of), -(-of.shape[1] // C)) for i, of in node.items()}
        windows = torch.cat([windows_of(of, C, model.aligned, last=True).flatten(0, 1) for of in node.values()])
        level, share = level_over(model, states, windows[None], layer.apply, share)
        states, height = level.states, height + 1
        nodes = level.node[0].split([n * m for n, m in shapes.values()])
        node = {i: of.view(shape) for (i, shape), of in zip(shapes.items(), nodes, strict=True)}  # (n, nodes)
        # Low trees are done: what would be computed above their roots is no word's answer.
        for i in [i for i in node if model.depth(batches[i].shape[1]) == height]:
            roots[i] = states[node.pop(i)[:, 0]]
    return model.readout(torch.cat([roots[i] for i in range(len(batches))]))
