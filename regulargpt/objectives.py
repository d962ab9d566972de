"""What the model is asked and how its answers are scored: one objective for each kind of supervision."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.task import Task
from regulargpt.batches import Words
from regulargpt.config import RunConfig

UNDEFINED = -1


class Objective(Protocol):
    """One kind of supervision of one task; the model it asks reads `n_inputs` symbols and gives `n_outputs` logits."""

    n_inputs: int
    n_outputs: int

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, float]:
        """The loss of a batch, and the share of its words answered right."""
        ...

    def correct(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch"]:
        """Which words are answered right; with an answer at every position, all of them must be."""
        ...


class Last:
    """The machine's answer to the word, read at its last symbol or, with `output_token`, at a token after it.

    The token is what Deletang et al. 2023 append: a symbol of no other meaning, the last of `n_inputs`.
    """

    def __init__(self, task: Task, output_token: bool = False):
        self.task, self.output_token = task, output_token
        self.n_inputs, self.n_outputs = task.n_symbols + output_token, task.n_outputs

    def asked(self, words: Words, device: torch.device) -> Int[Tensor, "batch length"]:
        """What the model reads."""
        symbols = to_tensor(words, device)
        return F.pad(symbols, (0, 1), value=self.task.n_symbols) if self.output_token else symbols

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, float]:
        """Cross-entropy of the last answers."""
        labels = to_tensor(self.task.labels(words), device)
        logits = model(self.asked(words, device))
        return F.cross_entropy(logits, labels), share(logits.argmax(-1) == labels)

    def correct(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch"]:
        """Which last answers are right."""
        return model(self.asked(words, device)).argmax(-1) == to_tensor(self.task.labels(words), device)


class Every:
    """The machine's answer to every prefix that has one."""

    def __init__(self, task: Task):
        self.task, self.n_inputs, self.n_outputs = task, task.n_symbols, task.n_outputs

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, float]:
        """Mean cross-entropy over the positions that have an answer."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        logits = model(to_tensor(words, device), readout="all")
        return F.cross_entropy(logits.mT, labels, ignore_index=UNDEFINED), share(right_everywhere(logits, labels))

    def correct(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch"]:
        """Which words have every answer right."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        return right_everywhere(model(to_tensor(words, device), readout="all"), labels)


class Next:
    """After every prefix, the set of symbols that may follow (and whether the word may end): k-hot."""

    def __init__(self, task: Task):
        self.task, self.n_inputs, self.n_outputs = task, task.n_symbols, task.n_symbols + 1

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, float]:
        """Mean binary cross-entropy over positions and symbols."""
        legal = to_tensor(self.task.next_symbols(words), device)
        logits = model(to_tensor(words, device), readout="all")
        right = ((logits > 0) == legal).all(-1).all(-1)
        return F.binary_cross_entropy_with_logits(logits, legal.to(logits.dtype)), share(right)

    def correct(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch"]:
        """Which words have the whole set right after every prefix."""
        legal = to_tensor(self.task.next_symbols(words), device)
        return ((model(to_tensor(words, device), readout="all") > 0) == legal).all(-1).all(-1)


def objective(task: Task, config: RunConfig) -> Objective:
    """The objective of a config."""
    if config.task.supervision == "nodes":
        from regulargpt.nodes import Nodes

        training = config.training
        return Nodes(task, config.task.train_len, training.node_weight, training.compositions, training.alignment)
    if config.task.supervision == "last":
        return Last(task, config.task.output_token)
    return {"every": Every, "next": Next}[config.task.supervision](task)


def right_everywhere(
    logits: Float[Tensor, "batch length n_outputs"], labels: Int[Tensor, "batch length"]
) -> Bool[Tensor, "batch"]:
    """Which words have the right answer wherever there is one."""
    return ((logits.argmax(-1) == labels) | (labels == UNDEFINED)).all(-1)


def share(right: Bool[Tensor, "batch"]) -> float:
    """The share of True."""
    return right.double().mean().item()


def to_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """A numpy array on the device; symbols as 64-bit integers."""
    tensor = torch.from_numpy(np.ascontiguousarray(array)).to(device)
    return tensor if tensor.dtype == torch.bool else tensor.long()
