"""One computation per distinct sub-word: in the tree a node's state depends only on the word under it."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

# Above this many possible keys a sort is cheaper than a mark per key.
MAX_MARKS = 1 << 22
# Levels stop being identified once fewer than a quarter of their nodes repeat: above them hardly any node repeats,
# and where none does, none can above it.
MAX_DISTINCT = 0.75
# Looking for equal nodes among fewer than this many takes longer than computing them all.
MIN_NODES = 64


def identify(
    windows: Int[Tensor, "batch nodes C"], n_rows: int
) -> tuple[Int[Tensor, "distinct C"], Int[Tensor, "batch nodes"]]:
    """The distinct windows, and for each node the number of its window among them.

    `n_rows` bounds the entries of `windows`. Windows are keyed by one integer each, child ids as digits.

    >>> windows = torch.tensor([[[1, 2], [1, 2], [0, 2]]])
    >>> distinct, node = identify(windows, 3)
    >>> distinct.tolist(), node.tolist()
    ([[0, 2], [1, 2]], [[1, 1, 0]])
    """
    keys = windows[..., 0]
    for j in range(1, windows.shape[-1]):
        keys = keys * n_rows + windows[..., j]
    n_keys = n_rows ** windows.shape[-1]
    if n_keys >= 2**62:
        # A key would not fit into 64 bits: whole windows are sorted, which is slower.
        rows = windows.flatten(0, 1)  # (batch * nodes, C)
        distinct, node = torch.unique(rows, dim=0, return_inverse=True)
        return distinct, node.view(windows.shape[:2])  # (batch, nodes)
    if n_keys <= min(MAX_MARKS, 16 * keys.numel()):
        unique, node = _unique_by_marks(keys, n_keys)
    else:
        unique, node = torch.unique(keys, return_inverse=True)
    digits = [unique // n_rows**j % n_rows for j in reversed(range(windows.shape[-1]))]
    return torch.stack(digits, -1), node


def _unique_by_marks(keys: Tensor, n_keys: int) -> tuple[Tensor, Tensor]:
    # Linear in the number of keys where torch.unique sorts; the numbers come out in the same, ascending order.
    marked = torch.zeros(n_keys, dtype=torch.bool, device=keys.device)
    marked[keys.reshape(-1)] = True  # (batch * nodes,)
    unique = marked.nonzero().squeeze(-1)
    number = torch.empty(n_keys, dtype=torch.long, device=keys.device)
    number[unique] = torch.arange(len(unique), device=keys.device)
    return unique, number[keys]
