"""`regulargpt sample LANGUAGE --length N --count M --seed S --out FILE`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, emit, say
from regulargpt.cli.types import FILE, FiniteRange

MOST_SYMBOLS = 100_000_000


@click.command()
@click.argument("language")
@click.option("--length", type=click.IntRange(min=1), required=True, help="Symbols in each word.")
@click.option("--count", type=click.IntRange(min=1), default=10, show_default=True, help="How many words.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same words.")
@click.option("--near-misses", type=FiniteRange(0, 1), default=0.0, help="Share of near misses in the non-members.")
@click.option("--edits", type=click.IntRange(1, 1000), default=1, show_default=True, help="Most edits of a near miss.")
@click.option(
    "--swaps",
    type=FiniteRange(0, 1),
    default=0.0,
    help="Share of the near misses in which two symbols changed places instead.",
)
@click.option("--out", type=FILE, help="Write to this file, not to the terminal.")
@click.option("--text", is_flag=True, help="`word label` a line instead of JSON lines.")
@as_json
def command(
    language: str,
    length: int,
    count: int,
    seed: int,
    near_misses: float,
    edits: int,
    swaps: float,
    out: Path | None,
    text: bool,
    as_json: bool,
) -> None:
    """Draw labelled words of a language: JSON lines {"word": ..., "label": ...}, or text."""
    import languages
    from languages.randomness import rng

    if text and as_json:
        raise UserError("--text and --json exclude each other; give one")
    if not near_misses and (edits != 1 or swaps):
        raise UserError("--edits and --swaps are about near misses; add --near-misses, or leave them out")
    if length * count > MOST_SYMBOLS:
        raise UserError(
            f"--length {length} times --count {count}: at most {MOST_SYMBOLS:,} symbols at once; draw fewer"
        )
    if out is not None and os.path.lexists(out):
        raise UserError(f"{out} exists; choose another --out")
    task = languages.get(language)
    words = task.sample(rng(seed, "sample"), length, count, near_misses=near_misses, edits=edits, swaps=swaps)
    names = [task.output_names[label] for label in task.labels(words)]
    pairs = [{"word": task.machine.decode(word), "label": name} for word, name in zip(words, names, strict=True)]
    line = "{word} {label}".format_map if text else lambda pair: json.dumps(pair, ensure_ascii=False)
    content = "".join(line(pair) + "\n" for pair in pairs)
    if out is not None:
        from regulargpt.storage.atomic import write_text

        write_text(out, content)
    if notice := task.describe_length(length):
        say(notice, err=True)
    if as_json:
        where = {"words": pairs} if out is None else {"count": count, "out": str(out)}
        emit({"language": task.name, "length": length, "seed": seed, **where})
    else:
        written = f"{count} words of length {length} written to {out}\n"
        click.echo(content if out is None else written, nl=False)
