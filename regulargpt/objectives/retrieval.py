"""Retrieval: the answers to the questions behind a document."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.data.base import Words
from regulargpt.data.retrieval import RetrievalData
from regulargpt.models.base import Model
from regulargpt.objectives.answers import to_tensor


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
        answers = to_tensor(self.task.asked(words), device)
        return F.cross_entropy(self.logits(model, words, device).mT, answers, reduction="none")

    def right(self, model: nn.Module, words: Words, device: torch.device) -> Bool[Tensor, "batch needles"]:
        """Which are found: of the questions that belong together all must be answered right."""
        answers = to_tensor(self.task.asked(words), device)
        right = self.logits(model, words, device).argmax(-1) == answers
        return right.unflatten(1, (-1, self.task.together)).all(-1)  # (batch, needles, together) before

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """The mean over all questions, in nats."""
        answers = to_tensor(self.task.asked(words), device)
        logits = self.logits(model, words, device)
        right = (logits.argmax(-1) == answers).double().mean()
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())  # over (batch * questions, n_outputs)
        return loss, {"exact_match": 100 * right.item()}

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """The share of each word's needles that are found, in percent."""
        return {"exact_match": 100 * self.right(model, words, device).double().mean(1)}

    def answer_shares(self, words: Words) -> tuple[float, ...]:
        """What guessing finds: every answer is as likely as the others, and some belong together."""
        count = len(self.task.answers) ** self.task.together
        return (1 / count,) * count if count <= 1024 else ()
