"""Beside each score: what rules without an automaton score on words drawn the same way, kept in the folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import languages
from experiments.cells import Compared, Comparison, Panel
from experiments.phrases import ordinal
from regulargpt.config import RunConfig, TaskConfig
from regulargpt.protocols import protocol
from regulargpt.storage import atomic
from regulargpt.storage.manifest import digest
from regulargpt.sweep.names import digits

FOLDER, FORMAT = "shortcuts", 1
DIGITS = 16
Words = tuple[str, TaskConfig, str]  # language tested, how training words are drawn, protocol tested under


def with_panels(found: Comparison, path: Path) -> Comparison:
    """The comparison with a panel for each cell that has an accuracy. Panels are computed once and kept in `path`."""
    tests: dict[Words, list[tuple[RunConfig, RunConfig]]] = {}
    for cell in filter(is_scored, found.all):
        trained, tested = test_of(cell)
        tests.setdefault(words_of(trained, tested), []).append((trained, tested))
    panels = {words: panel(*max(pairs, key=effort), path) for words, pairs in tests.items()}

    def beside(cell: Compared) -> Compared:
        return add(cell, panels[words_of(*test_of(cell))]) if is_scored(cell) else cell

    return replace(found, cells=tuple(tuple(map(beside, row)) for row in found.cells))


def is_scored(cell: Compared) -> bool:
    """Whether the cell has an accuracy of final answers."""
    answers = cell.configs[0].task.supervision not in ("every", "next") if cell.configs else False
    return answers and cell.shows.what == "accuracy" and bool(cell.group and cell.group.scores) and not cell.found


def test_of(cell: Compared) -> tuple[RunConfig, RunConfig]:
    """A config of the cell, and how it was tested."""
    config = cell.configs[0]
    return config, protocol(cell.shows.tested).test_of(config) if cell.shows.tested else config


def words_of(trained: RunConfig, tested: RunConfig) -> Words:
    """What tells panels apart: whatever decides how words are drawn, but their number."""
    return tested.task.language, replace(trained.task, supervision="last"), tested.protocol


def effort(pair: tuple[RunConfig, RunConfig]) -> int:
    """How many words are tested: of several like tests the largest one is looked at."""
    tested = pair[1]
    return tested.evaluation.samples * len(tested.scored)


def panel(trained: RunConfig, tested: RunConfig, path: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Each rule's score, and its accuracy by length; None where there is no panel for this kind of answers."""
    plain = RunConfig(
        protocol=tested.protocol,
        seed=trained.seed,
        task=replace(tested.task, supervision="last"),
        evaluation=replace(tested.evaluation, also=()),
    )
    file = path / FOLDER / f"{digest(f'{trained.task.language} {digits(plain)}'.encode())[:DIGITS]}.json"
    if file.exists():
        known = atomic.parse_json(atomic.read_bytes(file), file)
        if known.get("format") == FORMAT and is_panel(known.get("rules")):
            return known["rules"]
    from regulargpt.shortcuts.features import is_small
    from regulargpt.shortcuts.panel import shortcut_panel

    task, training_task = languages.get(tested.task.language), languages.get(trained.task.language)
    if not is_small(task):
        return None
    found = shortcut_panel(task, plain, trained.seed, training_task)
    rules = {
        name: {"score": rule.score, "accuracy": {str(T): accuracy for T, accuracy in rule.accuracy.items()}}
        for name, rule in found.items()
    }
    atomic.make_folder(file.parent)
    atomic.write_json(file, {"format": FORMAT, "rules": rules})
    return rules


def is_panel(rules: object) -> bool:
    """Whether these are rules with their scores, as `panel` writes them."""
    return (
        isinstance(rules, dict)
        and len(rules) > 0
        and all(isinstance(rule, dict) and rule.keys() == {"score", "accuracy"} for rule in rules.values())
    )


def add(cell: Compared, rules: Mapping[str, Mapping[str, Any]] | None) -> Compared:
    """The cell with what each rule scores where the cell does: at the lengths that its own runs are tested at."""
    if rules is None:
        return cell
    length, (trained, tested) = cell.shows.length, test_of(cell)
    near = f", {100 * trained.task.near_misses:g} % near misses in training" * bool(trained.task.near_misses)
    where = f" at {length:,} symbols" if length else ""
    stride = tested.evaluation.stride
    some = f", every {ordinal(stride)} length" * (stride > 1 and not length)
    words = f"{cell.shows.tested or trained.protocol or 'no protocol'}{where}{some}{near}"
    lengths = [length] if length else tested.scored
    scores = {name: mean_over(lengths, rule["accuracy"]) for name, rule in rules.items()}
    return replace(cell, panel=Panel(words, scores))


def mean_over(lengths: Iterable[int], accuracy: Mapping[str, float]) -> float:
    """The mean over those of the lengths that were tested: a language may have no words of some.

    >>> mean_over([51, 52, 53], {"51": 100.0, "53": 50.0, "54": 0.0})
    75.0
    """
    return fmean(accuracy[str(T)] for T in lengths if str(T) in accuracy)
