"""Languages whose words a function draws: their pushdown machines, if they have any, and their words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import languages
from languages.errors import VAST
from regulargpt.cli.kinds.nested import moves
from regulargpt.cli.kinds.words import MOST_SYMBOLS, rows, sample, samples, some, written
from regulargpt.cli.output import described

if TYPE_CHECKING:
    from languages.drawn import DrawnTask

__all__ = ["MOST_SYMBOLS", "describe", "rows", "sample", "text"]


def describe(name: str, seed: int) -> dict[str, Any]:
    """Its machine, where that is a table of moves, and sample words."""
    from languages.automata.pushdown import PushdownTransducer
    from languages.convert.pushdown import to_json

    task = cast("DrawnTask", languages.find(name))
    machine, size = task.machine, {}
    if isinstance(machine, PushdownTransducer):
        size = {"states": machine.n_states, "stack_symbols": len(machine.stack)}
        size |= {"machine": json.loads(to_json(machine))}
    return {
        "language": task.name,
        "summary": task.summary,
        "source": task.source,
        "level": task.level,
        "alphabet": list(task.alphabet),
        "outputs": list(task.output_names),
        "empty": None if task.empty is None else task.alphabet[task.empty],
        "sampling": task.sampling,
        **size,
        "examples": [{"word": word, "label": label} for word, label in task.examples],
        "samples": samples(task, seed),
    }


def text(facts: dict[str, Any]) -> str:
    """For people."""
    is_vast = facts["level"] == "vast"
    at_end = "one at each question" if is_vast else "one, at the last symbol"
    row = f"one at each {facts['empty']} behind the word" if facts["empty"] else at_end
    cells = [
        ("level", f"vast: {VAST}" if is_vast else facts["level"]),
        ("alphabet", some(facts["alphabet"])),
        ("answers", f"{some(facts['outputs'])}; {row}"),
        *([("states", f"{facts['states']:,}, {facts['stack_symbols']:,} stack symbols")] if "states" in facts else []),
        ("source", facts["source"]),
    ]
    parts = [moves(facts)] if "machine" in facts else []
    words = written(facts, "answers" if facts["empty"] else "label")
    return described(facts["language"], facts["summary"], cells, *parts, words)
