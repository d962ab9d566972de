"""`regulargpt generate RUN --prompt TEXT`."""

from __future__ import annotations

from pathlib import Path

import click

from regulargpt.cli.output import as_json, emit, say
from regulargpt.cli.types import PATH, FiniteRange

MOST_SYMBOLS = 100_000


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option("--prompt", default="\n", help="The text that goes on.  [default: a newline]")
@click.option("--symbols", type=click.IntRange(1, MOST_SYMBOLS), default=200, show_default=True, help="How many more.")
@click.option(
    "--temperature",
    type=FiniteRange(min=0, max=1000),
    default=0.8,
    show_default=True,
    help="0: always the likeliest symbol; 1: as the model expects them; above: more surprising.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of the symbols.")
@click.option("--window", type=click.IntRange(min=1), help="Positions that are remembered.  [default: all]")
@as_json
def command(
    folder: Path, prompt: str, symbols: int, temperature: float, seed: int, window: int | None, as_json: bool
) -> None:
    """Continue a text with a model that was trained on texts.

    The text appears as it is written, with control characters as \\x1b; its speed is said on stderr.
    """
    import time

    from regulargpt.storage.folder import RunFolder

    run_folder = RunFolder.open(folder)

    from regulargpt.generation import Writer, harmless, readable

    prompt = prompt or "\n"
    writer = Writer.of(run_folder, len(prompt.encode(errors="surrogateescape")) + symbols)
    began, pieces = time.perf_counter(), []
    drawn = writer.continuation(writer.encode(prompt), symbols, temperature=temperature, seed=seed, window=window)
    if not as_json:
        click.echo(harmless(prompt), nl=False)
    for piece in readable(drawn, writer.decode):
        pieces.append(piece)
        if not as_json:
            click.echo(harmless(piece), nl=False)
    rate = symbols / (time.perf_counter() - began)
    if as_json:
        asked = {"prompt": prompt, "symbols": symbols, "temperature": temperature, "seed": seed, "window": window}
        emit({"run": str(folder), **asked, "text": "".join(pieces), "symbols_per_second": round(rate, 1)})
        return
    click.echo()
    say(f"{symbols:,} symbols, {rate:,.0f} a second", err=True)
