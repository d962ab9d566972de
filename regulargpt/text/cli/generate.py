"""`regulargpt generate RUN --prompt TEXT`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from languages.errors import UserError
from regulargpt.cli.measuring import shared
from regulargpt.cli.output import CountBar, as_json, emit, say
from regulargpt.cli.types import PLACE, FiniteRange, WholeRange

if TYPE_CHECKING:
    from regulargpt.runs.opened import Opened
    from regulargpt.text.generation import Decode

MOST_SYMBOLS = 100_000


@click.command()
@click.argument("folder", metavar="RUN", type=PLACE)
@click.option("--prompt", default="\n", help="The text that goes on.  [default: a newline]")
@click.option("--symbols", type=WholeRange(1, MOST_SYMBOLS), default=200, show_default=True, help="How many more.")
@click.option(
    "--temperature",
    type=FiniteRange(min=0, max=1000),
    default=0.8,
    show_default=True,
    help="0: always the likeliest symbol; 1: as the model expects them; above: more surprising.",
)
@click.option("--seed", type=WholeRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of the symbols.")
@click.option("--window", type=WholeRange(min=1), help="Positions that are remembered.  [default: all]")
@click.option(
    "--attention", help="What a position of a Transformer sees: full, bca, sliding:W, sinks:S:W, self-extend:G:W."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the network, as in scaling=yarn,factor=4."
)
@shared("train_len")
@shared("device")
@as_json
def command(
    folder: Path,
    prompt: str,
    symbols: int,
    temperature: float,
    seed: int,
    window: int | None,
    attention: str | None,
    settings: tuple[str, ...],
    train_len: int | None,
    device: str,
    as_json: bool,
) -> None:
    """Continue a text with a model that was trained on texts.

    The text appears as it is written, with control characters as \\x1b; its speed is said on stderr.

    RUN may be hf:PATH, a folder of GPT-2, GPT-NeoX, Llama, Mistral, Qwen2 or Qwen3 on disk. Symbols are its tokens.
    """
    if window is not None and attention is not None:
        raise UserError("--window and --attention both say what is remembered; leave one of them out")
    from regulargpt.cli.commands.evaluate import changed

    run = opened(folder, train_len, device)
    changes = changed(run.config, settings)

    from regulargpt.text.generation import Writer, spelling

    prompt = prompt or "\n"
    read = spelling(run)[0](prompt)
    if not len(read):
        raise UserError("--prompt has no symbol that the network knows; write another one")
    # Also where it ends early: nobody says then that it is at work.
    with closing(CountBar("generate")) as progress:
        progress.begin()
        writer = Writer.from_run(run, len(read) + symbols, changes, attention or "full")
        drawn = writer.continuation(read, symbols, temperature=temperature, seed=seed, window=window)
        text, times = written(prompt, drawn, writer.decode, (lambda text: None) if as_json else echo)
    reading, rate = speed(times)
    if as_json:
        arguments = {"prompt": prompt, "symbols": symbols, "temperature": temperature, "seed": seed, "window": window}
        tested = {"attention": attention or "full", "changes": changes}
        per_second = {
            "symbols_per_second": None if rate is None else round(rate, 1),
            "prompt_seconds": round(reading, 3),
        }
        emit({"run": str(folder), **arguments, **tested, "text": text, **per_second})
        return
    click.echo()
    a_second = "" if rate is None else f", {rate:,.{int(rate < 10)}f} a second"
    say(f"{len(times) - 1:,} symbols{a_second}; {len(read):,} of the prompt read in {reading:.1f} s", err=True)
    for note in run.notes:
        say(note, err=True)


def echo(text: str) -> None:
    """Print a part of a text, its control characters written out."""
    from regulargpt.text.generation import harmless

    click.echo(harmless(text), nl=False)


def written(prompt: str, drawn: Iterator[int], decode: Decode, show: Callable[[str], None]) -> tuple[str, list[float]]:
    """The text behind the prompt, of which each part is shown as it comes; the seconds of the beginning and of each
    symbol."""
    from regulargpt.text.generation import readable

    pieces, times = [], [time.perf_counter()]
    show(prompt)

    def counted() -> Iterator[int]:
        for symbol in drawn:
            times.append(time.perf_counter())
            yield symbol

    for piece in readable(counted(), decode):
        pieces.append(piece)
        show(piece)
    return "".join(pieces), times


def speed(times: Sequence[float]) -> tuple[float, float | None]:
    """The seconds before the first symbol, in which the prompt is read, and how many a second come behind it.

    `times` are those of the beginning and of each symbol.

    >>> speed([0.0, 8.0, 8.5, 9.0]), speed([0.0, 8.0]), speed([0.0])
    ((8.0, 2.0), (8.0, None), (0.0, None))
    """
    if len(times) < 3:
        return times[-1] - times[0], None
    return times[1] - times[0], (len(times) - 2) / max(times[-1] - times[1], 1e-9)


def opened(place: Path, train_len: int | None, device: str) -> Opened:
    """The finished run in a folder, or the checkpoint at hf:PATH, without the text that it was trained on."""
    from regulargpt.runs.opened import open_run
    from regulargpt.runs.places import is_checkpoint, refuse_text
    from regulargpt.storage.folder import RunFolder
    from regulargpt.text.opened import open_alone

    if is_checkpoint(place):
        return open_alone(place, train_len, device=device)
    refuse_text(None, train_len)
    return open_run(RunFolder.open(place), on=("text",), reads=False, device=device)
