"""Networks that are a machine: right ones, and ones with an error that is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import languages
from languages.automata import MooreMachine
from regulargpt import objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.falsification.asked import Examinee
from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint
from regulargpt.models.recurrent import Stepwise


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
        return F.one_hot(torch.full((batch,), self.machine.initial_index), self.machine.n_states).to(
            self.readout.weight
        )

    def step(self, state: Tensor, x: Tensor) -> Tensor:
        after = torch.from_numpy(self.machine.table.astype(np.int64))[state.argmax(1), x.argmax(1)]
        return F.one_hot(after, self.machine.n_states).to(self.readout.weight)


class Whole(Model):
    """A function of words (n, length) to answers, (n,) or after each symbol, as a network without a state."""

    def __init__(self, answers: Callable[..., np.ndarray], n_outputs: int):
        super().__init__()
        self.answers_to, self.n_outputs = answers, n_outputs
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, words: Tensor, readout: str = "last") -> Tensor:
        found = self.answers_to(words.numpy(), every=readout == "all")
        return F.one_hot(torch.from_numpy(np.maximum(found, 0)), self.n_outputs).float()


class Near(Model):
    """Right on every word but one, and the less sure of its answer the fewer symbols of a word of its length differ."""

    def __init__(self, machine: MooreMachine, word: list[int]):
        super().__init__()
        self.machine, self.word = machine, torch.tensor(word)
        self.hook_embed = HookPoint()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, words: Tensor, readout: str = "last") -> Tensor:
        x = self.hook_embed(F.one_hot(words, 2).float())  # (n, length, 2)
        right = F.one_hot(torch.from_numpy(self.machine.answers(words.numpy())), 2)
        if words.shape[1] != len(self.word):
            return right * self.weight
        apart = (1 - x.gather(2, self.word.expand(len(x), -1)[..., None])).sum((1, 2))
        return right * (self.weight * apart - 0.5)[:, None]


def steps(machine: MooreMachine) -> Model:
    """The machine as a network with a state."""
    return Steps(machine)


def whole(machine: MooreMachine) -> Model:
    """The machine as a network without."""
    return Whole(machine.answers, len(machine.output_names))


def asked(model: Model, language: str = "parity", **changes: str) -> Examinee:
    """The network, asked about a language."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    config = RunConfig().replaced({"data.name": language, "model.name": "gru"} | dotted)
    words = of_words(config.data)
    goal = objectives.build(config.objective, words)
    return Examinee.from_model(model, words, goal, torch.device("cpu"), config.network)


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
