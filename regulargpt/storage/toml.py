"""TOML in and out: `parse(render(x)) == x`, lists for tuples."""

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from languages.errors import UserError


def render(sections: Mapping[str, Any]) -> str:
    """The mapping as TOML: its values in order, then its sections; TypeError for what TOML cannot say.

    >>> print(render({"seed": 0, "model": {"name": "regulargpt", "chunk": 2, "r": [0.5, 1e-08]}}), end="")
    seed = 0
    <BLANKLINE>
    [model]
    name = "regulargpt"
    chunk = 2
    r = [
        0.5,
        1e-08,
    ]
    """
    return tomli_w.dumps(sections)


def parse(text: str, name: str = "config.toml") -> dict[str, Any]:
    """The mapping behind TOML text; UserError with the line if it is not TOML.

    >>> parse("seed = 0")
    {'seed': 0}
    """
    try:
        mapping = tomllib.loads(text)
        # Python reads hexadecimal numbers of any length, and cannot write them in decimal.
        str(mapping)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is not TOML: {error}; write one `key = value` a line") from error
    except ValueError as error:
        raise UserError(f"{name}: a number has thousands of digits; write one that a computer can use") from error
    except RecursionError as error:
        raise UserError(f"{name}: the brackets are nested too deeply; write one `key = value` a line") from error
    return mapping
