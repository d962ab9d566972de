"""The network that is asked, as in its evaluation, and what of its answers is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from languages.drawn import DrawnTask
from languages.errors import UserError
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.falsification.answers import Question, answer_of
from regulargpt.finite.chain import Chain, chain_of
from regulargpt.models.base import Model
from regulargpt.models.options import ModelOptions
from regulargpt.objectives.answers import Objective

Words = npt.NDArray[np.integer]  # (n, length)
Word = tuple[int, ...]

LONGEST = 1_000_000
"""Symbols of the longest words."""
QUADRATIC = 4096
"""The same where a number for each pair of positions is held: of four heads these are 256 MiB."""


@dataclass(frozen=True)
class Examinee:
    """A network in evaluation mode, the words that it is asked about, and what it is asked."""

    model: Model
    data: LanguageData
    objective: Objective
    answer: Question
    device: torch.device
    longest: int = LONGEST

    @classmethod
    def from_model(
        cls, model: Model, data: LanguageData, objective: Objective, device: torch.device, options: ModelOptions
    ) -> Examinee:
        """UserError for an objective without right and wrong answers to words."""
        most = min(longest(options), QUADRATIC if getattr(model, "quadratic", False) else LONGEST)
        return cls(model.eval(), data, objective, answer_of(objective), device, most)

    @cached_property
    def chain(self) -> Chain | None:
        """The network as it is, as a function of a state and a symbol; None for one without a state of fixed size."""
        if not self.answer.has_margin or self.objective.n_inputs != self.data.task.n_symbols:
            return None  # an answer is not read at the last symbol of the word
        try:
            return chain_of(self.model, self.objective.n_inputs, as_it_is=True)
        except UserError:
            return None

    @property
    def is_quadratic(self) -> bool:
        """Whether it holds a number for each pair of positions."""
        return getattr(self.model, "quadratic", False)

    @cached_property
    def machine(self) -> MooreMachine | None:
        """The minimal machine whose outputs number the right answers, -1 for words that are no questions."""
        return self.answer.machine

    @property
    def symbols(self) -> int:
        """How many symbols words are made of, without the symbol that asks for a row of answers."""
        task = self.data.task
        return task.n_symbols - (isinstance(task, DrawnTask) and task.empty is not None)

    def questions(self, words: Words) -> npt.NDArray[np.bool_]:
        """(n,) which of these words are questions."""
        return self.data.task.questions(words)

    def length(self, word: Word) -> int:
        """The length of a word, without the symbols that ask for a row of answers."""
        return self.data.symbols(word)

    @torch.no_grad()
    def wrong(self, words: Words) -> npt.NDArray[np.bool_]:
        """(n,) which of these questions the network answers wrongly, by the first measure of its evaluation."""
        at_once = words_at_once(self.model, words.shape[1], self.objective.n_outputs)
        parts = [
            next(iter(self.objective.measure(self.model, words[at : at + at_once], self.device).values()))
            for at in range(0, len(words), at_once)
        ]
        return ~torch.cat(parts).cpu().numpy() if parts else np.zeros(0, dtype=np.bool_)

    @torch.no_grad()
    def said(self, word: Word) -> tuple[str, str]:
        """The right answer to a word, and the network's."""
        return self.answer.said(self.model, np.array([word]), self.device)[0]

    def decoded(self, part: Word) -> str:
        """A part of a word as people read it."""
        return self.data.task.machine.decode(np.array(part, dtype=np.int64))

    def written(self, word: Word) -> str:
        """A word as people read it."""
        task = self.data.task
        return task.written(word)[0] if isinstance(task, DrawnTask) else task.machine.decode(np.array(word, dtype=int))

    def margin(self, logits: Float[Tensor, "n n_outputs"], right: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        """By how much each answer is right, wrong below 0; infinite where there is none."""
        margins = self.answer.margin(logits, torch.from_numpy(np.maximum(right, 0)).to(logits.device))
        return np.where(right == UNDEFINED, np.inf, margins.double().cpu().numpy())

    def doubtful(self, logits: Float[Tensor, "n n_outputs"], right: Int[np.ndarray, "n"]) -> npt.NDArray[np.bool_]:
        """(n,) which answers are wrong, or so close to it that the evaluation, which adds in another order, decides."""
        size = logits.abs().amax(-1).double().cpu().numpy()
        return ~(self.margin(logits, right) > CLOSE * (1 + size)) & (right != UNDEFINED)


CLOSE = 1e-4
"""Of the size of the logits."""


def longest(options: ModelOptions) -> int:
    """The longest word, up to a million symbols, that a model can read.

    >>> from regulargpt.models import MODELS
    >>> longest(MODELS.options("gru", "model")), longest(MODELS.options("transformer:random_positions=2048", "model"))
    (1000000, 2048)
    """
    low, high = 1, LONGEST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if options.too_long(middle) is not None else (middle, high)
    return low
