"""The name of a run in a sweep: what it is, for the eye; which config it has, by a digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.options import changed
from regulargpt.options.registry import CannotImport
from regulargpt.storage.manifest import digest

DIGITS = 12
"""Hexadecimal digits of the digest: two of 100,000 configs agree in them by chance once in 50,000 sweeps."""
LONGEST_NAME = 60
"""Characters of the language, so that the name of a long regular expression is a file name."""


def name_of(config: RunConfig) -> str:
    """Language, model, recipe and seed, and the first digits of a digest of the config. Equal configs have equal names.

    Of a language in a file the digest knows the file's path, not what it holds.

    >>> name_of(RunConfig()).rpartition("-")[0]
    'parity-regulargpt-C2-answers-seed0'
    """
    language = language_part(config)[:LONGEST_NAME].rstrip("-")
    return f"{language}-{model_part(config)}-{plain(config.recipe)}-seed{config.seed}-{digits(config)}"


def digits(config: RunConfig) -> str:
    """The end of a run's name: a digest of what in the config is not at its default.

    So an option that is added, with a default, renames no run. A default that changes gives old and new runs one name;
    then the older run is refused, as its config.toml says the old value.
    """
    # Sorted, so that the order of the options in a file or a class renames no run.
    return digest(json.dumps(changed(config), sort_keys=True).encode())[:DIGITS]


def is_name_of(name: str, config_text: str, kept: Mapping[str, Path] = {}) -> bool:
    """Whether the run of this name has this config.toml, and keeps these files of its language.

    >>> is_name_of(name_of(RunConfig()), RunConfig().render()), is_name_of(name_of(RunConfig()), "seed = 1")
    (True, False)
    """
    try:
        return name.rpartition("-")[2] == digits(RunConfig.parse(config_text, kept=kept))
    except CannotImport:
        raise  # a class of the user's that is not installed here: the config may be as good as ever
    except UserError:
        return False


def language_part(config: RunConfig) -> str:
    """The language, as a part of a file name.

    >>> language_part(RunConfig().replaced({"data.name": "regex:(ab)*"}))
    'regex-ab'
    """
    return plain(config.data.name)


def model_part(config: RunConfig) -> str:
    """The model as a part of a file name.

    >>> model_part(RunConfig())
    'regulargpt-C2'
    """
    return plain(config.model.label)


def plain(text: str) -> str:
    """Letters, digits and `.=_-`; whatever else stands there is one hyphen."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-")
