"""The shortcut panel: trivial rules, fitted to a model's training words and tested on its test words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import languages
from languages.task import Task
from regulargpt.batches import is_tested, test_words, training_words
from regulargpt.config import RunConfig
from regulargpt.evaluation import samples_at
from regulargpt.shortcuts.features import RULES, check, features
from regulargpt.shortcuts.rule import Rule, fit
from regulargpt.validation import validate

TRAINING_WORDS = 20_000
WORDS_A_BATCH = 32
SYMBOLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Shortcut:
    """What one rule scores, in percent: as a model does, and on the words it was fitted to."""

    rule: str
    score: float
    min_accuracy: float
    trained: float
    accuracy: dict[int, float]  # by length


def shortcut_panel(task: Task, config: RunConfig, seed: int, training_task: Task | None = None) -> dict[str, Shortcut]:
    """What each rule of `features.RULES` scores where a model of this config and seed is tested.

    Each is fitted to 20,000 words drawn as the model's training words are: batches of one length, uniform over
    train_from..train_len; of `training_task` if the test words are of another one. It is tested on the very
    words the model is tested on, at the scored lengths and those beyond; `score` is the mean over the scored.

    Raises UserError for answers at every position, and for more than 128 symbols or answers.

    >>> config = RunConfig().replaced({"task.language": "even-pairs", "evaluation.stride": 100})
    >>> panel = shortcut_panel(languages.get("even-pairs"), config, seed=0)
    >>> panel["ends"].score, sorted(panel["ends"].accuracy)
    (100.0, [41, 141, 241, 341, 441])
    """
    check(task, config)
    rules, trained = fitted(training_task or task, config, seed)
    lengths = [T for T in sorted({*config.scored, *config.evaluation.beyond}) if is_tested(task, config.evaluation, T)]
    points = {T: accuracies(rules, task, config, seed, T) for T in lengths}
    return {name: shortcut(name, trained[name], {T: points[T][name] for T in lengths}, config) for name in RULES}


def fitted(task: Task, config: RunConfig, seed: int) -> tuple[dict[str, Rule], dict[str, float]]:
    """Each rule fitted to training words, and its share of right answers there in percent."""
    lengths = task.lengths(config.task.train_from, config.task.train_len)
    batches = [
        training_words(task, config.task, seed, step, lengths, WORDS_A_BATCH)
        for step in range(TRAINING_WORDS // WORDS_A_BATCH)
    ]
    labels = np.concatenate([task.labels(words) for words in batches])
    seen = [features(words, task.n_symbols) for words in batches]
    columns = {name: np.concatenate([batch[name] for batch in seen]) for name in RULES}
    rules = {name: fit(columns[name], labels) for name in RULES}
    return rules, {name: 100 * float((rules[name](columns[name]) == labels).mean()) for name in RULES}


def accuracies(rules: Mapping[str, Rule], task: Task, config: RunConfig, seed: int, length: int) -> dict[str, float]:
    """The share of the test words of one length that each rule answers right, in percent."""
    words = test_words(task, config.evaluation, seed, length, samples_at(length, config.evaluation))
    labels = task.labels(words)
    at_once = max(1, SYMBOLS_AT_ONCE // length)
    right = dict.fromkeys(rules, 0)
    for at in range(0, len(words), at_once):
        seen = features(words[at : at + at_once], task.n_symbols)
        for name, rule in rules.items():
            right[name] += int((rule(seen[name]) == labels[at : at + at_once]).sum())
    return {name: 100 * count / len(words) for name, count in right.items()}


def shortcut(name: str, trained: float, accuracy: dict[int, float], config: RunConfig) -> Shortcut:
    """One row of the panel."""
    scored = [value for T, value in accuracy.items() if T in config.scored]
    return Shortcut(RULES[name], float(np.mean(scored)), min(scored), trained, accuracy)


def panel_report(config: RunConfig) -> dict[str, Any]:
    """The panel of a config as one JSON object: what `regulargpt shortcuts --json` prints.

    Raises UserError if the config cannot be run or has no panel.
    """
    task = languages.get(config.task.language)
    check(task, config)
    validate(config, task)
    panel = shortcut_panel(task, config, config.seed)
    return {
        "language": config.task.language,
        "protocol": config.protocol,
        "train_from": config.task.train_from,
        "train_len": config.task.train_len,
        "test_from": config.scored.start,
        "test_len": config.evaluation.test_len,
        "stride": config.evaluation.stride,
        "samples": config.evaluation.samples,
        "seed": config.seed,
        "best": max(panel, key=lambda name: panel[name].score),
        "shortcuts": {name: as_json(row) for name, row in panel.items()},
    }


def as_json(row: Shortcut) -> dict[str, Any]:
    """A row with its lengths as text, as in summary.json."""
    return dataclasses.asdict(row) | {"accuracy": {str(T): value for T, value in row.accuracy.items()}}
