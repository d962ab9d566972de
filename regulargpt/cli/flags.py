"""The command line's options that stand for one key of the config: each part says which of its options have one."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any

import click

from regulargpt.config.schema import RunConfig
from regulargpt.data.options import BalancedOptions
from regulargpt.options import Options, as_mapping, hints, registries, shown
from regulargpt.options.registry import registry

ORDER = (
    *("--chunk-size", "--gates/--no-gates", "--train-len", "--test-len", "--extra-lengths", "--samples", "--seed"),
    *("--steps", "--lr", "--batch-size", "--d-model", "--n-layers", "--encoding", "--supervision"),
    *("--near-misses", "--device"),
)
"""What newcomers want comes first; flags that are not named here come after."""


certify_option = click.option(
    "--certify", is_flag=True, help="Prove it with the language's automaton, not with one learned from answers."
)


@cache
def flags() -> dict[str, tuple[str, str]]:
    """The flags, the dotted keys they set, and their help."""
    by_flag: dict[str, tuple[str, str]] = {}
    for flag, key, text in _flags(RunConfig, ""):
        # Several models have `--d-model`: the first says what it is.
        by_flag.setdefault(flag, (key, text))
    known = [flag for flag in ORDER if flag in by_flag]
    return {flag: by_flag[flag] for flag in (*known, *(flag for flag in by_flag if flag not in known))}


def _flags(owner: type[Options], path: str, within: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str]]:
    kinds, chosen = hints(owner), registries(owner)
    for field in dataclasses.fields(owner):
        key = f"{path}{field.name}"
        if field.metadata.get("flag"):
            yield field.metadata["flag"], key, field.metadata["help"]
        if (place := chosen.get(field.name)) is not None:
            several = typing.get_origin(kinds[field.name]) is tuple  # each in a section under its name
            # Some encodings hold another one: what is of the outer one is not of the inner one again.
            for name, part in parts(place).items() if place not in within else ():
                yield from _flags(part, f"{key}.{name}." if several else f"{key}.", (*within, place))
        elif isinstance(kinds[field.name], type) and issubclass(kinds[field.name], Options):
            yield from _flags(kinds[field.name], f"{key}.")


def parts(place: str) -> dict[str, type[Options]]:
    """The options of all parts of a kind that the core has, by their names; a wing adds no flags."""
    rows = registry(place).own
    # A language's options depend on how it is drawn; those of members and non-members have all of them.
    return {name: row.options for name, row in rows.items()} or {"": BalancedOptions}


def field_options(*chosen: str, several: bool = False, example: RunConfig | None = None) -> Callable[[Any], Any]:
    """Add these flags, or all; with `several`, each may be given again. Their help says what an `example` has."""

    def decorate(function: Any) -> Any:
        for flag in reversed(chosen or tuple(flags())):
            key, text = flags()[flag]
            text += value_in(example, key) if example else ""
            name = key.replace(".", "__")
            form = None if "/" in flag else "VALUES" if several else "VALUE"  # on or off takes no value
            function = click.option(
                flag, name, multiple=several, metavar=form, help=text, default=None, callback=as_text
            )(function)
        return function

    return decorate


def value_in(example: RunConfig, key: str) -> str:
    """What an example of a language has for a key, in brackets; nothing where it has no such key, or nothing there."""
    try:
        value = attrgetter(key)(example)
    except AttributeError:
        return ""
    text = as_mapping(value)["name"] if isinstance(value, Options) else shown(value)
    return f"  [{example.data.name}: {text}]" if text else ""


def as_text(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """What was given, as `--set` writes it: on is `true`."""
    if isinstance(value, tuple):
        return tuple(as_text(context, parameter, each) for each in value)
    return shown(value) if isinstance(value, bool) else value


def fields_of(options: Mapping[str, str | None]) -> dict[str, str | None]:
    """The options' values by key, as click hands them over by names that Python allows."""
    return {name.replace("__", "."): value for name, value in options.items()}
