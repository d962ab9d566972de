"""The states of every depth at every node of words, before any are drawn, at a hook point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.data.language import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.models.hooks import HookPoint, hook_names, hooks, run_with_cache
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import TreeLevel, tree_levels
from regulargpt.objectives.answers import to_tensor

OF_BLOCK = re.compile(r"blocks\.\d+\.hook_resid_post")


@dataclass(frozen=True)
class DepthStates:
    """One depth before rows are drawn: `states[w, i]` stands for the sub-word from `starts[i]` to `positions[i]`.

    No sub-word has more than `reach` symbols.
    """

    depth: int
    states: npt.NDArray[np.float32]  # (batch, nodes, width)
    starts: npt.NDArray[np.int64]  # (nodes,)
    positions: npt.NDArray[np.int64]  # (nodes,)
    reach: int

    @classmethod
    def reaching(
        cls, depth: int, states: npt.NDArray[np.float32], positions: npt.NDArray[np.int64], reach: int
    ) -> DepthStates:
        """States that depend on the last `reach` symbols, or on as many as there are."""
        return cls(depth, states, np.maximum(positions + 1 - reach, 0), positions, reach)


def layers(model: nn.Module, words: Words, all_positions: bool, at: str = "") -> list[DepthStates]:
    """The states of every depth at every node; `at` names a hook point where they are taken, "" the usual point.

    Raises UserError for a name that is no hook point, for a point where no vector of each node passes, and for a model
    that has no states of prefixes.
    """
    if isinstance(model, RegularGPT) and (all_positions or model.full):
        return position_layers(model, words, at)
    if isinstance(model, Tree):
        return tree_layers(model, words, at)
    length = words.shape[1]
    usual = state_points(model)  # a model that answers no prefix is refused, whatever the hook point
    outputs = hooked(model, words, [at] if at else usual)
    return [
        DepthStates.reaching(depth, states, np.arange(length), length) for depth, states in enumerate(outputs, start=1)
    ]


def state_points(model: nn.Module) -> list[str]:
    """The hook points where a model's states pass, (batch, length, width) each: the first of `hook_output` and
    `hook_state` that it has, or one for each block.

    >>> from regulargpt.models.gru import Gru
    >>> from regulargpt.models.transformer import Transformer
    >>> state_points(Gru(2, 2)), state_points(Transformer(2, 2, n_layers=2))
    (['hook_output'], ['blocks.0.hook_resid_post', 'blocks.1.hook_resid_post'])
    """
    names = hook_names(model)
    # A model may have both, as the linear RNN: only what its readout reads is the state of the whole.
    whole = [name for name in ("hook_output", "hook_state") if name in names][:1]
    points = whole or [name for name in names if OF_BLOCK.fullmatch(name)]
    if not points:
        raise UserError(
            f"{type(model).__name__} has no state of each prefix, at 'hook_state' or 'blocks.N.hook_resid_post'; "
            "choose another model, or add one to a model of yours"
        )
    return points


def tree_layers(model: Tree, words: Words, at: str = "") -> list[DepthStates]:
    """The nodes of the tree; those of depth l stand C^l apart, counted from the side on which it is aligned.

    At a hook point of a block there are no leaves.
    """
    C, length = model.chunk_size, words.shape[1]
    thickness = model.thickness if isinstance(model, RegularGPT) else 1
    heard: list[Tensor] = []

    def keep(value: Tensor, _: HookPoint) -> None:
        heard.append(value)

    tree = []
    with hooks(model, [(at, keep)] if at else []):
        for number, level in enumerate(tree_levels(model, to_tensor(words, torch.device("cpu")))):
            depth, rest = divmod(number, thickness)
            rows = of_nodes(heard, level) if at else level.states
            heard.clear()
            if rest or rows is None:
                continue
            states, span = rows[level.node].float().numpy(), min(C**depth, length)  # (batch, nodes, width)
            if model.aligned == "right":
                # The last node stands at the word's end, whatever its length; at the left end there may be no room.
                tree.append(DepthStates.reaching(depth, states, np.arange(length - 1, -1, -span)[::-1], C**depth))
            else:
                starts = np.arange(0, length, span)
                tree.append(DepthStates(depth, states, starts, np.minimum(starts + span, length) - 1, span))
    if not tree:
        raise UserError(f"at {at} no vector of each node passes; choose another hook point")
    return tree


def of_nodes(heard: Sequence[Tensor], level: TreeLevel) -> Tensor | None:
    """What passed while this level was computed, as its rows: row 0 for what is absent, then a row a node.

    None where not just one vector a node passed.
    """
    if len(heard) != 1 or len(heard[0]) != len(level.children) or heard[0].dim() < 2 or not len(level.children):
        return None
    rows = heard[0].flatten(1)  # (computed, width)
    return torch.cat([rows.new_zeros(1, rows.shape[1]), rows])


def position_layers(model: RegularGPT, words: Words, at: str = "") -> list[DepthStates]:
    """All positions of all depths; the one at i depends on the last C^l symbols up to i, in full attention on all."""
    # Listened to at `hook_embed`, the leaves too pass position by position.
    _, *states = hooked(model, words, list(dict.fromkeys(["hook_embed", at or "hook_state"])))
    length = words.shape[1]
    lowest = model.depth(length) + 1 - len(states)  # the leaves pass at `hook_state`, and at no hook point of a block
    if lowest not in (0, 1):
        raise UserError(f"{at} is not passed once a level; choose another hook point")
    return [
        DepthStates.reaching(depth, x, np.arange(length), length if model.full and depth else model.chunk_size**depth)
        for depth, x in enumerate(states, start=lowest)
    ]


def hooked(model: nn.Module, words: Words, names: Sequence[str]) -> list[npt.NDArray[np.float32]]:
    """What passes these hook points with the readout "all", each passage (batch, length, width).

    What passes once a symbol is one passage, and heads lie side by side. Raises UserError for what has no vector at
    each position.
    """
    at_once = words_at_once(model, words.shape[1])
    parts = []
    for start in range(0, len(words), at_once):
        some = to_tensor(words[start : start + at_once], torch.device("cpu"))
        passages = list(run_with_cache(model, some, readout="all", names_filter=names)[1].values())
        parts.append(by_position(passages, len(some), words.shape[1], names[-1]))
    return [torch.cat(passage).float().numpy() for passage in zip(*parts, strict=True)]


def by_position(passages: Sequence[Tensor], batch: int, length: int, point: str) -> list[Tensor]:
    """Each passage (batch, length, width); UserError for what has no vector at each position."""
    # An attention pattern is of pairs of positions, also where it has as many heads as there are positions.
    are_whole = [x.dim() > 2 and x.shape[:2] == (batch, length) and "pattern" not in point for x in passages]
    if passages and all(are_whole):
        return [x.flatten(2) for x in passages]
    if len(passages) == length and all(x.dim() > 1 and len(x) == batch for x in passages):
        return [torch.stack([x.flatten(1) for x in passages], 1)]  # once a symbol
    other = [x for x, is_whole in zip(passages, are_whole, strict=True) if not is_whole]
    passed = f"{tuple(other[0].shape)} passes" if other else "nothing passes"
    raise UserError(f"at {point} {passed}, no vector at each position; choose another hook point")
