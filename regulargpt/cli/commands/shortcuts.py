"""`regulargpt shortcuts LANGUAGE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.flags import field_options, fields_of
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import FILE
from regulargpt.tables import percent

OF_THE_MODEL = ("model.name", "model", "recipe")


@click.command()
@click.argument("language", required=False)
@click.option("--protocol", help="Words and scoring as published or agreed; `regulargpt list protocols`.")
@field_options("--train-len", "--test-len", "--samples", "--seed")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any field of config.toml: evaluation.stride=10."
)
@click.option("--config", "config_file", type=FILE, help="The config.toml of a run.")
@printed
def command(
    language: str | None,
    protocol: str | None,
    settings: tuple[str, ...],
    config_file: Path | None,
    as_json: bool,
    **fields: str | None,
) -> None:
    """What trivial rules score on the test words of a model: counts, first and last symbol, runs, n-grams."""
    from regulargpt import data
    from regulargpt.cli.configure import configure, texts
    from regulargpt.config.validation import validate
    from regulargpt.evaluation.shortcuts.features import check
    from regulargpt.runs.sweep.values import ARGUMENTS

    left_out = ARGUMENTS | dict.fromkeys(OF_THE_MODEL, "changes no word; leave it out")
    values = texts(fields_of(fields), settings, left_out)
    config = configure(language, None, None, config_file, values, protocol)
    check(data.of_words(config.data).task, config)
    validate(config)

    from regulargpt.evaluation.shortcuts.scores import shortcut_report

    report = shortcut_report(config)
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """A row a rule: the score, the worst length, the lengths beyond."""
    low, high = report["test_from"], report["test_len"]
    shortcuts = report["shortcuts"]
    lengths = map(int, shortcuts[report["best"]]["accuracy"])
    beyond = [T for T in lengths if not low <= T <= high]
    rows = [
        (
            name,
            *(percent(row[column]) for column in ("score", "worst")),
            *(percent(row["accuracy"][str(T)]) for T in beyond),
            percent(row["trained"]),
            row["rule"],
        )
        for name, row in shortcuts.items()
    ]
    trained = f"{report['train_from']}..{report['train_len']}"
    header = ("shortcut", f"{low}..{high} %", "worst %", *(f"T = {T:,}" for T in beyond), f"{trained} %", "sees")
    return f"{report['language']}\n{table(rows, header)}"
