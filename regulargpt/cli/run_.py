"""`regulargpt run LANGUAGE`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import printed
from regulargpt.cli.types import FILE, PATH

# Options that stand for one field of the config; every other field is set by --set.
FIELDS: dict[str, tuple[str, str]] = {
    "--chunk-size": ("model.chunk_size", "Chunk size C of regulargpt."),
    "--train-len": ("task.train_len", "Longest training word."),
    "--test-len": ("evaluation.test_len", "Test at every length up to this one."),
    "--beyond": ("evaluation.beyond", 'Test at these lengths too, as in 10000,1000000; "" for none.'),
    "--samples": ("evaluation.samples", "Test words a length."),
    "--seed": ("seed", "Seed of weights and words."),
    "--steps": ("training.steps", "Most training steps."),
    "--lr": ("training.lr", "Learning rate."),
    "--batch-size": ("training.batch_size", "Words a step."),
    "--d-model": ("model.d_model", "Width of a state."),
    "--n-layers": ("model.n_layers", "Layers of a baseline."),
    "--encoding": ("model.encoding", "Positional encoding of the transformer."),
    "--supervision": ("task.supervision", "last, every, next or nodes."),
    "--near-misses": ("task.near_misses", "Share of near misses in the non-members."),
    "--device": ("device", "auto, cpu or cuda."),
    "--threads": ("threads", "CPU threads."),
}


def field_options(*options: str) -> Callable[[Any], Any]:
    """Add these options of FIELDS."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            key, text = FIELDS[option]
            function = click.option(option, key.replace(".", "__"), metavar="VALUE", help=text)(function)
        return function

    return decorate


def fields_of(options: Mapping[str, str | None]) -> dict[str, str | None]:
    """The options' values by field, as click hands them over by names that Python allows."""
    return {name.replace("__", "."): value for name, value in options.items()}


@click.command()
@click.argument("language", required=False)
@click.option("--model", help="The model; `regulargpt list models`.  [default: regulargpt]")
@click.option("--recipe", help="All other settings; `regulargpt list recipes`.  [default: what suits the language]")
@click.option("--protocol", help="Words and scoring as published or agreed; `regulargpt list protocols`.")
@field_options(*FIELDS)
@click.option("--certify", is_flag=True, help="Train on until the certificate for every length holds; write it.")
@click.option("--compile", "compiled", is_flag=True, help="Compile the model with torch.compile.")
@click.option("--tensorboard", is_flag=True, help="Log to RUN/tensorboard too (extra: tracking).")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any field of config.toml: training.clip=0.5."
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
    """Train a model on short words and test it on long ones."""
    import languages
    from regulargpt.cli.configure import configure, default_folder, refuse_unused, texts
    from regulargpt.recipes import CERTIFY
    from regulargpt.validation import validate

    flags = {"compile": compiled, "tensorboard": tensorboard}
    values = texts(fields_of(fields) | {key: "true" for key, is_on in flags.items() if is_on}, settings)
    if certify and values.get("training.certify_every") == 0:
        raise UserError("--certify and training.certify_every = 0 contradict each other; leave one of them out")
    config = configure(language, model, recipe, config_file, values, protocol)
    if certify and not config.training.certify_every:
        config = configure(language, model, recipe, config_file, {**CERTIFY, **values}, protocol)
    task = languages.get(config.task.language)
    validate(config, task)
    refuse_unused(values, config, task)

    from regulargpt import run
    from regulargpt.cli.running import supervised

    folder = out or default_folder(config)
    return supervised(lambda watch: run.run(config, folder, watch), config, folder, as_json)
