"""Languages: their automata, monoids and words. Listing them imports none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import languages
from languages.drawn import DrawnTask
from languages.registry import listing
from regulargpt.cli.kinds import DrawnSample
from regulargpt.cli.output import described, table

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray

    from languages import MooreMachine
    from languages.tasks import AnyTask

MOST_SYMBOLS = 100_000_000
SAMPLES = 6
SAMPLE_LENGTH = 8
MOST_NAMES, FIRST_NAMES = 16, 8  # of symbols or answers in a line
MOST_ROWS = 40  # states, and columns, of a table


def rows() -> list[dict[str, str]]:
    """One row a family."""
    return [
        {
            "name": family.pattern,
            "level": family.level,
            "summary": family.summary,
            "parameters": ", ".join(f"{p.key}={str(p.default).lower()}" for p in family.parameters),
        }
        for family in listing()
    ]


def describe(name: str, seed: int) -> dict[str, Any]:
    """States, transitions, monoid and sample words."""
    import json

    from languages.convert.json_text import to_json
    from regulargpt.finite.specification import trivial

    task = languages.get(name)
    machine = task.machine
    return {
        "language": task.name,
        "summary": task.summary,
        "source": task.source,
        "notice": trivial(task),
        "alphabet": list(task.alphabet),
        "outputs": list(task.output_names),
        "sampling": task.sampling,
        "states": machine.n_states,
        "minimal_states": machine.minimise().n_states,
        "machine": json.loads(to_json(machine)),
        "monoid": monoid(machine.minimise()),
        "examples": [{"word": word, "label": label} for word, label in task.examples],
        "samples": samples(task, seed),
    }


def monoid(machine: MooreMachine) -> dict[str, Any]:
    """The transition monoid of a machine in numbers; of one that is too large to enumerate, what is known without."""
    from languages import TransitionMonoid
    from languages.automata.green import GreenRelations
    from languages.automata.monoid import most_elements
    from languages.budget import TooLarge

    try:
        elements = TransitionMonoid.from_machine(machine)
    except TooLarge:
        is_group = machine.is_permutation
        unknown = dict.fromkeys(("size", "idempotents", "d_classes"))
        more_than = most_elements(machine)
        return {**unknown, "is_group": is_group, "is_aperiodic": False if is_group else None, "more_than": more_than}
    return {
        "size": elements.size,
        "is_group": elements.is_group,
        "is_aperiodic": elements.is_aperiodic,
        "idempotents": len(elements.idempotents),
        "d_classes": GreenRelations.from_monoid(elements).n_d_classes,
        "more_than": None,
    }


def samples(task: AnyTask, seed: int) -> list[dict[str, str]]:
    """A few words of the first length from 8 on that the task has, with their labels."""
    from languages import rng

    lengths = task.lengths(SAMPLE_LENGTH, SAMPLE_LENGTH + 64) or task.lengths(1, SAMPLE_LENGTH)
    return labelled(task, task.sample(rng(seed, "show"), lengths[0], SAMPLES)) if lengths else []


def labelled(task: AnyTask, words: Int[ndarray, "count length"]) -> list[dict[str, str]]:
    """Words with what the machine answers to them."""
    if isinstance(task, DrawnTask):
        return [dict(zip(("word", "label"), task.written(word), strict=True)) for word in words]
    decode, names = task.machine.decode, task.output_names
    return [
        {"word": decode(word), "label": names[label]} for word, label in zip(words, task.labels(words), strict=True)
    ]


def sample(name: str, length: int, count: int, seed: int, **mixture: Any) -> DrawnSample:
    """Labelled words, mixed as `languages.task.Task.sample` does it."""
    from languages.randomness import rng

    task = languages.find(name)
    words = labelled(task, task.sample(rng(seed, "sample"), length, count, **mixture))
    return DrawnSample(
        "words", {"language": task.name}, words, "{word} {label}\n".format_map, task.describe_length(length)
    )


def elements(counts: dict[str, Any]) -> str:
    """How large a monoid is.

    >>> elements({"size": None, "more_than": 20000})
    'more than 20,000 elements, not enumerated'
    >>> elements({"size": 1, "idempotents": 1, "d_classes": 1})
    '1 element, 1 idempotent, 1 D-class'
    """
    if counts["size"] is None:
        return f"more than {counts['more_than']:,} elements, not enumerated"
    counted = {"element": counts["size"], "idempotent": counts["idempotents"], "D-class": counts["d_classes"]}
    plural = {"D-class": "D-classes"}
    return ", ".join(f"{n} {name if n == 1 else plural.get(name, name + 's')}" for name, n in counted.items())


def some(names: list[str]) -> str:
    """The names, or how many there are and the first of them.

    >>> some(["0", "1"]), some([str(i) for i in range(720)])
    ('0 1', '720: 0 1 2 3 4 5 6 7 ...')
    """
    if len(names) <= MOST_NAMES:
        return " ".join(names)
    return f"{len(names)}: {' '.join(names[:FIRST_NAMES])} ..."


def text(facts: dict[str, Any]) -> str:
    """For people."""
    machine, monoid = facts["machine"], facts["monoid"]
    marks = {True: "yes", False: "no", None: "not known"}
    cells = [
        ("alphabet", some(facts["alphabet"])),
        ("answers", some(facts["outputs"])),
        ("states", f"{facts['states']} ({facts['minimal_states']} in the minimal machine)"),
        ("monoid", elements(monoid)),
        ("group", marks[monoid["is_group"]]),
        ("group-free", marks[monoid["is_aperiodic"]]),
        ("source", facts["source"]),
    ]
    outputs = machine.get("outputs", {})
    header = ("state", "answer", *facts["alphabet"])
    states = [
        (("> " if state == machine["initial"] else "  ") + state, str(outputs.get(state)), *row.values())
        for state, row in machine["transitions"].items()
    ]
    moves = f"{len(states)} states, {len(facts['alphabet'])} symbols; --dot or --json lists them"
    if max(len(states), len(header)) <= MOST_ROWS:
        moves = table(states, header)
    notice = f"\n\nnotice: {facts['notice']}" if facts["notice"] else ""
    return described(facts["language"], facts["summary"] + notice, cells, moves, written(facts))


def written(facts: dict[str, Any], label: str = "label") -> str:
    """Examples and drawn words, a row each."""
    words = dict.fromkeys((word["word"], word["label"]) for word in facts["examples"] + facts["samples"])
    return table([*words], ("word", label))
