"""`regulargpt show LANGUAGE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from regulargpt.cli.output import as_json, emit, table

if TYPE_CHECKING:
    from languages.task import Task

SAMPLES = 6
SAMPLE_LENGTH = 8


def describe(task: Task, seed: int) -> dict[str, Any]:
    """States, transitions, monoid and sample words of a task."""
    import json

    from languages import TransitionMonoid
    from languages.convert.json_text import to_json

    machine = task.machine
    return {
        "language": task.name,
        "summary": task.summary,
        "source": task.source,
        "alphabet": list(task.alphabet),
        "outputs": list(task.output_names),
        "sampling": task.sampling,
        "states": machine.n_states,
        "minimal_states": machine.minimise().n_states,
        "machine": json.loads(to_json(machine)),
        "monoid": monoid(TransitionMonoid.of(machine)),
        "examples": [{"word": word, "label": label} for word, label in task.examples],
        "samples": samples(task, seed),
    }


def monoid(found: Any) -> dict[str, Any]:
    """The transition monoid in numbers."""
    from languages.green import GreenRelations

    green = GreenRelations.of(found)
    return {
        "size": found.size,
        "is_group": found.is_group,
        "is_group_free": found.is_group_free,
        "idempotents": len(found.idempotents),
        "d_classes": len(green.egg_boxes()),
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


def text(shown: dict[str, Any]) -> str:
    """For people."""
    machine, found = shown["machine"], shown["monoid"]
    marks = {True: "yes", False: "no"}
    facts = [
        ("alphabet", " ".join(shown["alphabet"])),
        ("answers", " ".join(shown["outputs"])),
        ("states", f"{shown['states']} ({shown['minimal_states']} in the minimal machine)"),
        ("monoid", f"{found['size']} transitions, {found['idempotents']} idempotents, {found['d_classes']} D-classes"),
        ("group", marks[found["is_group"]]),
        ("group-free", marks[found["is_group_free"]]),
        ("source", shown["source"]),
    ]
    outputs = machine.get("outputs", {})
    header = ("state", *shown["alphabet"], "answer")
    rows = [
        (("> " if state == machine["initial"] else "  ") + state, *row.values(), str(outputs.get(state)))
        for state, row in machine["transitions"].items()
    ]
    words = [(sample["word"], sample["label"]) for sample in shown["examples"] + shown["samples"]]
    return "\n\n".join(
        [
            f"{shown['language']}: {shown['summary']}",
            table(facts),
            table(rows, header) if len(rows) <= 40 else f"{len(rows)} states; --dot or --json lists them",
            table(words, ("word", "label")),
        ]
    )


@click.command()
@click.argument("language")
@click.option("--dot", is_flag=True, help="Print the automaton in Graphviz's language.")
@click.option("--seed", default=0, show_default=True, help="Seed of the sample words.")
@as_json
def command(language: str, dot: bool, seed: int, as_json: bool) -> None:
    """Show a language: its automaton, its monoid, sample words."""
    import languages

    task = languages.get(language)
    if dot:
        from languages.convert.dot import to_dot

        click.echo(to_dot(task.machine), nl=False)
    elif as_json:
        emit(describe(task, seed))
    else:
        click.echo(text(describe(task, seed)))
