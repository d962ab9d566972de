"""`regulargpt judge MODULE:CLASS --language LANGUAGE`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from regulargpt.cli.output import CheckBar, emit, printed, say
from regulargpt.cli.types import FILE, PATH, FiniteRange, WholeRange


@click.command()
@click.argument("network", metavar="MODULE:CLASS")
@click.option("--language", required=True, help="What it should answer, as in --language parity.")
@click.option("--weights", type=FILE, help="Its state_dict: a .safetensors, or what torch.save wrote.")
@click.option("--seconds", type=FiniteRange(min=0), default=60.0, show_default=True, help="Of each search; 0: no end.")
@click.option("--seed", type=WholeRange(min=0), default=0, show_default=True, help="Seed of the words that are drawn.")
@click.option("--out", type=PATH, help="Folder for the proof.  [default: judged/LANGUAGE-CLASS]")
@printed
def command(
    network: str, language: str, weights: Path | None, seconds: float, seed: int, out: Path | None, as_json: bool
) -> None:
    """Give a verdict on a network of your own, trained elsewhere: no training, no class to derive from.

    A cell has start(batch), step(state, symbols) and readout(state); it is proven at every length, or wrong for ever,
    with files that `regulargpt check` accepts. Of any other module, from words (batch, length) to logits, wrong words
    are looked for. Options of the class follow it: my_net:Net:width=32.
    """
    from languages.registry import find
    from regulargpt.judging.folder import default_folder, refuse_occupied

    name = find(language).name
    folder = default_folder(network, name) if out is None else out
    refuse_occupied(folder)

    from regulargpt.judging.folder import lines, write
    from regulargpt.judging.judge import judge
    from regulargpt.judging.modules import build

    module = build(network, weights)
    with closing(CheckBar()) as progress:
        report = write(folder, judge(module, language, seconds, seed, progress))
    emit(report) if as_json else say("\n".join(lines(report)))
