"""TOML out (the standard library only reads it): sections of scalars and lists, `parse(render(x)) == x`."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from languages.errors import UserError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def render(sections: Mapping[str, Any]) -> str:
    """The mapping as TOML: its values in order, then its sections; TypeError for what TOML cannot say.

    >>> print(render({"seed": 0, "model": {"name": "regulargpt", "chunk": 2, "r": [0.5, 1e-08]}}), end="")
    seed = 0
    <BLANKLINE>
    [model]
    name = "regulargpt"
    chunk = 2
    r = [0.5, 1e-08]
    """
    return "\n".join(block for block in _blocks(sections, ()) if block)


def parse(text: str, name: str = "config.toml") -> dict[str, Any]:
    """The mapping behind TOML text; UserError with the line if it is not TOML.

    >>> parse("seed = 0")
    {'seed': 0}
    """
    try:
        found = tomllib.loads(text)
        # Python reads hexadecimal numbers of any length, and cannot write them in decimal.
        str(found)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is not TOML: {error}; write one `key = value` a line") from error
    except ValueError as error:
        raise UserError(f"{name}: a number has thousands of digits; write one that a computer can use") from error
    except RecursionError as error:
        raise UserError(f"{name}: the brackets are nested too deeply; write one `key = value` a line") from error
    return found


def _blocks(section: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    scalars = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value, '.'.join((*path, key)))}\n" for key, value in scalars.items()]
    # A section that holds sections only needs no line of its own.
    header = [f"[{'.'.join(map(_key, path))}]\n"] if path and (lines or not section) else []
    blocks = ["".join(header + lines)]
    for key, value in section.items():
        if isinstance(value, Mapping):
            blocks += _blocks(value, (*path, key))
    return blocks


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _value(value: Any, place: str) -> str:
    # Before the numbers: in Python a bool is an int.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        # The shortest text that reads back as the very same float.
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item, place) for item in value)}]"
    kind = type(value).__name__
    raise TypeError(f"{place} is a {kind}; TOML holds strings, numbers, booleans and lists of them")


def _string(text: str) -> str:
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if ord(character) >= 32 and character != "\x7f" else f"\\u{ord(character):04x}"
