"""What the command line says of a field that a sweep goes over: `2,3,4`, `0-2,7`."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from languages.errors import UserError
from regulargpt.config import ConfigError, read_value, type_of

MOST = 10_000
"""Values of one field: a range with more of them is a slip of the pen."""
# Fields with an argument or option of their own, which decides more than the field: no --set.
ARGUMENTS = {
    "task.language": "languages are arguments",
    "model.name": "write --model",
    "recipe": "write --recipe",
    "protocol": "write --protocol",
}


def read_values(key: str, texts: Iterable[str]) -> tuple[Any, ...]:
    """The values of a field in the order written, each once.

    A text holds values between commas; of whole numbers also ranges. A field that is a list itself has commas in its
    value: each text is one value. Raises ConfigError naming the field, as `regulargpt.config.read_value` does.

    >>> read_values("seed", ["0-2,7"]), read_values("training.lr", ["1e-4,3e-4", "5e-4"])
    ((0, 1, 2, 7), (0.0001, 0.0003, 0.0005))
    >>> read_values("training.curriculum", ["8,16", "8,40"])
    ((8, 16), (8, 40))
    """
    kind = type_of(key)
    if typing.get_origin(kind) is tuple:
        parts = list(texts)
    else:
        parts = [part.strip() for text in texts for part in text.split(",")]
        parts = [one for part in parts for one in (numbers(key, part) if kind is int else [part])]
    if len(parts) > MOST:
        raise ConfigError(f"{key}: {len(parts):,} values; at most {MOST:,}")
    return tuple(dict.fromkeys(read_value(key, part) for part in parts))


def numbers(key: str, text: str) -> Iterator[str]:
    """The whole numbers of a range `3-5`; any other text is itself.

    >>> list(numbers("seed", "3-5")), list(numbers("seed", "-3"))
    (['3', '4', '5'], ['-3'])
    """
    found = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if found is None:
        yield text
        return
    low, high = map(int, found.groups())
    if low > high:
        raise ConfigError(f"{key} = {text!r}; a range increases, as in {high}-{low}")
    if high - low >= MOST:
        raise ConfigError(f"{key} = {text!r}: {high - low + 1:,} values; at most {MOST:,}")
    yield from map(str, range(low, high + 1))


def settings(texts: Iterable[str], elsewhere: Mapping[str, str], example: str) -> Iterator[tuple[str, str]]:
    """The keys and texts of `--set KEY=VALUE`; UserError for a field that is given elsewhere, as the mapping says.

    >>> list(settings(["training.clip = 0.5"], {}, ""))
    [('training.clip', '0.5')]
    """
    for setting in texts:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if not equals:
            raise UserError(f"--set {setting.strip() or repr(setting)}: write {example}")
        if key in elsewhere:
            raise UserError(f"--set {key}: {elsewhere[key]}")
        yield key, text


def read_all(options: Mapping[str, Sequence[str]], given: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The values of every field that was given: options, then `--set KEY=V1,V2`. A key given again adds values.

    >>> read_all({"seed": ["0-1"], "training.lr": []}, ["seed=7", "training.clip=0.5,1"])
    {'seed': (0, 1, 7), 'training.clip': (0.5, 1.0)}
    """
    texts = {key: list(of_option) for key, of_option in options.items() if of_option}
    for key, text in settings(given, ARGUMENTS, "KEY=V1,V2, as in --set training.clip=0.5,1"):
        texts.setdefault(key, []).append(text)
    return {key: read_values(key, of_key) for key, of_key in texts.items()}
