"""The config of a run, as its folder has it: the only way from a run folder to the language that it was trained on."""

from __future__ import annotations

from languages.errors import UserError, shown
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder


def config_of(folder: RunFolder) -> RunConfig:
    """The config of a run, whose language is read from the file that the run keeps, if it keeps any.

    UserError for the folder of a bias that `lengthen` trains, which is none; IntegrityError for a kept file that has
    changed.
    """
    refuse_bias(folder)
    return RunConfig.parse(folder.config_text, kept=folder.kept_files())


def is_of_bias(folder: RunFolder) -> bool:
    """Whether a folder with a config is one of `lengthen`, which never marks it as done."""
    return not folder.is_done and "\n[lengthen]\n" in folder.config_text


def refuse_bias(folder: RunFolder) -> None:
    """Raise UserError for the folder of a bias that `lengthen` trains."""
    if is_of_bias(folder):
        place, begin = shown(folder.path), "a bias was trained there by `regulargpt lengthen`; type the same again"
        raise UserError(f"{place} is no run: {begin}, with --out {place}: it goes on, or shows what came out")
