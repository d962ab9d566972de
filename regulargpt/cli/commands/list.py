"""`regulargpt list languages|texts|retrieval|models|encodings|...`, `regulargpt list models NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

import click

from languages.errors import UserError, one_of
from regulargpt.cli.output import emit, printed, say, table

PARTS = {
    "models": ("regulargpt.models:MODELS", "model."),
    "encodings": ("regulargpt.encodings:ENCODINGS", "model.encoding."),
    "objectives": ("regulargpt.objectives:OBJECTIVES", "objective."),
    "phases": ("regulargpt.config.phases:PHASES", "phases.{name}."),
    "observers": ("regulargpt.training.observers:OBSERVERS", "observers.{name}."),
}
"""The kinds of parts that have options: where their registry is, and the section of the options in a config."""


def parts(kind: str) -> list[dict[str, str]]:
    """One row a part; those of installed packages come last and are not imported."""
    from regulargpt.options.registry import registry

    known = registry(PARTS[kind][0])
    rows = [{"name": name, "summary": row.summary, "source": row.source or "-"} for name, row in known.items()]
    offered = known.offered().items()
    return rows + [{"name": name, "summary": "of an installed package", "source": place} for name, place in offered]


def recipes() -> list[dict[str, str]]:
    """One row a recipe."""
    from regulargpt.config.recipes import RECIPES

    return [
        {"name": name, "summary": of.summary, "models": ", ".join(of.models(name)) if of.is_published else "all"}
        for name, of in RECIPES.items()
    ]


def protocols() -> list[dict[str, str]]:
    """One row a protocol."""
    from regulargpt.config.protocols import PROTOCOLS

    return [{"name": name, "summary": p.summary, "source": p.source} for name, p in PROTOCOLS.items()]


def methods() -> list[dict[str, str]]:
    """One row for each method of a test, which a wing lists."""
    from regulargpt.options.registry import brought

    return brought("regulargpt.lists", "methods")()


def experiments() -> list[dict[str, str]]:
    """One row an experiment of `regulargpt reproduce`."""
    registry = import_module("experiments.registry")
    rows = [registry.experiment(name) for name in registry.EXPERIMENTS]
    return [{"name": e.name, "title": e.title, "rows": shown(e.rows)} for e in rows]


def shown(rows: tuple[str, ...]) -> str:
    """The rows that `--only` takes, or how many there are of what kind.

    >>> shown(("parity", "dyck-2")), shown(("parity/paper",) * 24)
    ('parity, dyck-2', '24, as parity/paper')
    """
    return ", ".join(rows) if len(rows) <= MOST_ROWS else f"{len(rows)}, as {rows[0]}"


MOST_ROWS = 12
SHOWN = {"languages": "language", "texts": "text", "retrieval": "retrieval task"}
"""What `regulargpt show` shows one of."""

LISTS = {"recipes": recipes, "protocols": protocols, "methods": methods, "experiments": experiments}
KINDS = (*SHOWN, *PARTS, *LISTS)


def rows_of(kind: str) -> list[dict[str, str]]:
    """One row each of a kind."""
    if kind in SHOWN:
        from regulargpt.cli import kinds

        return kinds.named(kinds.KINDS[kind]).rows()
    return parts(kind) if kind in PARTS else LISTS[kind]()


def part(kind: str, name: str) -> dict[str, Any]:
    """A part and its options; UserError for a kind whose members have none, and for an unknown name."""
    from regulargpt.options import describe
    from regulargpt.options.registry import registry

    if kind not in PARTS:
        has_own = f"`regulargpt show` shows a {SHOWN[kind]}" if kind in SHOWN else f"options have {one_of(PARTS)}"
        plural = f"{SHOWN[kind]}s" if kind in SHOWN else kind
        raise UserError(f"{plural} are listed without a name: leave {name} out; {has_own}")
    place, section = PARTS[kind]
    row = registry(place)[name]
    return {
        "name": name,
        "summary": row.summary,
        "source": row.source,
        "section": section.format(name=name).rstrip("."),
        "options": [asdict(option) for option in describe(row.options)],
    }


def text(description: Mapping[str, Any]) -> str:
    """A part for people: what it is, a row an option, and how one is set."""
    summary, source = (f": {description['summary']}" if description["summary"] else ""), description["source"]
    heading = f"{description['name']}{summary}" + (f" ({source})" if source else "")
    options = description["options"]
    if not options:
        return f"{heading}\n\nno options"
    rows = [tuple(option.values()) for option in options]
    example = f"--set {description['section']}.{options[0]['name']}={options[0]['default']}"
    return "\n\n".join([heading, table(rows, ("option", "default", "accepts", "help")), f"set as in {example}"])


@click.command()
@click.argument("kind", metavar="KIND", type=click.Choice(list(KINDS)))
@click.argument("name", required=False)
@printed
def command(kind: str, name: str | None, as_json: bool) -> None:
    """List what there is of a KIND; with the NAME of a model, encoding, objective or phase, its options.

    Kinds: languages, texts, retrieval, models, encodings, objectives, phases, observers, recipes, protocols, methods,
    experiments.

    NAME may also be the import path of a class of yours, package.module:Class.
    """
    if name is not None:
        description = part(kind, name)
        emit(description) if as_json else say(text(description))
        return
    rows = rows_of(kind)
    if as_json:
        emit({kind: rows})
    else:
        say(table([tuple(row.values()) for row in rows], tuple(rows[0])))
