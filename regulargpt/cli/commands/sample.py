"""`regulargpt sample LANGUAGE --length N --count M --seed S --out FILE`, and the same of a text or retrieval task."""

from __future__ import annotations

import os
from pathlib import Path

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, as_line, emit, say
from regulargpt.cli.types import FiniteRange, NewFileType, WholeRange


@click.command()
@click.argument("language")
@click.option("--length", type=WholeRange(min=1), required=True, help="Symbols in each word.")
@click.option("--count", type=WholeRange(min=1), default=10, show_default=True, help="How many words.")
@click.option("--seed", type=WholeRange(min=0), default=0, show_default=True, help="The same seed, the same words.")
@click.option("--near-misses", type=FiniteRange(0, 1), default=0.0, help="Share of near misses in the non-members.")
@click.option("--edits", type=WholeRange(1, 1000), default=1, show_default=True, help="Most edits of a near miss.")
@click.option(
    "--swaps",
    type=FiniteRange(0, 1),
    default=0.0,
    help="Share of the near misses in which two symbols changed places instead.",
)
@click.option("--out", type=NewFileType("words.jsonl"), help="Write to this file, not to the terminal.")
@click.option(
    "--text", is_flag=True, help="`word label` a line, or segments and documents as they are, instead of JSON lines."
)
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
    """Draw labelled words of a language, segments of a text's test part, or documents with questions.

    They are JSON lines, {"word": ..., "label": ...}, {"start": ..., "text": ...} or {"document": ..., "questions": ...,
    "answers": ..., "places": ...}, or text.
    """
    from regulargpt.cli.kinds import kind_with
    from regulargpt.data import is_language, noun_of

    if text and as_json:
        raise UserError("--text and --json exclude each other; give one")
    if not near_misses and (edits != 1 or swaps):
        raise UserError("--edits and --swaps are about near misses; add --near-misses, or leave them out")
    kind = kind_with(language)
    if length * count > kind.MOST_SYMBOLS:
        most = f"at most {kind.MOST_SYMBOLS:,} symbols at once"
        raise UserError(f"--length {length} times --count {count}: {most}; draw fewer")
    if out is not None and os.path.lexists(out):
        raise UserError(f"{out} exists; choose another --out")
    if near_misses and not is_language(language):
        raise UserError(f"--near-misses: {language} is a {noun_of(language)}, which has no members; leave it out")
    drawn = kind.sample(language, length, count, seed, near_misses=near_misses, edits=edits, swaps=swaps)
    render = drawn.line if text else lambda record: as_line(record) + "\n"
    content = "".join(map(render, drawn.records))
    if out is not None:
        from regulargpt.storage.atomic import write_text

        write_text(out, content)
    if drawn.notice:
        say(drawn.notice, err=True)
    if as_json:
        where = {drawn.kind: drawn.records} if out is None else {"count": count, "out": str(out)}
        emit({**drawn.name, "length": length, "seed": seed, **where})
    else:
        written = f"{count} {drawn.kind} of length {length} written to {out}\n"
        click.echo(content if out is None else written, nl=False)
