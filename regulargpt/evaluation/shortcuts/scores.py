"""Shortcut scores: trivial rules, fitted to a model's training words and tested on its test words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from languages.drawn import DrawnTask
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.data import of_words
from regulargpt.data.language import LanguageData, Words
from regulargpt.evaluation.by_length import samples_at
from regulargpt.evaluation.shortcuts.features import RULES, check, features
from regulargpt.evaluation.shortcuts.rows import ROW_RULES, RowCounts, row_columns, shares
from regulargpt.evaluation.shortcuts.rule import ShortcutRule, fit

TRAINING_WORDS = 20_000
WORDS_A_BATCH = 32
SYMBOLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Shortcut:
    """What one rule scores, in percent: as a model does, and on the words it was fitted to."""

    rule: str
    score: float
    worst: float
    trained: float
    accuracy: dict[int, float]  # by length


@dataclass(frozen=True)
class RowShortcut(Shortcut):
    """The same where a word has a row of answers: shares of the answers that are right, mean over words.

    `words` is the mean over the scored lengths of the share of words with every answer right.
    """

    words: float = 0.0


def shortcut_scores(
    words: LanguageData, config: RunConfig, seed: int, training: LanguageData | None = None
) -> dict[str, Shortcut]:
    """What each rule scores where a model of this config and seed is tested: of `features.RULES`, or `rows.ROW_RULES`.

    Each is fitted to 20,000 words drawn as the model's training words are: batches of equal length, uniform over
    train_from..train_len; of `training` if the test words are of other data. It is tested on the very
    words the model is tested on, at the scored lengths and the extra ones; `score` is the mean over the scored.

    Raises UserError for answers at every position, and for more than 128 symbols or answers.

    >>> from regulargpt import data
    >>> config = RunConfig().replaced({"data.name": "even-pairs", "evaluation.stride": 100})
    >>> scores = shortcut_scores(data.build(config.data), config, seed=0)
    >>> scores["ends"].score, sorted(scores["ends"].accuracy)
    (100.0, [41, 141, 241, 341, 441])
    """
    check(words.task, config)
    if words.has_rows:
        return row_scores(words, config, seed, training or words)
    rules, trained = fitted(training or words, config, seed)
    lengths = [T for T in config.tested if words.is_tested(T)]
    points = {T: accuracies(rules, words, config, seed, T) for T in lengths}
    return {name: shortcut(name, trained[name], {T: points[T][name] for T in lengths}, config) for name in RULES}


def fitted(source: LanguageData, config: RunConfig, seed: int) -> tuple[dict[str, ShortcutRule], dict[str, float]]:
    """Each rule fitted to training words, and its share of right answers there in percent."""
    task, batches = source.task, training_words(source, config, seed)
    labels = np.concatenate([task.labels(words) for words in batches])
    seen = [features(words, task.n_symbols) for words in batches]
    columns = {name: np.concatenate([batch[name] for batch in seen]) for name in RULES}
    rules = {name: fit(columns[name], labels) for name in RULES}
    return rules, {name: 100 * float((rules[name](columns[name]) == labels).mean()) for name in RULES}


def training_words(source: LanguageData, config: RunConfig, seed: int) -> list[Words]:
    """Batches of words, drawn as a model's training words are."""
    lengths, steps = source.lengths(config.data.train_len), TRAINING_WORDS // WORDS_A_BATCH
    return [source.batch(seed, "train", step, lengths, WORDS_A_BATCH) for step in range(steps)]


def accuracies(
    rules: Mapping[str, ShortcutRule], source: LanguageData, config: RunConfig, seed: int, length: int
) -> dict[str, float]:
    """The share of the test words of equal length that each rule answers right, in percent."""
    task, words = source.task, source.test(seed, length, samples_at(length, config.evaluation))
    labels = task.labels(words)
    at_once = max(1, SYMBOLS_AT_ONCE // length)
    right = dict.fromkeys(rules, 0)
    for at in range(0, len(words), at_once):
        seen = features(words[at : at + at_once], task.n_symbols)
        for name, rule in rules.items():
            right[name] += int((rule(seen[name]) == labels[at : at + at_once]).sum())
    return {name: 100 * count / len(words) for name, count in right.items()}


def shortcut(name: str, trained: float, accuracy: dict[int, float], config: RunConfig) -> Shortcut:
    scored = [value for T, value in accuracy.items() if T in config.scored]
    return Shortcut(RULES[name], float(np.mean(scored)), min(scored), trained, accuracy)


def row_scores(source: LanguageData, config: RunConfig, seed: int, training: LanguageData) -> dict[str, Shortcut]:
    """The same of a language whose words have rows of answers."""
    assert isinstance(source.task, DrawnTask), "other tasks have one answer"
    task, counts, batches = source.task, RowCounts(source.task), training_words(training, config, seed)
    for words in batches:
        counts.add(words)
    rules, lengths = counts.rules(), [T for T in config.tested if source.is_tested(T)]

    def right(words: Words) -> dict[str, tuple[float, float]]:
        """Of each rule the share of answers, and of whole words, in percent."""
        seen, labels = row_columns(task, words)
        by_rule = {name: shares(rule, seen[name], labels) for name, rule in rules.items()}
        return {
            name: (100 * float(share.mean()), 100 * float(whole.mean())) for name, (share, whole) in by_rule.items()
        }

    trained = [right(words) for words in batches]
    points = {T: right(source.test(seed, T, samples_at(T, config.evaluation))) for T in lengths}
    scored = [T for T in lengths if T in config.scored]
    return {
        name: RowShortcut(
            rule,
            float(np.mean([points[T][name][0] for T in scored])),
            min(points[T][name][0] for T in scored),
            float(np.mean([of[name][0] for of in trained])),
            {T: points[T][name][0] for T in lengths},
            float(np.mean([points[T][name][1] for T in scored])),
        )
        for name, rule in ROW_RULES.items()
    }


def shortcut_report(config: RunConfig) -> dict[str, Any]:
    """The shortcut scores of a config as one JSON object: what `regulargpt shortcuts --json` prints.

    Raises UserError if the config cannot be run or shortcuts do not fit it.
    """
    validate(config)
    of_language = of_words(config.data)
    scores = shortcut_scores(of_language, config, config.seed)
    return {
        "language": config.data.name,
        "protocol": config.protocol,
        "train_from": config.data.shortest,
        "train_len": config.data.train_len,
        "test_from": config.scored[0],
        "test_len": config.test_len,
        "stride": config.evaluation.stride or 1,
        "samples": config.evaluation.samples,
        "seed": config.seed,
        "best": max(scores, key=lambda name: scores[name].score),
        "shortcuts": {
            name: asdict(row) | {"accuracy": {str(T): value for T, value in row.accuracy.items()}}
            for name, row in scores.items()
        },
    }
