"""Random bracketings: the same word through a tree of another shape, which must give the same answer.

What a sub-word does to an automaton does not depend on how the sub-word is cut. So any tree over the word has the
word's answer, and no further label is needed. Random trees are deeper than log_C T: the map learns to be used often.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import leaf_level, levels_above, windows_of
from regulargpt.models.tree.sharing import identify


def bracketed_root(
    model: Tree, words: Int[Tensor, "batch length"], share: float, generator: torch.Generator
) -> Float[Tensor, "batch d_model"]:
    """The state of each word's root in a random tree, the same tree for the whole batch.

    The first level is the usual level. Above it about the share `share` of the windows of C neighbours is merged at a
    time, while the other nodes wait, until C nodes or fewer are left; these are merged at once.
    """
    leaves = leaf_level(model, words, share=True)
    (level,) = levels_above(model, leaves, [*model.tree_layers(1)][:1], share=True)
    node, states = level.node, level.states
    while (n := node.shape[1]) > 1:
        C = model.chunk_size
        if n <= C:
            windows, waiting = windows_of(node, C, model.aligned, last=True), node[:, :0]
            places = torch.zeros(1, dtype=torch.long)
        else:
            starts, single = random_windows(n, C, share, generator)
            windows = node[:, starts[:, None] + torch.arange(C)]  # (batch, windows, C), from the left
            windows = windows if model.aligned == "left" else windows.flip(-1)
            waiting, places = node[:, single], torch.cat([starts, single]).argsort()
        children, number = identify(windows, len(states))
        node = torch.cat([len(states) + number, waiting], 1)[:, places]
        states = torch.cat([states, model.merge(states, children)])
    return F.embedding(node[:, 0], states)


def random_windows(
    n: int, chunk_size: int, share: float, generator: torch.Generator
) -> tuple[Int[Tensor, "windows"], Int[Tensor, "rest"]]:
    """The first places of random disjoint windows of C neighbours among n > C nodes, at least one; and the rest.

    >>> starts, rest = random_windows(5, 2, 0.5, torch.Generator().manual_seed(1))
    >>> starts.tolist(), rest.tolist()
    ([1], [0, 3, 4])
    """
    coins = (torch.rand(n, generator=generator) < share).tolist()
    starts, rest, at = [], [], 0
    while at < n:
        merged = at + chunk_size <= n and coins[at]
        (starts if merged else rest).append(at)
        at += chunk_size if merged else 1
    if not starts:  # a tree that does not grow would never end
        start = int(torch.randint(n - chunk_size + 1, (), generator=generator))
        starts, rest = [start], [i for i in range(n) if not start <= i < start + chunk_size]
    return torch.tensor(starts), torch.tensor(rest, dtype=torch.long)
