"""Transduction: a row of answers behind the word, one at each empty symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.automata.moore import UNDEFINED
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.models.base import Model
from regulargpt.models.hooks import listened_to
from regulargpt.models.recurrent import Recurrent
from regulargpt.objectives.answers import guesses, means, to_tensor
from regulargpt.objectives.measures import Guess

# Of the states of a recurrent network that are kept in a single pass: more is no faster on a CPU, and takes memory.
NUMBERS_AT_ONCE = 1 << 23


class Transduction:
    """The machine's answers behind a word. Where it has none, as behind END, nothing is trained on and nothing scored.

    Deletang et al. 2023 take the loss over those positions, too; their score leaves them out, as it is done here.
    """

    def __init__(self, data: LanguageData):
        self.task = data.task
        self.n_inputs, self.n_outputs = self.task.n_symbols, self.task.n_outputs
        self._answered: tuple[Words, Int[np.ndarray, "batch length"]] | None = None

    def labels(self, words: Words) -> Int[np.ndarray, "batch length"]:
        """The machine's answers, kept until those to other words are requested: a test asks twice, for what the network
        has and for what guessing has."""
        if self._answered is None or self._answered[0] is not words:
            self._answered = words, self.task.labels(words, every=True)
        return self._answered[1]

    def read(
        self, model: nn.Module, words: Words, device: torch.device
    ) -> tuple[Float[Tensor, "batch asked n_outputs"], Int[Tensor, "batch asked"]]:
        """Logits and answers from the first empty symbol of any word on."""
        labels = self.labels(words)  # (batch, length)
        n_answers = labels.shape[1] - int((labels >= 0).any(0).argmax())
        assert isinstance(model, Model), "only a model has answers"
        logits = model.answers(to_tensor(words, device), n_answers)
        return logits, to_tensor(labels[:, -n_answers:], device)

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Mean cross-entropy over all answers of the batch."""
        logits, labels = self.read(model, words, device)
        loss = F.cross_entropy(logits.mT, labels, ignore_index=UNDEFINED)  # over (batch, n_outputs, asked)
        return loss, means(of_rows(logits, labels))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which words have every answer right, and how many of all answers are."""
        return of_rows(*self.read(model, words, device))

    @torch.no_grad()
    def first_wrong(self, model: nn.Module, word: Words, device: torch.device) -> dict[str, dict[str, Any]]:
        """The first wrong answer to a word (length,), counted from 1: what the network gives, and what is right."""
        logits, labels = self.read(model, word[None], device)
        answers = logits.argmax(-1)  # (1, asked)
        wrong = ((answers != labels) & (labels >= 0))[0].nonzero()[:, 0]  # (wrong,)
        if not len(wrong):
            return {}
        at, names = int(wrong[0]), self.task.output_names
        network, right = (names[int(of[0, at])] for of in (answers, labels))
        return {"wrong_answer": {"place": at + 1, "network": network, "right": right}}

    def symbols_at_once(self, model: nn.Module) -> int:
        # What stands behind a word changes no answer of a network that only reads on.
        if type(self).measure is not Transduction.measure or not isinstance(model, Recurrent) or listened_to(model):
            return 0
        return NUMBERS_AT_ONCE // model.readout.in_features

    def measure_at_once(
        self, model: nn.Module, words: Sequence[Words], device: torch.device
    ) -> Iterator[Mapping[str, Tensor]]:
        longest = max(alike.shape[1] for alike in words)
        padded = np.concatenate([np.pad(alike, ((0, 0), (0, longest - alike.shape[1]))) for alike in words])
        logits = model(to_tensor(padded, device), readout="all").split([len(alike) for alike in words])
        for alike, of_alike in zip(words, logits, strict=True):
            labels = to_tensor(self.labels(alike), device)
            yield of_rows(of_alike[:, : labels.shape[1]], labels)

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """Of each measure by the answers themselves."""
        _, by_position, whole = guesses(self.labels(words), self.n_outputs)
        return {"words": whole, "accuracy_by_position": by_position}


def of_rows(logits: Float[Tensor, "batch asked n_outputs"], labels: Int[Tensor, "batch asked"]) -> dict[str, Tensor]:
    """Each measure of each word (batch,).

    >>> logits = nn.functional.one_hot(torch.tensor([[0, 1, 1], [1, 1, 1]])).double()
    >>> {name: of.tolist() for name, of in of_rows(logits, torch.tensor([[0, 1, -1], [1, 0, 1]])).items()}
    {'words': [True, False], 'accuracy_by_position': [100.0, 66.66666666666667]}
    """
    counts = labels != UNDEFINED
    right = logits.argmax(-1) == labels
    share = 100 * (right & counts).sum(1, dtype=torch.float64) / counts.sum(1)
    return {"words": (right | ~counts).all(1), "accuracy_by_position": share}
