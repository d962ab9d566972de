"""`regulargpt align RUN --length 512`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.measuring import show
from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.findings import Finding


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option(
    "--length", type=click.IntRange(min=2), help="The greater length.  [default: 8 times the training length]"
)
@click.option(
    "--by",
    type=click.Choice(("model", "layer", "head")),
    default="model",
    show_default=True,
    help="What shares a temperature.",
)
@click.option(
    "--on",
    type=click.Choice(("all", "content")),
    default="all",
    show_default=True,
    help="Divide all of a logit, or its content without the bias.",
)
@click.option("--fixed", type=click.FloatRange(min=0, min_open=True), help="Try a temperature of yours, too.")
@click.option(
    "--words",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="How many words or segments attention is measured on.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of these.  [default: the run's]")
@click.option("--text", "named", help="Of hf:PATH: the text, a file or folder of yours, or text:code.")
@click.option(
    "--train-len",
    type=click.IntRange(min=2),
    help="Of hf:PATH: what it was trained on.  [default: of a T5 512; its config]",
)
@click.option("--out", type=PATH, help="Folder of the results.  [default: RUN/align; of hf:PATH align/NAME]")
@printed
def command(
    folder: Path,
    length: int | None,
    by: str,
    on: str,
    fixed: float | None,
    words: int,
    seed: int | None,
    named: str | None,
    train_len: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Sharpen a trained model's attention where greater length has flattened it.

    Finds the temperature at which attention is as sharp as at the training length, by its largest probability, by its
    entropy and by the lengths alone; says the score with each and without; writes files for `evaluate --temperature`.

    RUN may be hf:PATH, the folder of a checkpoint on disk: a decoder, or a T5. Of a T5 the encoder is sharpened, and
    the score is the perplexity of the tokens that follow in the text.
    """
    how: dict[str, Any] = {"length": length, "words": words, "by": by, "on": on, "fixed": fixed, "out": out}
    if str(folder).startswith("hf:"):
        finding = of_checkpoint(folder, named, {**how, "train_len": train_len, "seed": seed})
    else:
        finding = of_run(folder, named, train_len, {**how, "seed": seed})
    show(finding, as_json)


def of_run(folder: Path, named: str | None, train_len: int | None, how: dict[str, Any]) -> Finding:
    """The finding of a finished run, which has a text and a training length of its own."""
    for flag, value in (("--text", named), ("--train-len", train_len)):
        if value is not None:
            raise UserError(f"{flag} {value}: a run has its own; leave it out, or give a checkpoint as hf:PATH")
    found = RunFolder.open(folder)
    found.load_summary()

    from regulargpt.classroom import alignment_page
    from regulargpt.measurements.alignment.report import align_report

    return align_report(found, **how, write_page=alignment_page.write)


def of_checkpoint(place: Path, named: str | None, how: dict[str, Any]) -> Finding:
    """The finding of a checkpoint on a text."""
    if named is None:
        raise UserError(f"{place} needs a text; name a file or folder of yours, or text:code, with --text")

    from regulargpt.models.pretrained import is_decoder

    given = {key: value for key, value in how.items() if value is not None}
    if is_decoder(place):
        from regulargpt.measurements.alignment.report import align_report
        from regulargpt.runs.pretrained import open_checkpoint

        return align_report(open_checkpoint(place, named, given.pop("train_len", None)), **given)
    from regulargpt.measurements.alignment.checkpoint import align_checkpoint

    return align_checkpoint(place, named, **given)
