"""Beside each score: what rules without an automaton score on words drawn the same way, kept in the folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.cells import Compared, Comparison, ShortcutScores
from experiments.phrases import ordinal
from regulargpt import data
from regulargpt.config.protocols import protocol
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.data.options import DataOptions
from regulargpt.objectives.options import LastOptions
from regulargpt.runs.sweep.names import digits
from regulargpt.storage import atomic
from regulargpt.storage.manifest import digest

FOLDER, FORMAT = "shortcuts", 1
BY_ANSWER = "accuracy_by_position"
DIGITS = 16
Words = tuple[str, DataOptions, str]  # language tested, how training words are drawn, protocol tested under


def with_shortcuts(found: Comparison, path: Path) -> Comparison:
    """The comparison with shortcut scores for each cell that has an accuracy, computed once and kept in `path`."""
    tests: dict[Words, list[tuple[RunConfig, RunConfig]]] = {}
    for cell in filter(is_scored, found.all):
        trained, tested = test_of(cell)
        tests.setdefault(words_of(trained, tested), []).append((trained, tested))
    scores = {words: rule_scores(*max(pairs, key=effort), path) for words, pairs in tests.items()}

    def beside(cell: Compared) -> Compared:
        return with_scores(cell, scores[words_of(*test_of(cell))]) if is_scored(cell) else cell

    return replace(found, cells=tuple(tuple(map(beside, row)) for row in found.cells))


def is_scored(cell: Compared) -> bool:
    """Whether the cell has an accuracy of final answers, or of the answers of rows: of rows the rules have no words."""
    if not cell.configs:
        return False
    asks = cell.configs[0].objective
    answers = cell.shows.measure == BY_ANSWER if asks.asks_for_rows else not asks.answers_prefixes
    return answers and cell.shows.what == "accuracy" and bool(cell.group and cell.group.scores) and not cell.found


def test_of(cell: Compared) -> tuple[RunConfig, RunConfig]:
    """A config of the cell, and how it was tested."""
    config = cell.configs[0]
    return config, protocol(cell.shows.tested).test_of(config) if cell.shows.tested else config


def words_of(trained: RunConfig, tested: RunConfig) -> Words:
    """What decides how words are drawn, but for their number: cells that agree in it share their scores."""
    return tested.data.name, trained.data, tested.protocol


def effort(pair: tuple[RunConfig, RunConfig]) -> int:
    """How many words are tested: of several like tests the largest one is looked at."""
    tested = pair[1]
    return tested.evaluation.samples * len(tested.scored)


def rule_scores(trained: RunConfig, tested: RunConfig, path: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Each rule's score, and its accuracy by length; None where no rules are fitted: too many symbols, or brackets."""
    plain = RunConfig(
        protocol=tested.protocol,
        seed=trained.seed,
        data=tested.data,
        objective=trained.objective if trained.objective.asks_for_rows else LastOptions("last"),
        evaluation=replace(tested.evaluation, extra_protocols=()),
    )
    file = path / FOLDER / f"{digest(f'{trained.data.name} {digits(plain)}'.encode())[:DIGITS]}.json"
    if file.exists():
        known = atomic.parse_json(atomic.read_bytes(file), file)
        if known.get("format") == FORMAT and are_rules(known.get("rules")):
            return known["rules"]
    from regulargpt.evaluation.shortcuts.features import is_small
    from regulargpt.evaluation.shortcuts.scores import shortcut_scores

    words, training = data.of_words(tested.data), data.of_words(trained.data)
    if words.has_brackets or not is_small(words.task):
        return None
    found = shortcut_scores(words, plain, trained.seed, training)
    rules = {
        name: {"score": rule.score, "accuracy": {str(T): accuracy for T, accuracy in rule.accuracy.items()}}
        for name, rule in found.items()
    }
    atomic.make_folder(file.parent)
    atomic.write_json(file, {"format": FORMAT, "rules": rules})
    return rules


def are_rules(rules: object) -> bool:
    """Whether these are rules with their scores, as `rule_scores` writes them."""
    return (
        isinstance(rules, dict)
        and len(rules) > 0
        and all(isinstance(rule, dict) and rule.keys() == {"score", "accuracy"} for rule in rules.values())
    )


def with_scores(cell: Compared, rules: Mapping[str, Mapping[str, Any]] | None) -> Compared:
    """The cell with what each rule scores where the cell does: at the lengths that its own runs are tested at."""
    if rules is None:
        return cell
    length, (trained, tested) = cell.shows.length, test_of(cell)
    share = value_of(trained, "data.near_misses") or 0
    near = f", {100 * share:g} % near misses in training" * bool(share)
    where = f" at {length:,} symbols" if length else ""
    stride = tested.evaluation.stride
    some = f", every {ordinal(stride)} length" * (stride > 1 and not length)
    words = f"{cell.shows.tested or trained.protocol or 'no protocol'}{where}{some}{near}"
    lengths = [length] if length else tested.scored
    scores = {name: round(mean_over(lengths, rule["accuracy"]), 6) for name, rule in rules.items()}
    return replace(cell, shortcuts=ShortcutScores(words, scores))


def mean_over(lengths: Iterable[int], accuracy: Mapping[str, float]) -> float:
    """The mean over those of the lengths that were tested: a language may have no words of some.

    >>> mean_over([51, 52, 53], {"51": 100.0, "53": 50.0, "54": 0.0})
    75.0
    """
    return fmean(accuracy[str(T)] for T in lengths if str(T) in accuracy)
