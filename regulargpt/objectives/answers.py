"""The objectives that ask for a machine's answers: to the word, to every prefix, or for the symbols that may follow.

What they measure has names: `accuracy` is the share of words whose last answer is right, `accuracy_by_position` the
mean over words of the share of right answers, `words` the share of words with every answer right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.automata.moore import UNDEFINED
from languages.randomness import rng
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.models.hooks import listened_to
from regulargpt.models.tree.base import Tree, as_tree
from regulargpt.models.tree.bracketings import bracketed_root
from regulargpt.models.tree.groups import RandomBracketing
from regulargpt.models.tree.nested import nested_logits, nested_root
from regulargpt.models.tree.ragged import may_be_ragged, ragged_logits, symbols_at_once
from regulargpt.objectives.measures import Guess

# Of the last answer, by position, and of whole words.
Guesses = tuple[Guess, Guess, Guess]
NESTED_AT_ONCE = 1 << 17  # symbols in a single pass of a tree that follows brackets: all its states are kept


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

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """What guessing has of each measure, by its name; nothing of a measure where that means nothing."""
        ...


@runtime_checkable
class AtOnce(Protocol):
    """What an objective has beside, if it measures words of many lengths in a single pass of the model."""

    def symbols_at_once(self, model: nn.Module) -> int:
        """So many symbols; 0 for a model that reads words of equal length only."""
        ...

    def measure_at_once(
        self, model: nn.Module, words: Sequence[Words], device: torch.device
    ) -> Iterable[Mapping[str, Tensor]]:
        """What `measure` gives of the words of each length."""
        ...


@runtime_checkable
class RowObjective(Protocol):
    """What an objective has beside, if a word is answered by a row."""

    def first_wrong(self, model: nn.Module, word: Words, device: torch.device) -> Mapping[str, Mapping[str, Any]]:
        """The first wrong answer to a word (length,), counted from 1; nothing where all are right."""
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
        return F.cross_entropy(logits, labels), means({"accuracy": logits.argmax(-1) == labels})

    def logits(self, model: nn.Module, symbols: Int[Tensor, "batch length"]) -> Float[Tensor, "batch n_outputs"]:
        """The answers in training: by the model's own tree, or by a random tree where it is that batch's turn."""
        if not self.bracketings:
            return model(symbols)
        tree = as_tree(model)
        # On the CPU: the tree's shape is decided there.
        generator = tree.state_noise.next_generator(torch.device("cpu"))
        if torch.rand((), generator=generator) >= self.bracketings:
            return tree(symbols)
        if tree.direction is not None:
            seed = int(torch.randint(2**62, (), generator=generator))
            bracketing = RandomBracketing(self.merged, rng(seed, "bracketings"))
            return tree.readout(nested_root(tree, symbols, tree.direction, bracketing))
        return tree.readout(bracketed_root(tree, symbols, self.merged, generator))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which last answers are right."""
        return self.right(model(self.read(words, device)), words)

    def symbols_at_once(self, model: nn.Module) -> int:
        # A class derived from this class, which measures something else, does it a length at a time.
        if type(self).measure is not Last.measure:
            return 0
        if isinstance(model, Tree) and model.direction is not None:
            return 0 if listened_to(model) else NESTED_AT_ONCE
        return symbols_at_once(model) if may_be_ragged(model) else 0

    def measure_at_once(
        self, model: nn.Module, words: Sequence[Words], device: torch.device
    ) -> Iterator[Mapping[str, Tensor]]:
        tree, read = as_tree(model), [self.read(alike, device) for alike in words]
        logits = ragged_logits(tree, read) if tree.direction is None else nested_logits(tree, read)
        for alike, of_alike in zip(words, logits.split([len(alike) for alike in words]), strict=True):
            yield self.right(of_alike, alike)

    def right(self, logits: Float[Tensor, "batch n_outputs"], words: Words) -> Mapping[str, Tensor]:
        """Which of these answers are the words'."""
        return {"accuracy": logits.argmax(-1) == to_tensor(self.task.labels(words), logits.device)}

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """Of one of the machine's answers."""
        return {"accuracy": guesses(self.task.labels(words)[:, None], self.n_outputs)[0]}


class Prefixes(Last):
    """The machine's answer to every prefix that has an answer."""

    def __init__(self, data: LanguageData):
        super().__init__(data)

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Mean cross-entropy over the positions that have an answer."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        logits = model(to_tensor(words, device), readout="all")
        loss = F.cross_entropy(logits.mT, labels, ignore_index=UNDEFINED)  # over (batch, n_outputs, length)
        return loss, means(of_answers(logits, labels))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which last answers are right, how many of all, and which words have every answer right."""
        labels = to_tensor(self.task.labels(words, every=True), device)
        return of_answers(model(to_tensor(words, device), readout="all"), labels)

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """Of each measure by its own labels."""
        return named(guesses(self.task.labels(words, every=True), self.n_outputs))


class Next:
    """After every prefix, the set of symbols that may follow (and whether the word may end): k-hot.

    Whether the word may end is the machine's answer to the prefix. So there are the measures of `Prefixes`, and besides
    `next_sets` (Bhattamishra et al. 2020): a word is right where every set is, each symbol of it.
    """

    def __init__(self, data: LanguageData):
        self.task = data.finite
        self.n_inputs, self.n_outputs = self.task.n_symbols, self.task.n_symbols + 1

    def loss(self, model: nn.Module, words: Words, device: torch.device) -> tuple[Tensor, Mapping[str, float]]:
        """Mean binary cross-entropy over positions and symbols."""
        legal = to_tensor(self.task.next_symbols(words), device)  # (batch, length, n_outputs)
        logits = model(to_tensor(words, device), readout="all")
        return F.binary_cross_entropy_with_logits(logits, legal.to(logits.dtype)), means(of_sets(logits, legal))

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        """Which words have every set right, how many sets are; then the measures of whether a word may end."""
        return of_sets(model(to_tensor(words, device), readout="all"), to_tensor(self.task.next_symbols(words), device))

    def guesses(self, words: Words) -> Mapping[str, Guess]:
        """Of a set: each of its symbols is guessed, or it is always the same set."""
        sets, last = self.task.next_symbol_sets(words), self.task.labels(words, every=True)
        _, by_position, every = guesses(sets, int(sets.max()) + 1, 0.5**self.n_outputs)
        return {"next_sets": every, "next_sets_by_position": by_position, **named(guesses(last, self.task.n_outputs))}


def of_answers(
    logits: Float[Tensor, "batch length n_outputs"], labels: Int[Tensor, "batch length"]
) -> dict[str, Tensor]:
    """The measures of an answer at every position that has an answer, the last of a word always."""
    return of_positions(logits.argmax(-1) == labels, labels != UNDEFINED)


def of_sets(
    logits: Float[Tensor, "batch length n_outputs"], legal: Bool[Tensor, "batch length n_outputs"]
) -> dict[str, Tensor]:
    """The measures of a set at every position; its last element is the answer to the prefix."""
    right = (logits > 0) == legal
    whole, everywhere = right.all(-1), torch.ones_like(right[..., -1])
    measures = of_positions(whole, everywhere)
    sets = {"next_sets": measures["words"], "next_sets_by_position": measures["accuracy_by_position"]}
    return sets | of_positions(right[..., -1], everywhere)


def of_positions(right: Bool[Tensor, "batch length"], counts: Bool[Tensor, "batch length"]) -> dict[str, Tensor]:
    """Each measure of each word (batch,), from which positions are right of those that are asked."""
    share = (right & counts).sum(1, dtype=torch.float64) / counts.sum(1)
    return {"accuracy": right[:, -1], "accuracy_by_position": 100 * share, "words": (right | ~counts).all(1)}


def guesses(labels: Int[np.ndarray, "batch length"], n: int, chance: float = 0.0) -> Guesses:
    """What guessing has of the last answer, by position, and of whole words; `chance` is 1/n if it is not given.

    >>> last, by_position, words = guesses(np.array([[0, 1], [1, 1]]), 2)
    >>> last.shares, by_position.shares, words.shares, words.chance
    ((0.0, 1.0), (0.25, 0.75), (0.0, 0.5), 0.25)
    """
    is_question, chance = labels != UNDEFINED, chance or 1 / n
    n_asked = is_question.sum(1)  # (batch,)
    rows = np.arange(len(labels))[:, None] * n  # each word counts in bins of its own
    counts = np.bincount((rows + labels)[is_question], minlength=len(labels) * n).reshape(-1, n)  # (batch, n)
    last = np.bincount(labels[:, -1] + 1, minlength=n + 1)[1:] / len(labels)  # some words have none there
    by_position, whole = (counts / n_asked[:, None]).mean(0), (counts == n_asked[:, None]).mean(0)
    by_last, by_all, by_word = (tuple(map(float, of)) for of in (last, by_position, whole))
    return Guess(chance, by_last), Guess(chance, by_all), Guess(float((chance**n_asked).mean()), by_word)


def named(guesses: Guesses) -> dict[str, Guess]:
    """The guesses by the names of the measures of answers."""
    return dict(zip(("accuracy", "accuracy_by_position", "words"), guesses, strict=True))


def means(measures: Mapping[str, Tensor]) -> dict[str, float]:
    """The mean over a batch of each measure of answers, in percent."""
    return {
        name: (100 if of_words.dtype == torch.bool else 1) * of_words.double().mean().item()
        for name, of_words in measures.items()
    }


def to_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """A numpy array on the device; symbols as 64-bit integers."""
    # Writeable, as torch wants it: a text is read-only.
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"])).to(device)
    return tensor if tensor.dtype == torch.bool else tensor.long()
