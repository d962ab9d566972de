"""What a recurrent network has to be: a point for each state of an automaton and the last symbol, and what moves it.

With one point a state a plain RNN could not be it: each of its units is a threshold of state plus symbol, of which none
is an exclusive or (Goudreau et al. 1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from languages.automata import MooreMachine
from regulargpt.certificate.chain.live import LiveChain
from regulargpt.certificate.chain.moves import PointMoves
from regulargpt.certificate.chain.product import alive


@dataclass(frozen=True)
class ChainTarget:
    """An automaton's moves between points; `number` (Q, n_symbols) is the point of a state and the last symbol, -1
    where there is no question any more or no word leads."""

    machine: MooreMachine
    moves: PointMoves
    number: Int[Tensor, "Q n_symbols"]

    @classmethod
    def from_machine(cls, machine: MooreMachine) -> ChainTarget:
        """All points that words lead to, breadth-first.

        >>> import languages
        >>> ChainTarget.from_machine(languages.get("parity").machine).n_points
        4
        """
        table, output, is_alive = machine.table.tolist(), machine.output_table.tolist(), alive(machine)
        numbers, met = dict[tuple[int, int], int](), list[tuple[int, int]]()

        def moved(q: int) -> list[int]:
            """The points after each symbol."""
            points = []
            for symbol, to in enumerate(table[q]):
                if is_alive[to] and (to, symbol) not in numbers:
                    numbers[to, symbol] = len(met)
                    met.append((to, symbol))
                points.append(numbers.get((to, symbol), -1))
            return points

        first, after = moved(machine.initial_index), list[list[int]]()
        while len(after) < len(met):
            after.append(moved(met[len(after)][0]))
        to = torch.tensor(after)  # (K, n_symbols)
        source, symbols = (to >= 0).nonzero().unbind(1)
        answers = torch.tensor([output[q] for q, _ in met])
        answered, by = (answers >= 0).nonzero().flatten(), torch.tensor([symbol for _, symbol in met])
        all_moves = torch.cat([torch.tensor(first)[None], to])  # (1 + K, n_symbols), of the start and the points
        place, read = ((all_moves >= 0) & (answers[all_moves] >= 0)).nonzero().unbind(1)
        before = torch.stack([place, read, answers[all_moves[place, read]]], 1)
        met_by = (answered, by[answered], answers[answered])
        moves = PointMoves(source, symbols, to[source, symbols], torch.tensor(first), *met_by, before)
        number = torch.full(machine.table.shape, -1)
        number[tuple(torch.tensor(met).T)] = torch.arange(len(met))
        return cls(machine, moves, number)

    @property
    def n_points(self) -> int:
        """How many points there are."""
        return 1 + int(self.number.max())

    @cached_property
    def answers(self) -> Int[Tensor, "K"]:
        """The answer at each point; -1 where there is none."""
        answers = torch.full((self.n_points,), -1)
        answers[self.moves.answered] = self.moves.answers
        return answers

    @cached_property
    def alike(self) -> Bool[Tensor, "K K"]:
        """Which points are of the same state, reached by other symbols: nothing has to tell them apart."""
        states = self.number.new_zeros(self.n_points)
        q, symbols = (self.number >= 0).nonzero().unbind(1)
        states[self.number[q, symbols]] = q
        return states[:, None] == states

    @torch.no_grad()
    def means(self, chain: LiveChain, words: list[Int[Tensor, "n length"]]) -> Float[Tensor, "K D"]:
        """The mean state at each point along batches of words; where no word comes by, what the network moves a mean of
        another point to."""
        table = torch.from_numpy(self.machine.table.astype(np.int64))
        states, points = [], []
        for batch in words:
            reached, state = torch.full((len(batch),), self.machine.initial_index), None
            for symbols in batch.unbind(1):
                _, state = chain.step(state, symbols)
                reached = table[reached, symbols]
                states.append(state)
                points.append(self.number[reached, symbols])
        at = torch.cat(points)
        is_state = at >= 0
        count = torch.bincount(at[is_state], minlength=self.n_points)
        every = torch.cat(states)[is_state.to(states[0].device)]
        sums = every.new_zeros(self.n_points, every.shape[1]).index_add_(0, at[is_state].to(every.device), every)
        return self.filled(chain, sums / count.clamp(min=1)[:, None].to(every.device), count > 0)

    def filled(self, chain: LiveChain, points: Tensor, known: Tensor) -> Tensor:
        """The points, those that are not known computed from others."""
        moves = self.moves
        for _ in range(self.n_points):
            for symbol in range(len(moves.first)):
                if (at := int(moves.first[symbol])) >= 0 and not known[at]:
                    points[at] = chain.step(None, torch.tensor([symbol]))[1][0]
                    known[at] = True
            new = known[moves.source] & ~known[moves.target]
            if not bool(new.any()):
                break
            source, symbols, to = moves.source[new], moves.symbols[new], moves.target[new]
            points[to] = chain.step(points[source], symbols)[1]
            known[to] = True
        return points
