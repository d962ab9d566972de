"""Supervision of the nodes of the tree: the automaton's answers to sub-words, not only to the word."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.levels import Level, tree_levels
from regulargpt.objectives.answers import UNDEFINED, Last, means, to_tensor
from regulargpt.training.kinds import row_of_kind

# The later rounds compose what the first has made: transitions that hardly any short word has, further up the tree.
ROUNDS = 3


@dataclass(frozen=True)
class SubWords:
    """The sub-words under some nodes: the nodes' states, the true transitions A(sigma), the lengths."""

    states: Float[Tensor, "rows d_model"]
    transitions: Int[Tensor, "rows Q"]
    lengths: Int[Tensor, "rows"]

    @classmethod
    def join(cls, parts: Sequence[SubWords]) -> SubWords:
        """All rows, one part after the other."""
        columns = zip(*((part.states, part.transitions, part.lengths) for part in parts), strict=True)
        return cls(*map(torch.cat, columns))

    def without_pad(self) -> SubWords:
        """All rows but the first."""
        return SubWords(self.states[1:], self.transitions[1:], self.lengths[1:])


def compose(transitions: Int[Tensor, "rows Q"], children: Int[Tensor, "windows C"]) -> Int[Tensor, "windows Q"]:
    """A(sigma) of each window: the transitions of its nodes, composed from the left (section 6.6.1).

    >>> swap = torch.tensor([[0, 1], [1, 0]])  # row 0 the pad, row 1 a swap
    >>> compose(swap, torch.tensor([[1, 0], [1, 1]])).tolist()
    [[1, 0], [0, 1]]
    """
    *right, leftmost = children.unbind(1)
    f = transitions[leftmost]
    for child in reversed(right):
        f = transitions[child].gather(1, f)
    return f


class Subwords(Last):
    """The answer to the word and, at each distinct node of the tree, the machine's answer to the sub-word under it.

    Besides, `compositions` random windows of nodes, whose sub-words together are no longer than a training word, go
    through the block, which is asked for the answer to the concatenation: so it learns to compose the states of all
    levels with each other, as Lemma 6.1 wants it. `alignment` draws the states of one transition together.

    More is shown than final answers, so results say which recipe was used. Sub-words without an answer are left out.
    """

    def __init__(self, data: LanguageData, weight: float = 1.0, compositions: int = 0, alignment: float = 0.0):
        super().__init__(data)
        task, self.train_len = data.task, data.options.train_len
        self.weight, self.compositions, self.alignment = weight, compositions, alignment
        self.initial = task.machine.initial_index
        self.delta = torch.from_numpy(task.machine.table.T.astype(np.int64, order="C"))  # (Sigma, Q)
        self.outputs = torch.tensor(task.machine.outputs)

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Cross-entropy of the last answers, plus `weight` times its mean over nodes and its mean over compositions."""
        assert isinstance(model, RegularGPT), "validation refuses other models"
        levels = list(tree_levels(model, to_tensor(words, device)))
        labels = to_tensor(self.task.labels(words), device)
        root = levels[-1]
        logits = model.readout(root.states[root.node[:, 0]])
        leaves, *above = self.sub_words(levels)
        nodes = SubWords.join([leaves, *(part.without_pad() for part in above)])
        parts = [nodes.without_pad(), *self.composed(model, nodes)]
        loss = F.cross_entropy(logits, labels) + self.weight * sum(self.mean_loss(model, part) for part in parts)
        if self.alignment:
            # Its gradient, not its value: the loss that decides on noise and end remains that of the answers.
            pull = self.alignment * confusion(parts)
            loss = loss + pull - pull.detach()
        return loss, means({"accuracy": logits.argmax(-1) == labels})

    def sub_words(self, levels: Sequence[Level]) -> list[SubWords]:
        """The sub-word under each row of each level; row 0 is the pad, the empty word."""
        delta = self.delta.to(levels[0].states.device)
        identity = torch.arange(delta.shape[1], device=delta.device)[None]
        length = torch.tensor([0] + [1] * len(delta), device=delta.device)
        found = [SubWords(levels[0].states, torch.cat([identity, delta]), length)]
        for level in levels[1:]:
            below = found[-1]
            transitions = torch.cat([identity, compose(below.transitions, level.children)])
            length = F.pad(below.lengths[level.children].sum(1), (1, 0))
            found.append(SubWords(level.states, transitions, length))
        return found

    def composed(self, model: RegularGPT, nodes: SubWords) -> list[SubWords]:
        """Random windows through the block, `ROUNDS` times, the results of a round among the nodes of the next.

        None without weight sharing across depth: there is no one block to learn it.
        """
        if not self.compositions or model.distinct_levels > 1:
            return []
        found: list[SubWords] = []
        for _ in range(ROUNDS):
            windows = self.windows(nodes, model)
            transitions, lengths = compose(nodes.transitions, windows), nodes.lengths[windows].sum(1)
            asked = (lengths <= self.train_len) & (self.answers(transitions) != UNDEFINED)
            if not asked.any():
                break
            states = model.merge(nodes.states, windows[asked])
            found.append(SubWords(states, transitions[asked], lengths[asked]))
            nodes = SubWords.join([nodes, found[-1]])
        return found

    def windows(self, nodes: SubWords, model: RegularGPT) -> Int[Tensor, "windows C"]:
        """`compositions` windows of rows: for each place a transition drawn uniformly, then one of its nodes.

        Some transitions are rare in short words and common in long ones: drawn by their nodes, they would hardly be
        composed with each other in training.
        """
        device = nodes.states.device
        generator = model.state_noise.next_generator(device)
        kind = kinds(nodes.transitions[1:])
        sizes = kind.bincount()
        shape = (self.compositions, model.chunk_size)
        drawn = torch.randint(len(sizes), shape, generator=generator, device=device)
        share = torch.rand(shape, generator=generator, device=device, dtype=torch.float64)
        return 1 + row_of_kind(kind.argsort(stable=True), sizes, drawn, share)

    def answers(self, transitions: Int[Tensor, "rows Q"]) -> Int[Tensor, "rows"]:
        """The machine's output after each transition from the initial state."""
        return self.outputs.to(transitions.device)[transitions[:, self.initial]]

    def mean_loss(self, model: RegularGPT, asked: SubWords) -> Float[Tensor, ""]:
        """Mean cross-entropy over the sub-words that have an answer."""
        answers = self.answers(asked.transitions)
        total = F.cross_entropy(model.readout(asked.states), answers, ignore_index=UNDEFINED, reduction="sum")
        return total / (answers != UNDEFINED).sum().clamp(min=1)


def confusion(parts: Sequence[SubWords]) -> Float[Tensor, ""]:
    """How easily the states of different transitions are taken for each other: mean over each part.

    Cross-entropy of telling a state's transition by the nearest of the transitions' mean states, with squared distances
    in units of sqrt(d_model) as logits (prototypes, as Snell et al. 2017 use them).
    """
    every = SubWords.join(parts)
    kind = kinds(every.transitions)
    n = kind.bincount()
    d_model = every.states.shape[1]
    means = every.states.new_zeros(len(n), d_model).index_add(0, kind, every.states) / n[:, None]
    # ||s - m||^2 without ||s||^2, which is the same for all m.
    logits = (2 * every.states @ means.T - means.square().sum(1)) / math.sqrt(d_model)
    losses = F.cross_entropy(logits, kind, reduction="none")
    return torch.stack([part.mean() for part in losses.split([len(part.lengths) for part in parts])]).sum()


def kinds(transitions: Int[Tensor, "rows Q"]) -> Int[Tensor, "rows"]:
    """A number for each row, the same for equal rows; rows are told apart by a 64-bit hash."""
    generator = torch.Generator(transitions.device).manual_seed(0)
    weights = torch.randint(-(2**62), 2**62, transitions.shape[1:], generator=generator, device=transitions.device)
    return torch.unique((transitions * weights).sum(1), return_inverse=True)[1]
