"""The objectives that ask for a machine's answers: to the word, to every prefix, or for the symbols that may follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.automata.moore import UNDEFINED
from languages.task import Task
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.models.tree.base import as_tree
from regulargpt.models.tree.bracketings import bracketed_root


class Objective(Protocol):
    """One kind of supervision of one source of data; the model reads `n_inputs` symbols and gives `n_outputs` logits.

    An objective outside this package has a constructor `(data, **options)` and what stands here.
    """

    n_inputs: int
    n_outputs: int

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """The loss of a batch, and its measures by name."""
        ...

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Each measure of each word (batch,): True or False where a word is right or wrong, else a number."""
        ...

    def answer_shares(self, words: Words) -> tuple[float, ...]:
        """The share of each right answer, with which guessing can be compared; empty where that means nothing."""
        ...


class Last:
    """The machine's answer to the word, read at its last symbol or, with `output_token`, at a token after it.

    The token is what Deletang et al. 2023 append: a symbol of no other meaning, the last of `n_inputs`. In training the
    share `bracketings` of the batches goes through random trees (models/tree/bracketings.py).
    """

    def __init__(self, data: LanguageData, output_token: bool = False, bracketings: float = 0.0, merged: float = 0.5):
        self.task, self.output_token = data.task, output_token
        self.bracketings, self.merged = bracketings, merged
        self.n_inputs, self.n_outputs = self.task.n_symbols + output_token, self.task.n_outputs

    def read(self, words: Words, device: torch.device) -> Int[Tensor, "batch length"]:
        """What the model reads."""
        symbols = to_tensor(words, device)
        return F.pad(symbols, (0, 1), value=self.task.n_symbols) if self.output_token else symbols

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Cross-entropy of the last answers."""
        labels = to_tensor(self.task.labels(words), device)
        logits = self.logits(model, self.read(words, device))
        return F.cross_entropy(logits, labels), accuracy(logits.argmax(-1) == labels)

    def logits(self, model: nn.Module, symbols: Int[Tensor, "batch length"]) -> Float[Tensor, "batch n_outputs"]:
        """The answers in training: by the model's own tree, or by a random one where it is that batch's turn."""
        if not self.bracketings:
            return model(symbols)
        tree = as_tree(model)
        # On the CPU: the tree's shape is decided there.
        generator = tree.state_noise.next_generator(torch.device("cpu"))
        if torch.rand((), generator=generator) >= self.bracketings:
            return tree(symbols)
        return tree.readout(bracketed_root(tree, symbols, self.merged, generator))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which last answers are right."""
        return {"accuracy": model(self.read(words, device)).argmax(-1) == to_tensor(self.task.labels(words), device)}

    def answer_shares(self, words: Words) -> tuple[float, ...]:
        """The share of each answer of the machine."""
        return shares(self.task, words)


class Prefixes(Last):
    """The machine's answer to every prefix that has one. A word is right where all of them are."""

    def __init__(self, data: LanguageData):
        super().__init__(data)

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Mean cross-entropy over the positions that have an answer."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        logits = model(to_tensor(words, device), readout="all")
        loss = F.cross_entropy(logits.mT, labels, ignore_index=UNDEFINED)  # over (batch, n_outputs, length)
        return loss, accuracy(right_everywhere(logits, labels))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which words have every answer right."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        return {"accuracy": right_everywhere(model(to_tensor(words, device), readout="all"), labels)}


class Next:
    """After every prefix, the set of symbols that may follow (and whether the word may end): k-hot."""

    def __init__(self, data: LanguageData):
        self.task = data.task
        self.n_inputs, self.n_outputs = self.task.n_symbols, self.task.n_symbols + 1

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Mean binary cross-entropy over positions and symbols."""
        legal = to_tensor(self.task.next_symbols(words), device)  # (batch, length, n_outputs)
        logits = model(to_tensor(words, device), readout="all")
        # Every symbol of every position: one wrong set makes the word wrong (Bhattamishra et al. 2020).
        right = ((logits > 0) == legal).all(-1).all(-1)
        return F.binary_cross_entropy_with_logits(logits, legal.to(logits.dtype)), accuracy(right)

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which words have the whole set right after every prefix."""
        legal = to_tensor(self.task.next_symbols(words), device)
        return {"accuracy": ((model(to_tensor(words, device), readout="all") > 0) == legal).all(-1).all(-1)}

    def answer_shares(self, words: Words) -> tuple[float, ...]:
        """The share of each answer of the machine, as for the other objectives."""
        return shares(self.task, words)


def right_everywhere(
    logits: Float[Tensor, "batch length n_outputs"], labels: Int[Tensor, "batch length"]
) -> Bool[Tensor, "batch"]:
    """Which words have the right answer wherever there is one."""
    return ((logits.argmax(-1) == labels) | (labels == UNDEFINED)).all(-1)


def shares(task: Task, words: Words) -> tuple[float, ...]:
    """The share of each of the machine's answers to these words."""
    counts = np.bincount(task.labels(words), minlength=task.n_outputs)
    return tuple(float(count) / len(words) for count in counts)


def accuracy(right: Bool[Tensor, "batch"]) -> dict[str, float]:
    """The share of right words in percent, by its name."""
    return {"accuracy": 100 * right.double().mean().item()}


def to_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """A numpy array on the device; symbols as 64-bit integers."""
    # Writeable, as torch wants it: a text is read-only.
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"])).to(device)
    return tensor if tensor.dtype == torch.bool else tensor.long()
