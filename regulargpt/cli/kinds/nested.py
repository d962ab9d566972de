"""Context-free languages with visible brackets: their pushdown machines, algebras and words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import languages
from regulargpt.cli.kinds.words import MOST_ROWS, MOST_SYMBOLS, rows, sample, samples, some, written
from regulargpt.cli.output import described, table

if TYPE_CHECKING:
    from languages.context_free.nested import NestedTask

__all__ = ["MOST_SYMBOLS", "describe", "rows", "sample", "text"]


def describe(name: str, seed: int) -> dict[str, Any]:
    """Its machine, its algebra in numbers, and sample words."""
    from languages.automata.algebra import MAX_ELEMENTS, NestedAlgebra
    from languages.automata.visibly import CALL, INTERNAL, RETURN
    from languages.budget import TooLarge, allowed
    from languages.convert.pushdown import to_json

    task = cast("NestedTask", languages.find(name))
    try:
        algebra = NestedAlgebra.from_machine(task.visibly)
        counts = {"size": algebra.size, "minimal_size": algebra.minimal().size, "more_than": None}
    except TooLarge:
        counts = {"size": None, "minimal_size": None, "more_than": allowed(MAX_ELEMENTS)}
    kinds = task.visibly.direction
    return {
        "language": task.name,
        "summary": task.summary,
        "source": task.source,
        "level": task.level,
        "alphabet": list(task.alphabet),
        **{
            key: [symbol for symbol, of in zip(task.alphabet, kinds, strict=True) if of == kind]
            for key, kind in (("calls", CALL), ("returns", RETURN), ("internals", INTERNAL))
        },
        "outputs": list(task.output_names),
        "sampling": task.sampling,
        "states": task.machine.n_states,
        "stack_symbols": len(task.machine.stack),
        "machine": json.loads(to_json(task.machine)),
        "algebra": counts,
        "examples": [{"word": word, "label": label} for word, label in task.examples],
        "samples": samples(task, seed),
    }


def elements(counts: dict[str, Any]) -> str:
    """How large an algebra is.

    >>> elements({"size": 6, "minimal_size": 5, "more_than": None})
    '6 elements (5 in the minimal algebra)'
    """
    if counts["size"] is None:
        return f"more than {counts['more_than']:,} elements, not enumerated"
    return f"{counts['size']:,} elements ({counts['minimal_size']:,} in the minimal algebra)"


def text(facts: dict[str, Any]) -> str:
    """For people."""
    cells = [
        ("level", f"{facts['level']}, visibly pushdown"),
        *((key, some(facts[key])) for key in ("calls", "returns", "internals") if facts[key]),
        ("answers", some(facts["outputs"])),
        ("states", f"{facts['states']:,}, {facts['stack_symbols']:,} stack symbols"),
        ("algebra", elements(facts["algebra"])),
        ("source", facts["source"]),
    ]
    return described(facts["language"], facts["summary"], cells, moves(facts), written(facts))


def moves(facts: dict[str, Any]) -> str:
    """The moves of a pushdown machine, a row each, or how many there are."""
    machine = facts["machine"]
    rows = [
        (
            ("> " if move["from"] == machine["initial"] else "  ") + move["from"],
            str(machine["outputs"][move["from"]]),
            move["read"],
            "any" if "tops" not in move else ", ".join("bottom" if top is None else top for top in move["tops"]),
            move["to"],
            f"push {move['push']}" if "push" in move else "pop" if move.get("pop") else "",
        )
        for move in machine["moves"]
    ]
    if len(rows) > MOST_ROWS:
        return f"{facts['states']:,} states, {len(rows):,} moves: --json prints them, --dot draws them"
    return table(rows, ("state", "answer", "reads", "top", "goes to", "stack"))
