"""`regulargpt run LANGUAGE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from languages.errors import UserError
from regulargpt.cli.flags import certify_option, field_options, fields_of
from regulargpt.cli.output import printed, say
from regulargpt.cli.types import FILE, PATH
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig

if TYPE_CHECKING:
    from regulargpt.data.base import Data


USUAL = RunConfig()


def refuse(phase: str, error: UserError) -> None:
    """Raise UserError: the phase that ends in a proof was asked for, and cannot be had."""
    raise UserError(f"--certify: {error}") from error


def notice_trivial(words: Data) -> None:
    """Say so if all words of a language have one answer: every network is right on it."""
    from languages.task import Task
    from regulargpt.data.language import LanguageData
    from regulargpt.finite.specification import trivial

    if isinstance(words, LanguageData) and isinstance(words.task, Task) and (notice := trivial(words.task)):
        say(f"notice: {words.name}: {notice}", err=True)


@click.command()
@click.argument("language", required=False)
@click.option(
    "--model",
    help="The model, with options as in delta:range=signed; `regulargpt list models`.  [default: regulargpt; stack-rnn "
    "of hidden stacks]",
)
@click.option("--recipe", help="All other settings; `regulargpt list recipes`.  [default: answers]")
@click.option("--protocol", help="Words and scoring as published or agreed; `regulargpt list protocols`.")
@field_options(example=resolve(USUAL.recipe, USUAL.model.name, USUAL.data.name, {}))
@certify_option
@click.option("--compile", "compiled", is_flag=True, help="Compile the model with torch.compile.")
@click.option("--tensorboard", is_flag=True, help="Log to RUN/tensorboard too (extra: tracking).")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml: training.clip=0.5."
)
@click.option("--config", "config_file", type=FILE, help="Start from a config.toml.")
@click.option("--out", type=PATH, help="Run folder.  [default: runs/LANGUAGE-MODEL-seedS]")
@printed
def command(
    language: str | None,
    model: str | None,
    recipe: str | None,
    protocol: str | None,
    certify: bool,
    compiled: bool,
    tensorboard: bool,
    settings: tuple[str, ...],
    config_file: Path | None,
    out: Path | None,
    as_json: bool,
    **fields: str | None,
) -> int:
    """Train a model on short words, test it on long ones, and say what is proven.

    The default recipe, `answers`, learns from words and their answers. It also asks for the answers to words of its own
    choice. The automaton only checks. In brackets: the value for parity. The recipe, the model, the protocol and the
    language decide.
    """
    from regulargpt.cli.configure import configure, default_folder, texts
    from regulargpt.storage.folder import refuse_occupied
    from regulargpt.training.proof import EVERY, no_certificate

    flags = {"compile": compiled, "tensorboard": tensorboard}
    written = texts(fields_of(fields) | {key: "true" for key, is_on in flags.items() if is_on}, settings)
    if certify and (off := [key for key in EVERY if written.get(key) == "0"]):
        raise UserError(f"--certify and {off[0]} = 0 contradict each other; leave one of them out")
    config = configure(language, model, recipe, config_file, written, protocol, certify)
    if certify and (reason := no_certificate(config.model, config.objective, config.data.name)) is not None:
        raise UserError(f"--certify: {reason}; leave it out")

    from regulargpt.config.validation import validate

    words = validate(config)
    folder = out or default_folder(config)
    refuse_occupied(folder)  # before torch is imported

    from regulargpt.cli.running import supervised
    from regulargpt.runs import run

    further = run.phases_of(config, words, refuse) if certify else None
    notice_trivial(words)  # after the refusals that can be had before there is a folder: each of them stands alone
    return supervised(lambda watch: run.run(config, folder, watch, further), config, folder, as_json)
