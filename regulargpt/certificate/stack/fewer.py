"""Units that no answer needs, held constant: a network of fewer states, so that rounding decides fewer of its signs.

A unit that goes to and fro for nothing doubles the states, and each state is another chance that some sum lies so near
to 0 that rounding decides its sign. Weight decay makes such units weak and not still.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor

from languages.automata.pushdown import PushdownTransducer
from regulargpt.certificate.stack.search import StackAttempt, attempt, errors
from regulargpt.finite.stack_product import Proven, Word, Wrong
from regulargpt.models.stack_rnn.model import StackRnn

ASKED = 16  # wrong words that a search brings at most: they are queried first when others are tried
MOST_PAIRS = 2**19  # in all searches together: a quarter of a minute


@torch.no_grad()
def hold(model: StackRnn, unit: int, sign: float) -> None:
    """Hold a binary unit at 1 or -1 whatever is read: it sums up nothing but that."""
    for layer in (model.input, model.recurrent):
        layer.weight[unit] = 0.0
        layer.bias[unit] = 0.0
    model.input.bias[unit] = sign


def by_need(model: StackRnn) -> list[int]:
    """The units, first those from whose value the least follows."""
    layers = [model.recurrent, model.push, model.readout, *([] if model.action is None else [model.action])]
    follows: Tensor = torch.stack([layer.weight.detach().abs().sum(0) for layer in layers]).sum(0)  # (units,)
    return follows.argsort(stable=True).tolist()


class Fewer:
    """A copy of a network, less one unit after another as long as no word is answered wrongly.

    What is queried first are words that were answered wrongly before, `known_wrong` and since; the product decides.
    """

    def __init__(
        self, model: StackRnn, machine: PushdownTransducer, lag: int, limit: int, known_wrong: Sequence[Word] = ()
    ):
        self.model, self.machine, self.lag, self.limit = deepcopy(model), machine, lag, limit
        still_wrong = set(errors(model, machine, known_wrong))
        self.known_wrong = [word for word in known_wrong if word not in still_wrong]
        self.free = by_need(model)
        self.held = self.pairs = 0

    def proven(self) -> bool:
        """Whether units could be held until the copy is proven; each is tried again once others are held."""
        before = None
        while before != self.held:
            before = self.held
            for unit in tuple(self.free):
                tried = self.without(unit)
                if tried is not None and isinstance(tried.verdict, Proven):
                    return True
                if self.pairs > MOST_PAIRS:
                    return False
        return False

    def without(self, unit: int) -> StackAttempt | None:
        """What a search comes to if the unit is held, which it is from now on; None where a word is wrong then."""
        before = deepcopy(self.model.state_dict())
        for sign in (1.0, -1.0):
            hold(self.model, unit, sign)
            if not errors(self.model, self.machine, self.known_wrong):
                tried = attempt(self.model, self.machine, self.lag, self.limit, ASKED)
                self.pairs += len(tried.product.of)
                if not isinstance(tried.verdict, Wrong):
                    self.free.remove(unit)
                    self.held += 1
                    return tried
                self.known_wrong += tried.wrong
            self.model.load_state_dict(before)
        return None
