"""`regulargpt shortcuts LANGUAGE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.flags import field_options, fields_of
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import FILE
from regulargpt.tables import percent

AS_GOOD = 2.0  # points: the published 91.9 % of Bucket Sort is what the place in the row gives, 90.1 %
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
    if config_file is not None and (score := score_beside(config_file)) is not None:
        report["network"] = score
    emit(report) if as_json else say(text(report))


def score_beside(config_file: Path) -> float | None:
    """What the run whose config this is scored in what the rules are scored in; None without a tested run."""
    from regulargpt.storage import atomic
    from regulargpt.storage.folder import SUMMARY

    file = config_file.parent / SUMMARY
    if not file.is_file():
        return None
    scores = atomic.parse_json(atomic.read_bytes(file), file).get("scores", {})
    # Of rows the share of answers: whole words right are none of any rule.
    return next((scores[name]["score"] for name in ("accuracy_by_position", "accuracy") if name in scores), None)


def compared(report: dict[str, Any]) -> str:
    """One line: whether a rule is as good as the network.

    >>> compared({"network": 91.9, "best": "place", "shortcuts": {"place": {"score": 90.1}}})
    'The rule `place` is as good as the network: 90.10 % and 91.90 %.'
    """
    network, rule = report["network"], report["shortcuts"][report["best"]]["score"]
    verdict = "is as good as the network" if network - rule < AS_GOOD else "is the best, and the network is better"
    return f"The rule `{report['best']}` {verdict}: {percent(rule)} % and {percent(network)} %."


def text(report: dict[str, Any]) -> str:
    """A row a rule: the score, the worst length, the lengths beyond."""
    low, high = report["test_from"], report["test_len"]
    shortcuts = report["shortcuts"]
    lengths = map(int, shortcuts[report["best"]]["accuracy"])
    beyond = [T for T in lengths if not low <= T <= high]
    columns = {"score": f"{low}..{high} %", "worst": "worst %"}
    if "words" in shortcuts[report["best"]]:
        columns["words"] = "words %"  # the rest is of single answers
    rows = [
        (
            name,
            *(percent(row[column]) for column in columns),
            *(percent(row["accuracy"][str(T)]) for T in beyond),
            percent(row["trained"]),
            row["rule"],
        )
        for name, row in shortcuts.items()
    ]
    trained = f"{report['train_from']}..{report['train_len']}"
    header = ("shortcut", *columns.values(), *(f"T = {T:,}" for T in beyond), f"{trained} %", "sees")
    lines = [report["language"], table(rows, header), *([compared(report)] if "network" in report else [])]
    return "\n".join(lines)
