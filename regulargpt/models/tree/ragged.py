"""The trees of words of many lengths at once, each as deep as its own word needs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import Level, leaf_level, levels_above, windows_of


def ragged_roots(model: Tree, words: Sequence[Sequence[int]]) -> Float[Tensor, "n d_model"]:
    """The state of each word's root, as if the words of each length were read by themselves.

    Words stand on the side that the tree is cut from. A window of absent places alone is absent too.

    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> model = RegularGPT(2, 2, d_model=8, n_heads=2, d_ff=8, generator=torch.Generator().manual_seed(0))
    >>> ragged_roots(model, [(1,), (0, 1, 1)]).shape
    torch.Size([2, 8])
    """
    assert model.why_no_certificate() is None, "its levels are not one map, and a short word has fewer"
    level, end = leaves(model, words), -1 if model.aligned == "right" else 0
    depths = torch.tensor([model.depth(len(word)) for word in words], device=level.node.device)  # (n,)
    roots = level.states.new_empty(len(words), level.states.shape[1])  # (n, d_model)
    unfinished = torch.arange(len(words), device=level.node.device)
    for height in range(1, int(depths.max()) + 1):
        absent = (windows_of(level.node, model.chunk_size, model.aligned, last=True) == 0).all(-1)  # (n, windows)
        (above,) = levels_above(model, level, model.tree_layers(1), share=True)
        node, done = above.node.masked_fill(absent, 0), depths[unfinished] == height
        roots[unfinished[done]] = above.states[node[done, end]]
        # Lower trees are done: what would be computed above their roots is no word's answer.
        unfinished, level = unfinished[~done], Level(node[~done], above.states, above.children)
    return roots


def leaves(model: Tree, words: Sequence[Sequence[int]]) -> Level:
    """The leaves of words (n, longest); 0 is the absent places of shorter ones."""
    device = next(model.parameters()).device
    far = "left" if model.aligned == "right" else "right"
    symbols = pad_sequence(
        [torch.tensor(word, device=device) for word in words], batch_first=True, padding_value=-1, padding_side=far
    )  # (n, longest)
    return leaf_level(model, symbols, share=True)
