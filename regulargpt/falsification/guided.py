"""Words changed symbol by symbol towards a wrong answer, along the gradient of the network's margin.

The margin is the right logit less the largest other one. How much another symbol at a place would lower it is
estimated from the gradient at what stands for the symbols (`hook_embed`); the best of these words, and some with two
symbols exchanged, are asked; the lowest margin goes on. Where there is no such gradient, changes are drawn at random.

Source: HotFlip (Ebrahimi et al. 2018), for a word instead of a text, whose right answer may change with a symbol.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import LanguageError
from languages.randomness import rng
from regulargpt.falsification.asked import Words
from regulargpt.falsification.hunt import Hunt
from regulargpt.models.hooks import HookPoint, hook_points, hooks

KIND = "guided"
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
EACH, STEPS, FLIPS, SWAPS = 16, 12, 6, 2
MOST_SYMBOLS = 64
TIMES = 3
"""A word counts so many times: a gradient is computed, and batches are small."""


def guided(hunt: Hunt) -> None:
    """Climb from words of each length in turn, until the budget is spent."""
    if not hunt.examinee.answer.has_margin:
        return
    # Where words have odd lengths only, those next to these.
    near = [next(filter(hunt.examinee.data.has_length, (T, T + 1)), 0) for T in LENGTHS]
    lengths = [length for length in near if 0 < length <= hunt.examinee.longest]
    for number in count() if lengths else ():
        random = rng(hunt.seed, "falsify: guided", number)
        try:
            words = hunt.examinee.data.task.sample(random, lengths[number % len(lengths)], EACH).astype(np.int64)
        except LanguageError:
            continue
        hunt.spend(KIND, 0, 1)
        Climb(hunt, random).go(words[hunt.examinee.questions(words)])


class Climb:
    """Some words of equal length, each changed step by step."""

    def __init__(self, hunt: Hunt, random: np.random.Generator):
        self.hunt, self.random = hunt, random
        self.tied = any(name == "hook_embed" for name in hook_points(hunt.examinee.model))

    def go(self, words: Words) -> None:
        """Until no change lowers a margin, or a word is wrong."""
        if not len(words):
            return
        best = self.margins(words)
        for _ in range(STEPS):
            if (best <= 0).any():
                return
            changed = self.changed(words)  # (n, changes, length)
            margins = self.margins(changed.reshape(-1, words.shape[1])).reshape(changed.shape[:2])  # (n, changes)
            at = margins.argmin(1)
            lower = margins[np.arange(len(at)), at]
            better = lower < best
            if not better.any():
                return
            words[better], best[better] = changed[np.flatnonzero(better), at[better]], lower[better]

    def margins(self, words: Words) -> Float[np.ndarray, "n"]:
        """By how much the network is right on these words, infinite for no questions; what is wrong is replayed."""
        examinee, hunt = self.hunt.examinee, self.hunt
        questions = np.flatnonzero(examinee.questions(words))
        margins = np.full(len(words), np.inf)
        hunt.spend(KIND, len(questions), TIMES * max(1, len(questions)) * hunt.cost(words.shape[1]))
        if len(questions):
            with torch.no_grad():
                right = examinee.answer.right(words[questions])
                logits = examinee.answer.logits(examinee.model, words[questions], examinee.device)
            margins[questions] = examinee.margin(logits, right)
            hunt.replay(words[questions[examinee.doubtful(logits, right)]])
        return margins

    def changed(self, words: Words) -> Words:
        """Each word with one symbol changed in several ways, then with two exchanged: (n, changes, length)."""
        n, length = words.shape
        gains = self.gains(words)
        flips = np.repeat(words[:, None], FLIPS + SWAPS, 1)  # (n, changes, length)
        rows, symbols = np.arange(n), self.hunt.examinee.symbols
        order = np.argsort(gains.reshape(n, -1), 1)[:, :FLIPS]  # (n, changes) of (n, length * symbols)
        for change, of in enumerate(order.T):
            flips[rows, change, of // symbols] = of % symbols
        for change in range(FLIPS, FLIPS + SWAPS):
            place, other = self.random.integers(length, size=(2, n))
            flips[rows, change, place], flips[rows, change, other] = words[rows, other], words[rows, place]
        return flips

    def gains(self, words: Words) -> Float[np.ndarray, "n length symbols"]:
        """How much the margin would grow with each symbol at each place, about; random where nothing says so."""
        symbols = self.hunt.examinee.symbols
        gains = self.slopes(words) if self.tied and symbols <= MOST_SYMBOLS else None
        if gains is None:
            gains = self.random.random((*words.shape, symbols))
        np.put_along_axis(gains, words[..., None], np.inf, 2)  # the symbol that stands there is no change
        return gains

    def slopes(self, words: Words) -> Float[np.ndarray, "n length symbols"] | None:
        """The gradient of the margin, times the difference between what stands for the symbols."""
        examinee, (n, length) = self.hunt.examinee, words.shape
        heard: list[Tensor] = []

        def listen(x: Tensor, hook: HookPoint) -> Tensor:
            heard.append(x.detach().requires_grad_())
            return heard[-1]

        every = np.repeat(np.arange(examinee.symbols)[:, None], length, 1)  # (symbols, length)
        with hooks(examinee.model, [("hook_embed", listen)]), torch.enable_grad():
            examinee.answer.logits(examinee.model, every, examinee.device)
            logits = examinee.answer.logits(examinee.model, words, examinee.device)
            right = torch.from_numpy(examinee.answer.right(words)).to(logits.device)
            margins = examinee.answer.margin(logits, right)
            if len(heard) != 2 or heard[1].shape[:2] != (n, heard[0].shape[1]) or heard[1].shape[1] < length:
                return None  # what passes there is not one row a symbol
            if not margins.requires_grad:
                return None  # nor does what passes there decide
            (slope,) = torch.autograd.grad(margins.sum(), heard[1], allow_unused=True)
            if slope is None:
                return None
            slope = slope[:, :length]  # (n, length, width)
        of_symbols = heard[0][:, :length].detach()  # (symbols, length, width)
        now = (slope * heard[1][:, :length]).sum(-1, keepdim=True)  # (n, length, 1)
        return (torch.einsum("ntd,std->nts", slope, of_symbols) - now).detach().double().cpu().numpy()
