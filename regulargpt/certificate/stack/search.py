"""Whether a stack network answers as a machine does: the search that is believed only after the checker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from languages.automata.pushdown import PushdownTransducer
from languages.errors import UserError
from languages.tasks import AnyTask
from regulargpt.finite.stack_network import StackNetwork
from regulargpt.finite.stack_product import MAX_LAG, Product, Undecided, Verdict, Word, Wrong, why_empty
from regulargpt.models.stack_rnn import StackRnn


@dataclass(frozen=True)
class Attempt:
    """What a search came to, the network as a machine, the product as far as it went, and the wrong words."""

    verdict: Verdict
    network: StackNetwork
    product: Product
    wrong: Sequence[Word] = ()


def machine_of(task: AnyTask) -> PushdownTransducer:
    """The machine that a stack network is held against. UserError where there is none, or nothing to prove."""
    if not isinstance(task.machine, PushdownTransducer):
        raise UserError(f"{task.name} has no machine with a stack that a network could be held against")
    if (reason := why_empty(task.machine)) is not None:
        raise UserError(f"{task.name}: {reason}, so there is nothing to prove; choose another language")
    return task.machine


def network_of(model: StackRnn) -> StackNetwork:
    """The network as a machine."""
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    direction = None if model.direction is None else model.direction.tolist()
    return StackNetwork(weights, float(model.empty), direction)


def attempt(
    model: nn.Module, machine: PushdownTransducer, lag: int = MAX_LAG, limit: int | None = None, wanted: int = 1
) -> Attempt:
    """Go through the product, up to so many `wanted` wrong words.

    They are believed only where the network itself answers them wrongly.
    """
    assert isinstance(model, StackRnn), "no other network has such a proof"
    network = network_of(model)
    product = Product(network, machine, lag, limit, wanted)
    found = product.run()
    wrong = [word.word for word in product.wrong if errs(model, machine, word.word)]
    if wrong:
        found = Wrong(wrong[0])
    elif isinstance(found, Wrong):
        found = Undecided(f"rounding decides the answer to a word of {len(found.word)} symbols", found.word)
    return Attempt(found, network, product, wrong)


def errs(model: nn.Module, machine: PushdownTransducer, word: Word) -> bool:
    """Whether the network, run as it is on a word, does not answer it as the machine does."""
    right = int(machine.answers(np.array([word]))[0])
    return right >= 0 and answer(model, word) != right


@torch.no_grad()
def answer(model: nn.Module, word: Sequence[int]) -> int:
    """The network's answer at the last symbol of a word, in tests."""
    device, training = next(model.parameters()).device, model.training
    found = int(model.eval()(torch.tensor([word], device=device))[0].argmax())
    model.train(training)
    return found
