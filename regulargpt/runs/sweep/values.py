"""What the command line says of a field that a sweep goes over: `2,3,4`, `0-2,7`."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from languages.errors import UserError
from regulargpt.config.schema import RunConfig, type_of
from regulargpt.options import LARGEST, ConfigError, read

MOST_VALUES = 10_000
"""Values of a field: a range with more of them is a slip of the pen."""
# Fields with an argument or option of their own, which decides more than the field: no --set.
ARGUMENTS = {
    "data.name": "languages are arguments",
    "model.name": "write --model",
    "model": "write --model",
    "recipe": "write --recipe",
    "protocol": "write --protocol",
}


def read_values(config: RunConfig, key: str, texts: Iterable[str]) -> tuple[Any, ...]:
    """The values of an option in the order written, each once; `config` says what type it has.

    A text holds values between commas; of whole numbers also ranges. An option that is a list itself has commas in its
    value: each text is one value. A part may bring options. Raises ConfigError naming the option.

    >>> read_values(RunConfig(), "seed", ["0-2,7"]), read_values(RunConfig(), "training.lr", ["1e-4,3e-4", "5e-4"])
    ((0, 1, 2, 7), (0.0001, 0.0003, 0.0005))
    >>> read_values(RunConfig(), "training.curriculum", ["8,16", "8,40"])
    ((8, 16), (8, 40))
    """
    kind = type_of(config, key)
    if typing.get_origin(kind) is tuple:
        parts = list(texts)
    else:
        parts = [part for text in texts for part in (part_names(text) if kind is None else text.split(","))]
        parts = [part.strip() for part in parts]
        parts = [value for part in parts for value in (numbers(key, part) if kind is int else [part])]
    if len(parts) > MOST_VALUES:
        raise ConfigError(f"{key}: {len(parts):,} values; at most {MOST_VALUES:,}")
    return tuple(dict.fromkeys(part if kind is None else read(key, kind, part) for part in parts))


def part_names(text: str) -> list[str]:
    """The parts between the commas, each with the options that it brings.

    >>> part_names("regulargpt:chunk_size=3,d_model=8,lstm")
    ['regulargpt:chunk_size=3,d_model=8', 'lstm']
    """
    parts: list[str] = []
    for piece in text.split(","):
        if parts and ":" in parts[-1] and "=" in piece and ":" not in piece:
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
    return parts


def numbers(key: str, text: str) -> Iterator[str]:
    """The whole numbers of a range `3-5`; any other text is itself.

    >>> list(numbers("seed", "3-5")), list(numbers("seed", "-3"))
    (['3', '4', '5'], ['-3'])
    """
    match = re.fullmatch(r"([0-9]+)-([0-9]+)", text)
    if match is None:
        yield text
        return
    if any(len(end) > len(str(LARGEST)) for end in match.groups()):
        raise ConfigError(f"{key} = {text!r}; a whole number is at most {LARGEST}")
    low, high = map(int, match.groups())
    if low > high:
        raise ConfigError(f"{key} = {text!r}; a range increases, as in {high}-{low}")
    if high - low >= MOST_VALUES:
        raise ConfigError(f"{key} = {text!r}: {high - low + 1:,} values; at most {MOST_VALUES:,}")
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


def all_texts(options: Mapping[str, Sequence[str]], given: Sequence[str]) -> dict[str, list[str]]:
    """What was written of every key: options, then `--set KEY=V1,V2`. A key given again adds values.

    >>> all_texts({"seed": ["0-1"], "training.lr": []}, ["seed=7", "training.clip=0.5,1"])
    {'seed': ['0-1', '7'], 'training.clip': ['0.5,1']}
    """
    texts = {key: list(of_option) for key, of_option in options.items() if of_option}
    for key, text in settings(given, ARGUMENTS, "KEY=V1,V2, as in --set training.clip=0.5,1"):
        texts.setdefault(key, []).append(text)
    return texts
