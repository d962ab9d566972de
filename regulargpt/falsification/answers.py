"""What a right answer is, by the kind of supervision: one of some names, a set of symbols, a row."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from languages.automata import MooreMachine
from languages.automata.words import single_characters
from languages.errors import UserError
from languages.task import Task
from regulargpt.finite.specification import specified_machine
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Last, Next, Objective, Prefixes, to_tensor
from regulargpt.objectives.transduction import Transduction

Words = npt.NDArray[np.integer]  # (n, length)


class Question(Protocol):
    """What is asked at the last symbol of a word. `machine` numbers the right answers, if a finite machine does."""

    machine: MooreMachine | None
    has_margin: bool

    def right(self, words: Words) -> Int[np.ndarray, "n"]:
        """The numbers of the right answers."""
        ...

    def margin(self, logits: Float[Tensor, "n n_outputs"], right: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        """By how much answers are these, at most 0 where they are not."""
        ...

    def logits(self, model: Model, words: Words, device: torch.device) -> Float[Tensor, "n n_outputs"]:
        """What the network says at the last symbol."""
        ...

    def said(self, model: Model, words: Words, device: torch.device) -> list[tuple[str, str]]:
        """The right answer to each of these words (n, length), and the network's, as people read them."""
        ...


class OneAnswer:
    """The largest logit is the answer."""

    has_margin = True

    def __init__(self, objective: Last):
        self.objective, self.task = objective, objective.task

    @cached_property
    def machine(self) -> MooreMachine | None:
        return specified_machine(self.task) if isinstance(self.task, Task) else None

    def right(self, words: Words) -> Int[np.ndarray, "n"]:
        return self.task.labels(words)

    def margin(self, logits: Float[Tensor, "n n_outputs"], right: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        """
        >>> OneAnswer.margin(None, torch.tensor([[1.0, 4.0], [2.0, 1.5]]), torch.tensor([1, 1])).tolist()
        [3.0, -0.5]
        """
        own = logits.gather(1, right[:, None])  # (n, 1)
        others = logits.scatter(1, right[:, None], -torch.inf).amax(1)
        return own[:, 0] - others

    def logits(self, model: Model, words: Words, device: torch.device) -> Float[Tensor, "n n_outputs"]:
        if isinstance(self.objective, Prefixes):
            return model(to_tensor(words, device), readout="all")[:, -1]  # as its measures read it
        return model(self.objective.read(words, device))

    def said(self, model: Model, words: Words, device: torch.device) -> list[tuple[str, str]]:
        names, given = self.task.output_names, self.logits(model, words, device).argmax(-1).tolist()
        return [(names[mine], names[theirs]) for mine, theirs in zip(self.right(words).tolist(), given, strict=True)]


class LegalSets:
    """Each symbol that may follow has a logit above 0, the others below; the last logit is whether the word may end."""

    has_margin = True

    def __init__(self, objective: Next):
        self.task: Task = objective.task
        self.sets: Bool[np.ndarray, "sets symbols_and_end"] = np.unique(self.task.next_symbol_table, axis=0)

    @cached_property
    def machine(self) -> MooreMachine:
        machine, names = self.task.machine, tuple(map(str, range(len(self.sets))))
        outputs = tuple(self.task.next_symbol_set_table.tolist())
        return MooreMachine(machine.states, machine.alphabet, machine.delta, machine.initial, outputs, names).minimise()

    def right(self, words: Words) -> Int[np.ndarray, "n"]:
        return self.task.next_symbol_sets(words)[:, -1].astype(np.int64)

    def margin(self, logits: Float[Tensor, "n n_outputs"], right: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        legal = torch.from_numpy(self.sets).to(logits.device)[right]
        return torch.where(legal, logits, -logits).amin(1)

    def logits(self, model: Model, words: Words, device: torch.device) -> Float[Tensor, "n n_outputs"]:
        return model(to_tensor(words, device), readout="all")[:, -1]

    def said(self, model: Model, words: Words, device: torch.device) -> list[tuple[str, str]]:
        given, right = (self.logits(model, words, device) > 0).cpu().numpy(), self.sets[self.right(words)]
        return [(self.named(mine), self.named(theirs)) for mine, theirs in zip(right, given, strict=True)]

    def named(self, legal: Bool[np.ndarray, "symbols_and_end"]) -> str:
        """A set as people read it."""
        names = [*self.task.alphabet, "end"]
        return "{" + ", ".join(name for name, is_in in zip(names, legal, strict=True) if is_in) + "}"


class RowOfAnswers:
    """Every answer of the row is right, or the word is wrong."""

    has_margin, machine = False, None

    def __init__(self, objective: Transduction):
        self.objective, self.task = objective, objective.task

    def right(self, words: Words) -> Int[np.ndarray, "n"]:
        raise NotImplementedError

    def margin(self, logits: Float[Tensor, "n n_outputs"], right: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        raise NotImplementedError

    def logits(self, model: Model, words: Words, device: torch.device) -> Float[Tensor, "n n_outputs"]:
        raise NotImplementedError

    def said(self, model: Model, words: Words, device: torch.device) -> list[tuple[str, str]]:
        logits, labels = self.objective.read(model, words, device)
        has_answer, names, given = labels >= 0, self.task.output_names, logits.argmax(-1)
        apart = "" if single_characters(names) else " "

        def row(answers: Int[Tensor, "asked"]) -> str:
            return apart.join(names[at] for at in answers.tolist())

        return [(row(labels[i][at]), row(given[i][at])) for i, at in enumerate(has_answer)]


KINDS: dict[type[Any], type[Any]] = {
    Last: OneAnswer,
    Prefixes: OneAnswer,
    Next: LegalSets,
    Transduction: RowOfAnswers,
}


def answer_of(objective: Objective) -> Question:
    """What the objective asks of a word. UserError for an objective from outside, whose answers only it can tell."""
    kind = KINDS.get(type(objective))
    if kind is None:
        known = "last, prefixes, next or transduction"
        raise UserError(f"{type(objective).__name__} does not say which answers are wrong; give a run of {known}")
    return kind(objective)
