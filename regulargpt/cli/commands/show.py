"""`regulargpt show LANGUAGE`, `regulargpt show TEXT`, `regulargpt show TASK`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, printed, say, table

if TYPE_CHECKING:
    from languages import MooreMachine
    from languages.task import Task

SAMPLES = 6
SAMPLE_LENGTH = 8
MOST_NAMES, FIRST_NAMES = 16, 8  # of symbols or answers in a line
MOST_ROWS = 40  # states, and columns, of a table


def describe(task: Task, seed: int) -> dict[str, Any]:
    """States, transitions, monoid and sample words of a task."""
    import json

    from languages.convert.json_text import to_json
    from regulargpt.finite.specification import trivial

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
        found = TransitionMonoid.of(machine)
    except TooLarge:
        is_group = machine.is_permutation
        unknown = dict.fromkeys(("size", "idempotents", "d_classes"))
        more_than = most_elements(machine)
        return {**unknown, "is_group": is_group, "is_aperiodic": False if is_group else None, "more_than": more_than}
    return {
        "size": found.size,
        "is_group": found.is_group,
        "is_aperiodic": found.is_aperiodic,
        "idempotents": len(found.idempotents),
        "d_classes": GreenRelations.of(found).n_d_classes,
        "more_than": None,
    }


def samples(task: Task, seed: int) -> list[dict[str, str]]:
    """A few words of the first length from 8 on that the task has, with their labels."""
    from languages import rng

    lengths = task.lengths(SAMPLE_LENGTH, SAMPLE_LENGTH + 64) or task.lengths(1, SAMPLE_LENGTH)
    if not lengths:
        return []
    words = task.sample(rng(seed, "show"), lengths[0], SAMPLES)
    labels = task.labels(words)
    decode, names = task.machine.decode, task.output_names
    return [{"word": decode(word), "label": names[label]} for word, label in zip(words, labels, strict=True)]


def elements(found: dict[str, Any]) -> str:
    """How large a monoid is.

    >>> elements({"size": None, "more_than": 20000})
    'more than 20,000 elements, not enumerated'
    >>> elements({"size": 1, "idempotents": 1, "d_classes": 1})
    '1 element, 1 idempotent, 1 D-class'
    """
    if found["size"] is None:
        return f"more than {found['more_than']:,} elements, not enumerated"
    counted = {"element": found["size"], "idempotent": found["idempotents"], "D-class": found["d_classes"]}
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


def text(shown: dict[str, Any]) -> str:
    """For people."""
    machine, found = shown["machine"], shown["monoid"]
    marks = {True: "yes", False: "no", None: "not known"}
    facts = [
        ("alphabet", some(shown["alphabet"])),
        ("answers", some(shown["outputs"])),
        ("states", f"{shown['states']} ({shown['minimal_states']} in the minimal machine)"),
        ("monoid", elements(found)),
        ("group", marks[found["is_group"]]),
        ("group-free", marks[found["is_aperiodic"]]),
        ("source", shown["source"]),
    ]
    outputs = machine.get("outputs", {})
    header = ("state", "answer", *shown["alphabet"])
    rows = [
        (("> " if state == machine["initial"] else "  ") + state, str(outputs.get(state)), *row.values())
        for state, row in machine["transitions"].items()
    ]
    size = f"{len(rows)} states, {len(shown['alphabet'])} symbols"
    words = [(sample["word"], sample["label"]) for sample in shown["examples"] + shown["samples"]]
    return "\n\n".join(
        [
            f"{shown['language']}: {shown['summary']}",
            *([f"notice: {shown['notice']}"] if shown["notice"] else []),
            table(facts),
            table(rows, header) if max(len(rows), len(header)) <= MOST_ROWS else f"{size}; --dot or --json lists them",
            table(words, ("word", "label")),
        ]
    )


@click.command()
@click.argument("language")
@click.option("--dot", is_flag=True, help="Print the automaton in Graphviz's language.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample words or lines."
)
@printed
def command(language: str, dot: bool, seed: int, as_json: bool) -> None:
    """Show a language: its automaton, its monoid, sample words; a text: its size, its digest, a few lines; or a
    retrieval task: its symbols, its answers, a document with questions.
    """
    import languages
    from languages.registry import is_retrieval, is_text

    if dot and as_json:
        raise UserError("--dot and --json exclude each other; give one")
    if is_text(language) and not dot:
        show_text(language, seed, as_json)
        return
    if is_retrieval(language) and not dot:
        show_retrieval(language, seed, as_json)
        return
    task = languages.get(language)
    if dot:
        from languages.convert.dot import to_dot

        click.echo(to_dot(task.machine), nl=False)
    elif as_json:
        emit(describe(task, seed))
    else:
        say(text(describe(task, seed)))


def show_text(name: str, seed: int, as_json: bool) -> None:
    """Print what a text is."""
    from languages.text import corpus
    from regulargpt.cli import texts

    found = texts.described(corpus(name), seed)
    emit(found) if as_json else say(texts.shown(found))


def show_retrieval(name: str, seed: int, as_json: bool) -> None:
    """Print what a retrieval task is."""
    from languages.text.retrieval import retrieval
    from regulargpt.cli import documents

    found = documents.described(retrieval(name), seed)
    emit(found) if as_json else say(documents.shown(found))
