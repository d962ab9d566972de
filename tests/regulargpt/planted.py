"""Networks that are a machine: right ones, and ones with an error that is known."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import languages
from languages.automata import MooreMachine
from regulargpt import objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.falsification.asked import Asked
from regulargpt.models.base import Model
from regulargpt.models.recurrent import Stepwise

Word = tuple[int, ...]


class Steps(Stepwise):
    """A machine as a recurrent network: its state is the machine's, as a one-hot vector."""

    def __init__(self, machine: MooreMachine):
        n, outputs = machine.n_states, len(machine.output_names)
        super().__init__(machine.n_symbols, n, outputs, torch.Generator().manual_seed(0))
        self.machine = machine
        right = torch.from_numpy(np.maximum(machine.output_table, 0))
        self.readout.weight.data = F.one_hot(right, outputs).T.float()
        self.readout.bias.data.zero_()

    def start(self, batch: int) -> Tensor:
        return F.one_hot(torch.full((batch,), self.machine.initial_index), self.machine.n_states).float()

    def step(self, state: Tensor, x: Tensor) -> Tensor:
        after = torch.from_numpy(self.machine.table.astype(np.int64))[state.argmax(1), x.argmax(1)]
        return F.one_hot(after, self.machine.n_states).float()


class Whole(Model):
    """The same as a network without a state."""

    def __init__(self, machine: MooreMachine):
        super().__init__()
        self.machine = machine
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, words: Tensor, readout: str = "last") -> Tensor:
        answers = self.machine.answers(words.numpy(), every=readout == "all")
        return F.one_hot(torch.from_numpy(np.maximum(answers, 0)), len(self.machine.output_names)).float()


def asked(model: Model, language: str = "parity", **changes: str) -> Asked:
    """The network, asked about a language."""
    config = RunConfig().replaced({"data.name": language, "model.name": "gru"} | changes)
    words = of_words(config.data)
    goal = objectives.build(config.objective, words)
    return Asked.of(model, words, goal, torch.device("cpu"), config.network)


def with_error(machine: MooreMachine, regex: str) -> MooreMachine:
    """The machine, but for the words of a regular expression: another answer there."""
    errors = languages.get(f"regex:{regex}").machine
    n, lost = machine.n_states, errors.n_states  # a symbol that the expression does not have leads to no word of it
    table = np.full((lost + 1, machine.n_symbols), lost)
    table[:lost, [machine.alphabet.index(symbol) for symbol in errors.alphabet]] = errors.table
    wrong = np.append(errors.output_table == 1, False)
    rows = machine.table[:, None] + n * table[None]  # (Q, E, Sigma): the pair (q, e) is q + n e
    delta = tuple(map(tuple, rows.swapaxes(0, 1).reshape(-1, machine.n_symbols).tolist()))  # (E * Q, Sigma)
    outputs = (machine.output_table[None] + wrong[:, None]) % len(machine.output_names)  # (E, Q)
    states = tuple(f"s{at}" for at in range(len(delta)))
    start = states[machine.initial_index + n * errors.initial_index]
    return MooreMachine(states, machine.alphabet, delta, start, tuple(outputs.ravel().tolist()), machine.output_names)
