"""Retrieval: the answers to the questions behind a document."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.data.base import Words
from regulargpt.models.base import Model
from regulargpt.objectives.answers import to_tensor
from regulargpt.objectives.measures import Guess
from regulargpt.text.data.retrieval import RetrievalData

MOST_ANSWERS = 1024
"""More are not listed one by one: to guess one of them is next to nothing."""


class Retrieve:
    """Mean cross-entropy of the answers, asked at every question; a test counts the questions answered right."""

    def __init__(self, data: RetrievalData):
        self.task = data.task
        self.n_inputs, self.n_outputs = len(self.task.symbols), len(self.task.answers)

    def logits(
        self, model: nn.Module, words: Words, device: torch.device
    ) -> Float[Tensor, "batch questions n_outputs"]:
        """The model's answers, where the questions end."""
        assert isinstance(model, Model)
        return model.answers(to_tensor(words, device), self.task.tail)[:, 1::2]

    def losses(self, model: nn.Module, words: Words, device: torch.device) -> Float[Tensor, "batch questions"]:
        """-ln p of the answer to each question."""
        answers = to_tensor(self.task.answers_in(words), device)
        return F.cross_entropy(self.logits(model, words, device).mT, answers, reduction="none")

    def right(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch needles"]:
        """Which are found: of the questions that belong together all must be answered right."""
        return self.are_found(self.logits(model, words, device), to_tensor(self.task.answers_in(words), device))

    def are_found(
        self, logits: Float[Tensor, "batch questions n_outputs"], answers: Int[Tensor, "batch questions"]
    ) -> Bool[Tensor, "batch needles"]:
        """Which are found by these logits."""
        right = logits.argmax(-1) == answers
        return right.unflatten(1, (-1, self.task.together)).all(-1)  # (batch, needles, together) before

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """The mean over all questions, in nats, and the share of the needles that are found."""
        answers = to_tensor(self.task.answers_in(words), device)
        logits = self.logits(model, words, device)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())  # over (batch * questions, n_outputs)
        return loss, {"exact_match": 100 * self.are_found(logits, answers).double().mean().item()}

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """The share of each word's needles that are found, in percent; of a lone needle, whether it is."""
        right = self.right(model, words, device)
        return {"exact_match": right[:, 0] if right.shape[1] == 1 else 100 * right.double().mean(1)}

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """What guessing finds: every answer is as likely as the others, and some belong together."""
        count = len(self.task.answers) ** self.task.together
        return {"exact_match": Guess(self.task.chance, (self.task.chance,))} if count <= MOST_ANSWERS else {}
