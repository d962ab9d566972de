"""From the command line's words to a complete config, without importing torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError
from regulargpt.config import RunConfig, read_value
from regulargpt.protocols import shown
from regulargpt.sweep.values import ARGUMENTS, settings

if TYPE_CHECKING:
    from languages.task import Task


def texts(
    options: Mapping[str, str | None], given: Sequence[str], elsewhere: Mapping[str, str] = ARGUMENTS
) -> dict[str, Any]:
    """The fields that were given, as values: options first, then `--set KEY=VALUE`.

    Raises UserError for a field with two values, and for one with an argument or option of its own (`elsewhere`).

    >>> texts({"seed": "3", "training.lr": None}, ["training.clip=0.5"])
    {'seed': 3, 'training.clip': 0.5}
    """
    values = {key: read_value(key, text) for key, text in options.items() if text is not None}
    for key, text in settings(given, elsewhere, "KEY=VALUE, as in --set training.clip=0.5"):
        value = read_value(key, text)
        if values.setdefault(key, value) != value:
            raise UserError(f"{key} is given twice, {shown(values[key])} and {shown(value)}; leave one of them out")
    return values


def configure(
    language: str | None,
    model: str | None,
    recipe: str | None,
    config_file: Path | None,
    values: Mapping[str, Any],
    preset: str | None = None,
) -> RunConfig:
    """A recipe's config, or that of a file, under a protocol, with the given fields set over it."""
    import languages
    from regulargpt.protocols import protocol
    from regulargpt.recipes import recommended, resolve

    if config_file is not None:
        if recipe is not None:
            raise UserError("--config and --recipe exclude each other; a config is complete")
        config = read_config(config_file)
        named = {"task.language": language, "model.name": model}
        config = config.replaced({key: name for key, name in named.items() if name is not None})
    else:
        if language is None:
            raise UserError("which language? as in `regulargpt run parity`; `regulargpt list languages` lists them")
        task = languages.get(language)
        name = "regulargpt" if model is None else model
        chunk_size = values.get("model.chunk_size", 2)
        chosen = recommended(language, name) if recipe is None else recipe
        config = resolve(chosen, name, language, task.sampling, chunk_size)
    if preset is not None:
        config = protocol(preset).apply(config)
    return config.replaced(values)


def refuse_unused(values: Mapping[str, Any], config: RunConfig, task: Task) -> None:
    """Raise UserError for a field that was given and changes nothing in this run.

    >>> import languages
    >>> refuse_unused({"task.edits": 2}, RunConfig(), languages.get("parity"))
    Traceback (most recent call last):
    languages.errors.UserError: task.edits = 2 changes nothing for parity with regulargpt; leave it out
    """
    from regulargpt.sweep.applies import why_unused

    for key, value in values.items():
        if (reason := why_unused(key, config, task)) is not None:
            raise UserError(f"{key} = {shown(value)} changes nothing {reason}; leave it out")


def read_config(path: Path) -> RunConfig:
    """The config in a file; UserError if it cannot be read."""
    from regulargpt.storage.atomic import parse_text, read_bytes

    return RunConfig.parse(parse_text(read_bytes(path), path), str(path))


def default_folder(config: RunConfig) -> Path:
    """runs/ and what tells runs apart.

    >>> default_folder(RunConfig()).as_posix()
    'runs/parity-regulargpt-C2-seed0'
    """
    from regulargpt.sweep.names import language_part, model_part

    return Path("runs") / f"{language_part(config)}-{model_part(config)}-seed{config.seed}"
