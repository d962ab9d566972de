"""The name of a run in a sweep: what it is, for the eye; which config it has, by a digest."""

from __future__ import annotations

import json
import re

from languages.errors import UserError
from regulargpt.config import RunConfig, keys, value_of
from regulargpt.storage.manifest import digest

DIGITS = 12
"""Hexadecimal digits of the digest: two of 100,000 configs agree in them by chance once in 50,000 sweeps."""
LONGEST = 60
"""Characters of the language, so that the name of a long regular expression is a file name."""


def name_of(config: RunConfig) -> str:
    """Language, model, recipe and seed, and the first digits of a digest of all fields that differ from their default.

    Equal configs have equal names, and a field that is added to the config, at its default, renames no run.
    Of a language in a file the digest knows the file's path, not what it holds.

    >>> name_of(RunConfig()).rpartition("-")[0]
    'parity-regulargpt-C2-robust-seed0'
    """
    language = language_part(config)[:LONGEST].rstrip("-")
    return f"{language}-{model_part(config)}-{plain(config.recipe)}-seed{config.seed}-{digits(config)}"


def digits(config: RunConfig) -> str:
    """The end of a run's name."""
    default = RunConfig()
    told = {key: value_of(config, key) for key in keys() if value_of(config, key) != value_of(default, key)}
    return digest(json.dumps(told, sort_keys=True).encode())[:DIGITS]


def is_name_of(name: str, config_text: str) -> bool:
    """Whether the run of this name has this config.toml.

    >>> is_name_of(name_of(RunConfig()), RunConfig().render()), is_name_of(name_of(RunConfig()), "seed = 1")
    (True, False)
    """
    try:
        return name.rpartition("-")[2] == digits(RunConfig.parse(config_text))
    except UserError:
        return False


def language_part(config: RunConfig) -> str:
    """The language, as a part of a file name.

    >>> language_part(RunConfig().replaced({"task.language": "regex:(ab)*"}))
    'regex-ab'
    """
    return plain(config.task.language)


def model_part(config: RunConfig) -> str:
    """The model, RegularGPT with its chunk size, as a part of a file name.

    >>> model_part(RunConfig())
    'regulargpt-C2'
    """
    name = plain(config.model.name)
    return f"{name}-C{config.model.chunk_size}" if name == "regulargpt" else name


def plain(text: str) -> str:
    """Letters, digits and `.=_-`; whatever else stands there is one hyphen."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")
