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
from regulargpt.finite.stack_product import MAX_LAG, StackProduct, UndecidedProduct, Verdict, Word, Wrong, why_empty
from regulargpt.models.stack_rnn.model import StackRnn

AT_ONCE = 64  # words that a network reads together


@dataclass(frozen=True)
class StackAttempt:
    """What a search came to, the network as a machine, the product as far as it went, and the wrong words."""

    verdict: Verdict
    network: StackNetwork
    product: StackProduct
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
) -> StackAttempt:
    """Go through the product, up to so many `wanted` wrong words.

    They are believed only where the network itself answers them wrongly.
    """
    assert isinstance(model, StackRnn), "no other network has such a proof"
    network = network_of(model)
    product = StackProduct(network, machine, lag, limit, wanted)
    verdict = product.run()
    wrong = errors(model, machine, [word.word for word in product.wrong])
    if wrong:
        verdict = Wrong(wrong[0])
    elif isinstance(verdict, Wrong):
        verdict = UndecidedProduct(
            f"rounding decides the answer to a word of {len(verdict.word)} symbols", verdict.word
        )
    return StackAttempt(verdict, network, product, wrong)


def errors(model: nn.Module, machine: PushdownTransducer, words: Sequence[Word]) -> list[Word]:
    """Those of some words that the network, run as it is in tests, does not answer as the machine does."""
    wrong_words = list[Word]()
    for at in range(0, len(words), AT_ONCE):
        part = words[at : at + AT_ONCE]
        given = zip(part, answers(model, part), strict=True)
        wrong_words += [word for word, answer in given if answer != int(machine.answers(np.array([word]))[0])]
    return wrong_words


@torch.no_grad()
def answers(model: nn.Module, words: Sequence[Word]) -> list[int]:
    """The network's answers at the last symbols of words; what is behind a word in a batch changes nothing of it."""
    device, training, length = next(model.parameters()).device, model.training, max(map(len, words))
    padded = torch.tensor([[*word, *[0] * (length - len(word))] for word in words], device=device)  # (words, length)
    logits = model.eval()(padded, readout="all")
    model.train(training)
    return [int(row[len(word) - 1].argmax()) for row, word in zip(logits, words, strict=True)]
