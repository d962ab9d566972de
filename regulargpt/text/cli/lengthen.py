"""`regulargpt lengthen hf:PATH --text FILE`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from regulargpt.cli import FAILED, STOPPED
from regulargpt.cli.measuring import shared, show
from regulargpt.cli.output import printed, say
from regulargpt.cli.types import PATH, PLACE, FiniteRange, WholeRange
from regulargpt.encodings.options import ADDED


@click.command()
@click.argument("folder", metavar="RUN", type=PLACE)
@shared("text", "named")
@shared("train_len")
@click.option(
    "--bias", "kernel", type=click.Choice(list(ADDED)), default="kerple_log", show_default=True, help="Which."
)
@click.option(
    "--per",
    type=click.Choice(("model", "layer")),
    default="model",
    show_default=True,
    help="Whether layers share its numbers; each head has its own.",
)
@click.option(
    "--length",
    type=WholeRange(2, 1_000_000),
    help="Symbols of a training segment.  [default: twice what the network was trained on]",
)
@click.option("--steps", type=WholeRange(1, 1_000_000), default=300, show_default=True, help="Training steps.")
@click.option("--batch-size", type=WholeRange(1, 65_536), default=4, show_default=True, help="Segments a step.")
@click.option(
    "--lr", type=FiniteRange(min=0, min_open=True, max=1000), default=0.02, show_default=True, help="Learning rate."
)
@click.option("--seed", type=WholeRange(0, 2**63 - 1), default=0, show_default=True, help="Draws the segments.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Train and test with other model.encoding.*, as scaling=interpolation,factor=4.",
)
@shared("device")
@click.option("--lengths", help="Where it is tested, as in 512,1024.  [default: the training length to --length]")
@click.option("--words", type=WholeRange(min=2), default=32, show_default=True, help="Test segments a length.")
@click.option("--out", type=PATH, help="Folder of the results.  [default: RUN/lengthen; of hf:PATH lengthen/NAME]")
@printed
def command(
    folder: Path,
    named: str | None,
    train_len: int | None,
    kernel: str,
    per: str,
    length: int | None,
    steps: int,
    batch_size: int,
    lr: float,
    seed: int,
    settings: tuple[str, ...],
    device: str,
    lengths: str | None,
    words: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Train a bias beside a network's own positions, on longer segments of a text; its weights stay as they are.

    The bias (KERPLE) is 0 at first and has a few numbers a head. They go to bias.json, for `evaluate --bias` and
    `methods --bias`. The same command goes on where it was stopped.

    RUN may be hf:PATH, the folder of a decoder on disk.
    """
    from regulargpt.cli.commands.evaluate import changed, network

    run = network(folder, named, train_len, on=("text",), device=device)
    changes = changed(run.config, settings)

    from regulargpt.cli.bars import Bars
    from regulargpt.text.lengthening import Lengthening
    from regulargpt.text.measurements.lengthening import lengthen_report
    from regulargpt.training.trainer import Diverged, Interrupted

    training = Lengthening(kernel, per, length or 0, steps, batch_size, lr, seed, changes)
    with closing(Bars()) as bars:
        try:
            finding = lengthen_report(run, training, lengths=lengths, words=words, out=out, watch=bars.watch)
        except Interrupted as stopped:
            bars.close()
            say(f"{stopped}; the same command goes on from there", err=True)
            return STOPPED
        except Diverged as diverged:
            bars.close()
            say(f"error: {diverged}; choose a smaller --lr and another --out", err=True)
            return FAILED
    show(finding, as_json)
    return 0
