"""From the command line's words to a complete config, without importing torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from languages.errors import UserError
from regulargpt.config.schema import Draft, RunConfig, why_unused
from regulargpt.runs.sweep.values import ARGUMENTS, settings


def texts(
    options: Mapping[str, str | None], given: Sequence[str], elsewhere: Mapping[str, str] = ARGUMENTS
) -> dict[str, str]:
    """The options that were given, as written: those of the command first, then `--set KEY=VALUE`.

    Raises UserError for a key with two values, and for one with an argument or option of its own (`elsewhere`).

    >>> texts({"seed": "3", "training.lr": None}, ["training.clip=0.5"])
    {'seed': '3', 'training.clip': '0.5'}
    """
    values = {key: text for key, text in options.items() if text is not None}
    for key, text in settings(given, elsewhere, "KEY=VALUE, as in --set training.clip=0.5"):
        if values.setdefault(key, text) != text:
            raise UserError(f"{key} is given twice, {values[key]} and {text}; leave one of them out")
    return values


def configure(
    language: str | None,
    model: str | None,
    recipe: str | None,
    config_file: Path | None,
    written: Mapping[str, str],
    preset: str | None = None,
    certify: bool = False,
) -> RunConfig:
    """A recipe's config, or that of a file, under a protocol, with the options set over it that were written.

    Raises UserError for one that changes nothing in this run.
    """
    from regulargpt.config.recipes import resolve, usual_model

    refuse_twice({"model": model, **written})
    if config_file is not None:
        if recipe is not None:
            raise UserError("--config and --recipe exclude each other; a config is complete")
        config = over_file(config_file, {"data.name": language, "model": model}, written, preset, certify)
    else:
        if language is None:
            raise UserError("which language? as in `regulargpt run parity`; `regulargpt list languages` lists them")
        name = usual_model(language) if model is None else model
        config = resolve(recipe, name, language, lambda d: d.read(written), preset=preset, certify=certify)
    for key, text in written.items():
        if (reason := why_unused(config, key)) is not None:
            raise UserError(f"{key} = {text} changes nothing {reason}; leave it out")
    return config


def over_file(
    path: Path, named: Mapping[str, str | None], written: Mapping[str, str], preset: str | None, certify: bool
) -> RunConfig:
    """The config in a file, with what is named on the command line over it."""
    from regulargpt.config.protocols import protocol
    from regulargpt.config.recipes import certified

    draft = Draft(read_config(path)).put({key: name for key, name in named.items() if name is not None})
    if preset is not None:
        protocol(preset).put(draft)
    if certify:
        draft.put(certified(draft))
    return draft.read(written).config()


def refuse_twice(written: Mapping[str, str | None]) -> None:
    """Raise UserError for an option that stands behind the name of its part and also by itself.

    >>> refuse_twice({"model": "lstm:d_model=2", "model.d_model": "3"})
    Traceback (most recent call last):
    languages.errors.UserError: model.d_model is given twice, in lstm:d_model=2 and as 3; leave one of them out
    """
    for part, text in written.items():
        # Behind a colon without = stands no option: it is a class, or a language's own.
        for pair in (text or "").rpartition(":")[2].split(","):
            key, equals, _ = pair.partition("=")
            if equals and f"{part}.{key}" in written:
                given = written[f"{part}.{key}"]
                raise UserError(f"{part}.{key} is given twice, in {text} and as {given}; leave one of them out")


def read_config(path: Path) -> RunConfig:
    """The config in a file, that of a run with the files that the run keeps; UserError if it cannot be read."""
    from regulargpt.storage.atomic import parse_text, read_bytes
    from regulargpt.storage.folder import CONFIG, ENVIRONMENT, RunFolder

    text, folder = parse_text(read_bytes(path), path), path.parent
    is_of_run = path.name == CONFIG and (folder / ENVIRONMENT).is_file()
    return RunConfig.parse(text, str(path), RunFolder(folder).kept_files() if is_of_run else {})


def default_folder(config: RunConfig) -> Path:
    """runs/ and what tells runs apart.

    >>> default_folder(RunConfig()).as_posix()
    'runs/parity-regulargpt-C2-seed0'
    """
    from regulargpt.runs.sweep.names import language_part, model_part

    return Path("runs") / f"{language_part(config)}-{model_part(config)}-seed{config.seed}"
