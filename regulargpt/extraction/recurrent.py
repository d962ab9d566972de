"""The automaton in a recurrent network's states: clusters, and what each symbol makes of them.

As for the tree: the states along sample words are clustered, a state farther than rho from all prototypes is a new
one, and each then moves to the mean of its states, once. What a symbol makes of a prototype, brought to the nearest
one, is a transition.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.automata import MooreMachine
from languages.errors import UserError
from languages.task import Task
from regulargpt.extraction.clusters import Cut, covers, cuts
from regulargpt.finite.growing_codebook import MAX_PROTOTYPES, GrowingCodebook
from regulargpt.finite.nonempty import answer_to_empty_word, restricted_to, smallest_machine, with_fresh_start
from regulargpt.finite.table import nearest_two
from regulargpt.models.recurrent import Stepwise

Ints = npt.NDArray[np.int64]


class SymbolStep:
    """One symbol's step of a recurrent model in float64, its state as one vector: h, or h and c, of all layers.

    >>> from regulargpt.models.rnn import Rnn
    >>> step = SymbolStep(Rnn(2, 3, d_model=8))
    >>> states = step(step.initial(2), torch.tensor([0, 1]))
    >>> states.shape, step.readout(states).shape
    (torch.Size([2, 8]), torch.Size([2, 3]))
    """

    def __init__(self, model: Stepwise):
        self.model = copy.deepcopy(model).to("cpu", torch.float64).eval()

    @torch.no_grad()
    def initial(self, n: int = 1) -> Float[Tensor, "n d_state"]:
        """The state before the first symbol."""
        return self.model.start(n)

    @torch.no_grad()
    def __call__(self, states: Float[Tensor, "n d_state"], symbols: Int[Tensor, "n"]) -> Float[Tensor, "n d_state"]:
        """The states after another symbol."""
        return self.model.step(states, self.model.embed(symbols[:, None])[:, 0])

    @torch.no_grad()
    def readout(self, states: Float[Tensor, "n d_state"]) -> Float[Tensor, "n n_outputs"]:
        return self.model.readout(self.model.activation(self.model.output(states)))

    def along(self, words: Ints) -> Float[Tensor, "n length d_state"]:
        """The states after each symbol of words (n, T)."""
        # Symbol by symbol, though torch could take whole words: these states are what the automaton has to follow.
        state, states = self.initial(len(words)), []
        for symbols in torch.from_numpy(words.astype(np.int64)).T:
            state = self(state, symbols)
            states.append(state)
        return torch.stack(states, 1)  # (n, length, d_state)


@dataclass(frozen=True)
class ClusterAutomaton:
    """Transitions (K, Sigma) between the prototypes and their answers (K,); prototype `start` is the initial state's.

    `agreement` is the share of sample words that it answers as the network does.
    """

    table: Ints
    answers: Ints
    start: int
    cut: Cut
    prototypes: Float[Tensor, "K d_state"]
    agreement: float = 0.0

    @classmethod
    def fit(cls, step: SymbolStep, words: Sequence[Ints], max_prototypes: int = MAX_PROTOTYPES) -> ClusterAutomaton:
        """The automaton at the first cut at which it answers the sample words as the network does; else at the best.

        Raises UserError if at no cut at most `max_prototypes` prototypes are enough.
        """
        states = [step.along(batch) for batch in words]
        right = np.concatenate([step.readout(batch[:, -1]).argmax(1).numpy() for batch in states])
        best, failure = None, None
        seen = torch.cat([step.initial(), *(batch.flatten(0, 1) for batch in states)])  # (states, d_state)
        # Clusters first; where states drift along a trail there are none, and balls cover it.
        for cut in (*cuts(seen), *covers(seen)):
            try:
                prototypes = closure(step, cut, max_prototypes)
            except UserError as error:
                failure = failure or error
                continue
            automaton = cls.at(step, prototypes, cut)
            given = np.concatenate([automaton.answers[automaton.run(batch)] for batch in words])
            automaton = replace(automaton, agreement=float(np.mean(given == right)))
            if best is None or automaton.agreement > best.agreement:
                best = automaton
            if automaton.agreement == 1.0:
                break
        if best is None:
            assert failure is not None, "there is a cut"
            raise failure
        return best

    @classmethod
    def at(cls, step: SymbolStep, prototypes: Float[Tensor, "K d_state"], cut: Cut) -> ClusterAutomaton:
        """The transitions between given prototypes."""
        # The nearest prototype, however far: `agreement` says what that costs.
        after = nearest_two(every_symbol(step, prototypes), prototypes)[1][:, 0]
        table = after.reshape(len(prototypes), -1).numpy()  # (K, Sigma)
        start = int(nearest_two(step.initial(), prototypes)[1][0, 0])
        return cls(table, step.readout(prototypes).argmax(1).numpy(), start, cut, prototypes)

    def machine(self, task: Task) -> MooreMachine:
        """The minimal machine, with the task's names, without an answer outside its domain."""
        # No network answers the empty word, and words outside the domain have no answer: both before minimising.
        table, colours = restricted_to(*with_fresh_start(self.table, self.start, self.answers), task.domain)
        return smallest_machine(table, colours, task.alphabet, task.output_names, answer_to_empty_word(task))

    def run(self, words: Ints) -> Ints:
        """The states (n,) to which words (n, T) lead."""
        states = np.full(len(words), self.start)
        for symbols in words.T:
            states = self.table[states, symbols]
        return states


def closure(step: SymbolStep, cut: Cut, max_prototypes: int = MAX_PROTOTYPES) -> Float[Tensor, "K d_state"]:
    """The prototypes that all words come to; UserError if they are more than `max_prototypes`."""
    book = GrowingCodebook(cut.means, cut.rho, max_prototypes)
    book(step.initial())
    book.close(partial(every_symbol, step))
    return book.means()


def every_symbol(step: SymbolStep, states: Float[Tensor, "n d_state"]) -> Float[Tensor, "steps d_state"]:
    """The states after each symbol: those of the first state, then those of the second."""
    n_symbols = step.model.n_symbols
    return step(states.repeat_interleave(n_symbols, 0), torch.arange(n_symbols).repeat(len(states)))
