"""Perplexity on key symbols as a score of methods: symbols that far text helps to predict, the same for every method.

Below 1 with its whole interval, the ratio to near text says that a method uses text farther back than the training
length: the network as trained was given no more than that before each of the same symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from languages.errors import UserError
from regulargpt import objectives
from regulargpt.runs.again import Retest
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened
from regulargpt.runs.places import is_checkpoint
from regulargpt.text.data.segments import TextData
from regulargpt.text.evaluation.copies import REPEATED
from regulargpt.text.measurements.key_symbols import (
    ALPHA,
    BETA,
    FEWEST,
    KEY_NATS,
    KEYS,
    NEAR_NATS,
    Copies,
    KeyChoice,
    Keyed,
    KeySymbols,
    LongShort,
    perplexity,
)
from regulargpt.text.measurements.method_scores import BITS, SCORES, Points, Score
from regulargpt.text.measurements.options import MethodOptions
from regulargpt.text.objectives.language_model import LanguageModel
from regulargpt.text.opened import open_checkpoint

COPIES, SELF = "copies", "self"
MEASURE, LABEL, PREFIX = "key_perplexity", "perplexity on key symbols", "key_"


@dataclass(frozen=True)
class KeyScore(Score):
    """The perplexity on keys, over that as trained at the same length, and over that as trained behind near text."""

    chosen_by: str = ""

    @property
    def to_training_length(self) -> str:
        return f"{self.prefix}to_near"

    @property
    def facts(self) -> str:
        return f"{self.measure} by {self.chosen_by}"

    def values(self, points: Points, trained: Points, base: int) -> dict[str, Any]:
        """Lengths with too few keys have no number, but say how many keys there were."""
        own = {T: point.of_words for T, point in points.items()}
        sums = {
            self.measure: {T: of[KEY_NATS] for T, of in own.items()},
            self.to_trained: {T: of[KEY_NATS] - trained[T].of_words[KEY_NATS] for T, of in own.items() if T in trained},
            self.to_training_length: {T: of[KEY_NATS] - of[NEAR_NATS] for T, of in own.items()},
        }
        intervals = {
            key: {T: perplexity(nats, own[T][KEYS], points[T].files) for T, nats in each.items()}
            for key, each in sums.items()
        }
        counts = {str(T): int(of[KEYS].sum()) for T, of in own.items()}
        said = {
            key: {str(T): [x.value, x.low, x.high] for T, x in each.items() if x} for key, each in intervals.items()
        }
        return {**said, "key_symbols": counts}

    def notes(self, values: Mapping[str, Any], longest: str) -> list[str]:
        """How many keys there were, and which methods use far text at the longest length."""
        counts = {T: count for of in values.values() for T, count in of["key_symbols"].items()}
        numbers = ", ".join(f"{count:,} at {int(T):,}" for T, count in sorted(counts.items(), key=lambda x: int(x[0])))
        notes = [f"key symbols ({self.chosen_by}): {numbers}"]
        if any(count < FEWEST for count in counts.values()):
            notes.append(
                f"fewer than {FEWEST} key symbols, or all in one segment, make no number; ask for more --words"
            )
        return [*notes, *far(values, longest, self.to_training_length)]


def far(values: Mapping[str, Any], longest: str, key: str) -> list[str]:
    """Which methods use far text, by their own intervals.

    >>> far({"trained": {"near": {"64": [2.0, 1.5, 2.5]}}, "yarn": {"near": {"64": [0.5, 0.4, 0.6]}}}, "64", "near")
    ['at 64 symbols, text beyond the training length helps on key symbols: yarn x 0.500 (0.400-0.600)']
    """
    ratios = {name: of[key][longest] for name, of in values.items() if longest in of[key]}
    if not ratios:
        return []
    helped = [f"{name} x {value:.3f} ({low:.3f}-{high:.3f})" for name, (value, low, high) in ratios.items() if high < 1]
    says = f"helps on key symbols: {', '.join(helped)}" if helped else "helps no method on key symbols"
    return [f"at {int(longest):,} symbols, text beyond the training length {says}"]


def scores_of(run: Opened, options: MethodOptions) -> Sequence[Score]:
    """Bits per byte, and the score of key symbols that is requested; the refusals of `chosen`."""
    if options.key_by is None:
        return SCORES
    device, objective = prepare(run.config), objectives.build(run.config.objective, run.data)
    assert isinstance(objective, LanguageModel)
    choice, named = chosen(run, options, objective, device)
    symbols = KeySymbols(choice, run.model, objective, device, run.train_len)

    def within(test: Retest) -> Retest:
        assert isinstance(test.data, TextData)
        return replace(test, objective=Keyed(test.data, symbols))

    near = f"x as trained with the last {run.train_len:,} symbols, {LABEL}"
    return BITS, KeyScore(MEASURE, LABEL, prefix=PREFIX, within=within, to_base=near, chosen_by=named)


def chosen(
    run: Opened, options: MethodOptions, objective: LanguageModel, device: torch.device
) -> tuple[KeyChoice, str]:
    """What chooses the keys, and all that they depend on, in words.

    Raises UserError as `evaluator_of` does, and for short contexts that are as long as the evaluator's long ones.
    """
    if options.key_by == COPIES:
        repeated = options.key_repeat or REPEATED
        text = f"copies of more than {run.train_len:,} symbols back, with the {repeated} symbols before them"
        return Copies(repeated, run.train_len), text
    evaluator = evaluator_of(run, str(options.key_by))
    longest = evaluator.train_len
    usual = run.train_len if run.train_len < longest else max(1, longest // 4)
    context = options.key_context or usual
    if context >= longest:
        raise UserError(f"--key-context {context}: the evaluator was trained on {longest:,} symbols; choose fewer")
    alpha = ALPHA if options.key_alpha is None else options.key_alpha
    beta = BETA if options.key_beta is None else options.key_beta
    by = "the network itself" if evaluator is run else options.key_by
    text = (
        f"by {by}, weights {evaluator.weights[:12]}, trained on {longest:,} symbols: LSD > {alpha:g}, LCL > {beta:g}, "
        f"short contexts of {context:,}"
    )
    return LongShort(evaluator.model, objective, device, longest, context, alpha, beta), text


def evaluator_of(run: Opened, place: str) -> Opened:
    """The network that chooses. UserError for another way to choose, and a network that reads other tokens."""
    if place == SELF:
        return run
    if not is_checkpoint(place):
        raise UserError(f"--key-by {place:.40}: choose {COPIES}, {SELF}, or an evaluator as hf:PATH")
    assert isinstance(run.data, TextData)
    evaluator = open_checkpoint(place, run.config.data.name, device=run.config.device)
    assert isinstance(evaluator.data, TextData)
    if not np.array_equal(evaluator.data.corpus.test, run.data.corpus.test):
        raise UserError(
            f"--key-by {place}: it reads {run.data.name} in other tokens; choose one with the same tokenizer"
        )
    return evaluator
