"""Any network as a black box: a word goes in, an answer comes out. Queries have a budget of time and room."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.finite.from_answers import NetworkAnswers
from regulargpt.finite.nonempty import Word
from regulargpt.models.base import Model

# Between two looks at the clock; and what may be kept of words: their symbols, and of each what is kept beside them.
AT_ONCE = 1 << 11
MOST_KEPT, BESIDE = 1 << 23, 16


class QueriesSpent(Exception):
    """The budget is spent; the message says what of it."""


@dataclass
class Queries:
    """Queries of a network, up to a length, for so many seconds and while its answers may be kept.

    Answers are those of `NetworkAnswers.to_words`. Raises Spent where the budget is spent, TooLong for too long a word.
    """

    network: NetworkAnswers
    seconds: float
    on_query: Callable[[int, int], None] = lambda kept, most: None
    clock: Callable[[], float] = time.monotonic
    most: int = MOST_KEPT
    kept: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __call__(self, words: Sequence[Word]) -> list[int]:
        """The answers to words, -1 to a word that is no question."""
        answers = list[int]()
        for at in range(0, len(words), AT_ONCE):
            part = words[at : at + AT_ONCE]
            self.kept += sum(map(len, part)) + BESIDE * len(part)
            if self.clock() - self.began > self.seconds:
                raise QueriesSpent(f"{self.seconds:g} seconds were not enough to ask it")
            if self.kept > self.most:
                raise QueriesSpent("the answers that may be kept are not enough")
            answers += self.network.to_words(part)
            self.on_query(self.kept, self.most)
        return answers


class AtToken(nn.Module):
    """A network that answers at a symbol of no other meaning behind the word."""

    def __init__(self, model: Model, token: int):
        super().__init__()
        self.model, self.token, self.quadratic = model, token, model.quadratic

    def forward(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch n_outputs"]:
        return self.model(F.pad(words, (0, 1), value=self.token))


class MayEnd(nn.Module):
    """A network that says which symbols may follow: it accepts a word that may end, by its last logit."""

    def __init__(self, model: Model):
        super().__init__()
        self.model, self.quadratic = model, model.quadratic

    def forward(self, words: Int[Tensor, "batch length"]) -> Int[Tensor, "batch 2"]:
        return F.one_hot((self.model(words)[:, -1] > 0).long(), 2)


def answering(model: Model, token: int | None, reading: str | None) -> nn.Module:
    """The network whose largest logit is its answer to the word.

    `token` is the symbol behind the word at which it answers, None where there is none; `reading` is how the
    objective reads its answer (`ObjectiveOptions.reading`).

    >>> import torch
    >>> from regulargpt.models.rnn import Rnn
    >>> model, word = Rnn(3, 2, d_model=4), torch.tensor([[0, 1]])
    >>> torch.equal(answering(model, 2, "largest")(word), model(torch.tensor([[0, 1, 2]])))
    True
    >>> answering(model, None, "member")(word).shape
    torch.Size([1, 2])
    """
    if token is not None:
        return AtToken(model, token)
    return MayEnd(model) if reading == "member" else model
