"""`regulargpt list languages|models|encodings|recipes|protocols|experiments`."""

from __future__ import annotations

from importlib import import_module

import click

from regulargpt.cli.output import emit, printed, say, table


def languages() -> list[dict[str, str]]:
    """One row a family of languages."""
    from languages.registry import FAMILIES

    return [
        {
            "name": family.pattern,
            "summary": family.summary,
            "parameters": ", ".join(f"{p.key}={str(p.default).lower()}" for p in family.parameters),
        }
        for family in FAMILIES
    ]


def models() -> list[dict[str, str]]:
    """One row a model."""
    from regulargpt.models import MODELS

    return [{"name": name, "summary": row.summary, "source": row.source} for name, row in MODELS.items()]


def encodings() -> list[dict[str, str]]:
    """One row an encoding of the transformer."""
    from regulargpt.encodings import ENCODINGS

    return [{"name": name, "summary": row.summary, "source": row.source} for name, row in ENCODINGS.items()]


def recipes() -> list[dict[str, str]]:
    """One row a recipe."""
    from regulargpt.recipes import RECIPES

    return [{"name": name, "summary": r.summary, "models": ", ".join(r.fields)} for name, r in RECIPES.items()]


def protocols() -> list[dict[str, str]]:
    """One row a protocol."""
    from regulargpt.protocols import PROTOCOLS

    return [{"name": name, "summary": p.summary, "source": p.source} for name, p in PROTOCOLS.items()]


def experiments() -> list[dict[str, str]]:
    """One row an experiment of `regulargpt reproduce`."""
    registry = import_module("experiments.registry")
    found = [registry.experiment(name) for name in registry.EXPERIMENTS]
    return [{"name": e.name, "title": e.title, "rows": shown(e.rows)} for e in found]


def shown(rows: tuple[str, ...]) -> str:
    """The rows that `--only` takes, or how many there are of what kind.

    >>> shown(("parity", "dyck-2")), shown(("parity/paper",) * 24)
    ('parity, dyck-2', '24, as parity/paper')
    """
    return ", ".join(rows) if len(rows) <= MOST_ROWS else f"{len(rows)}, as {rows[0]}"


MOST_ROWS = 12

KINDS = {
    "languages": languages,
    "models": models,
    "encodings": encodings,
    "recipes": recipes,
    "protocols": protocols,
    "experiments": experiments,
}


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@printed
def command(kind: str, as_json: bool) -> None:
    """List the languages, models, encodings, recipes, protocols or experiments."""
    rows = KINDS[kind]()
    if as_json:
        emit({kind: rows})
    else:
        say(table([tuple(row.values()) for row in rows], tuple(rows[0])))
