"""Beside each score: what rules without an automaton score on words drawn the same way, kept in the folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.experiment import Experiment, Scale, Shows
from experiments.recorded import DONE, RecordedRun, Rules, key_of
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
Pair = tuple[RunConfig, RunConfig]  # as trained, and as tested
Words = tuple[str, DataOptions, str]  # language tested, how training words are drawn, protocol tested under


def rules_beside(experiment: Experiment, scale: Scale, runs: Sequence[RecordedRun], path: Path) -> list[Rules]:
    """What the rules score on the words of each score, computed once and kept in `path`; equal lines are joined."""
    places = list(scored(experiment, scale, runs))
    tests: dict[Words, list[Pair]] = {}
    for _, _, shows, config in places:
        pair = config, as_tested(config, shows)
        tests.setdefault(words_of(*pair), []).append(pair)
    known = {words: rule_scores(*max(pairs, key=effort), path) for words, pairs in tests.items()}
    names_of: dict[Any, list[str]] = {}
    for row, name, shows, config in places:
        if rules := known[words_of(config, as_tested(config, shows))]:
            words, scores = on_words(config, shows, rules)
            names_of.setdefault((row, key_of(shows), words, tuple(scores.items())), []).append(name)
    merged: dict[Any, list[str]] = {}
    for (row, *rest), names in names_of.items():
        merged.setdefault((tuple(dict.fromkeys(names)), *rest), []).append(row)
    return [Rules(tuple(rows), names, test, words, dict(of)) for (names, test, words, of), rows in merged.items()]


def scored(
    experiment: Experiment, scale: Scale, runs: Sequence[RecordedRun]
) -> Iterator[tuple[str, str, Shows, RunConfig]]:
    """The places with an accuracy of final answers, or of the answers of rows, their test, and a config of theirs."""
    done = {(row, run.runs): set(run.tests) for run in runs if run.state == DONE for row in run.rows}
    for row, column in product(experiment.rows, () if experiment.analyse else experiment.columns):
        shows = experiment.shows(row, column)
        if shows.what == "accuracy" and key_of(shows) in done.get((row, column.runs), ()):
            config = experiment.configs(row, column.runs, scale)[0]
            if is_scored(config, shows):
                yield row, column.runs, shows, config


def is_scored(config: RunConfig, shows: Shows) -> bool:
    """Whether rules have words for such a score: of rows of answers they have none."""
    asks = config.objective
    return shows.measure == BY_ANSWER if asks.asks_for_rows else not asks.answers_prefixes


def as_tested(config: RunConfig, shows: Shows) -> RunConfig:
    """How the runs of a config were tested."""
    return protocol(shows.tested).test_of(config) if shows.tested else config


def words_of(trained: RunConfig, tested: RunConfig) -> Words:
    """What decides how words are drawn, but for their number: cells that agree in it share their scores."""
    return tested.data.name, trained.data, tested.protocol


def effort(pair: Pair) -> int:
    """How many words are tested: of several like tests the largest is looked at."""
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
    scores = shortcut_scores(words, plain, trained.seed, training)
    rules = {
        name: {"score": rule.score, "accuracy": {str(T): accuracy for T, accuracy in rule.accuracy.items()}}
        for name, rule in scores.items()
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


def on_words(trained: RunConfig, shows: Shows, rules: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, float]]:
    """How words were drawn, and what each rule scores at the lengths that the runs are tested at."""
    length, tested = shows.length, as_tested(trained, shows)
    share = value_of(trained, "data.near_misses") or 0
    near = f", {100 * share:g} % near misses in training" * bool(share)
    at = f" at {length:,} symbols" if length else ""
    stride = tested.evaluation.stride
    some = f", every {ordinal(stride)} length" * (stride > 1 and not length)
    lengths = [length] if length else tested.scored
    scores = {name: round(mean_over(lengths, rule["accuracy"]), 6) for name, rule in rules.items()}
    return f"{shows.tested or trained.protocol or 'no protocol'}{at}{some}{near}", scores


def ordinal(number: int) -> str:
    """A number as a rank.

    >>> ordinal(2), ordinal(10), ordinal(23)
    ('2nd', '10th', '23rd')
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def mean_over(lengths: Iterable[int], accuracy: Mapping[str, float]) -> float:
    """The mean over those of the lengths that were tested: a language may have no words of some.

    >>> mean_over([51, 52, 53], {"51": 100.0, "53": 50.0, "54": 0.0})
    75.0
    """
    return fmean(accuracy[str(T)] for T in lengths if str(T) in accuracy)
