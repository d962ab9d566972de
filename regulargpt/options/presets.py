"""Presets: what is chosen by name of many options at once, such as protocols and recipes, as TOML files of a package.

Their options are written as in config.toml. A table with `like` is another one's but for what it says itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pkgutil import get_data
from typing import Any


def presets(package: str, file: str) -> dict[str, Any]:
    """The tables of a file of this package, in order and whole."""
    text = get_data(package, file)  # importlib.resources takes as long to import as the file to be read
    assert text is not None, "the package lies in files"
    return whole(tomllib.loads(text.decode()))


def whole(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables, and those in them, each with what it has of the earlier one that it is `like`.

    >>> whole({"gru": {"d": {"x": 1, "y": 2}, "z": 3}, "rnn": {"like": "gru", "d": {"y": 4}}})["rnn"]
    {'d': {'x': 1, 'y': 4}, 'z': 3}
    """
    found: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping):
            value = whole(value)
            value = merged(found[value.pop("like")], value) if "like" in value else value
        found[name] = value
    return found


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A table with another one over it, and so with the tables in them."""
    own = {key: merged(base.get(key, {}), of) if isinstance(of, Mapping) else of for key, of in over.items()}
    return {**base, **own}


def dotted(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by dotted keys, their lists as tuples.

    >>> dotted({"training": {"lr": 0.001}, "evaluation": {"extra_lengths": [1000]}})
    {'training.lr': 0.001, 'evaluation.extra_lengths': (1000,)}
    """
    return {key: tuple(value) if isinstance(value, list) else value for key, value in leaves(options)}


def leaves(nested: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of tables in tables, each with its dotted key."""
    for name, value in nested.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value
