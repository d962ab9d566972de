"""Language modelling: the probability of the symbol that comes next in a text."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.data.base import Words
from regulargpt.models.base import Model
from regulargpt.objectives.answers import to_tensor
from regulargpt.objectives.measures import Guess
from regulargpt.text.data.segments import TextData


class LanguageModel:
    """Mean cross-entropy of the next symbol at every position; a test counts those that the data's scoring says."""

    def __init__(self, data: TextData):
        self.data = data
        self.n_inputs = self.n_outputs = data.corpus.vocabulary_size
        self.nats_per_bit = math.log(2) * data.corpus.bytes_per_symbol

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """The mean over all positions of all segments, in nats a symbol."""
        symbols = to_tensor(words, device)
        logits = model(symbols[:, :-1], readout="all")
        loss = F.cross_entropy(logits.flatten(0, 1), symbols[:, 1:].flatten())  # over (batch * length, n_outputs)
        return loss, {"bits_per_byte": loss.item() / self.nats_per_bit}

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """The mean over the symbols of each segment that count, under the names of its three measures."""
        return self.means(self.losses(model, words, device, self.data.counted(words.shape[1] - 1)).double())

    def means(self, losses: Float[Tensor, "batch counted"]) -> Mapping[str, Tensor]:
        """The three measures of each segment, by the losses of its symbols that count."""
        nll = losses.mean(1)
        return {"bits_per_byte": nll / self.nats_per_bit, "nll": nll, "perplexity": nll}

    def losses(
        self, model: nn.Module, words: Words, device: torch.device, last: int = 0
    ) -> Float[Tensor, "batch predicted"]:
        """-ln p of the `last` symbols; 0: of every symbol but the first."""
        symbols = to_tensor(words, device)
        read, target = symbols[:, :-1], symbols[:, 1:][:, -last:]
        # Cut before the logarithm of the softmax, which is as large as the logits again.
        count = target.shape[1]
        parts = model.answered(read, count) if isinstance(model, Model) else [model(read, readout="all")[:, -count:]]
        losses = []
        for logits in parts:
            some, target = target[:, : logits.shape[1]], target[:, logits.shape[1] :]
            losses.append(F.cross_entropy(logits.mT, some, reduction="none"))
        return torch.cat(losses, 1)

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """A text has no answers to guess."""
        return {}
