"""`regulargpt sample LANGUAGE --length N --count M --seed S --out FILE`, and the same of a text or retrieval task."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, as_line, emit, say
from regulargpt.cli.types import FILE, FiniteRange

MOST_SYMBOLS = 100_000_000
MOST_OF_DOCUMENTS = 10_000_000  # their symbols are larger numbers, and all of them are drawn at once


@dataclass(frozen=True)
class Drawn:
    """What was drawn: its kind, a record each, a record as text, what names it, and what is missing at this length."""

    kind: str
    name: dict[str, str]
    records: list[dict[str, Any]]
    line: Callable[[dict[str, Any]], str]
    notice: str = ""


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
    from languages.registry import is_language, is_retrieval, is_text
    from regulargpt.data import noun_of

    if text and as_json:
        raise UserError("--text and --json exclude each other; give one")
    if not near_misses and (edits != 1 or swaps):
        raise UserError("--edits and --swaps are about near misses; add --near-misses, or leave them out")
    most = MOST_OF_DOCUMENTS if is_retrieval(language) else MOST_SYMBOLS
    if length * count > most:
        raise UserError(f"--length {length} times --count {count}: at most {most:,} symbols at once; draw fewer")
    if out is not None and os.path.lexists(out):
        raise UserError(f"{out} exists; choose another --out")
    if near_misses and not is_language(language):
        raise UserError(f"--near-misses: {language} is a {noun_of(language)}, which has no members; leave it out")
    if is_text(language):
        found = segments(language, length, count, seed)
    elif is_retrieval(language):
        found = documents(language, length, count, seed)
    else:
        found = words(language, length, count, seed, {"near_misses": near_misses, "edits": edits, "swaps": swaps})
    render = found.line if text else lambda record: as_line(record) + "\n"
    content = "".join(map(render, found.records))
    if out is not None:
        from regulargpt.storage.atomic import write_text

        write_text(out, content)
    if found.notice:
        say(found.notice, err=True)
    if as_json:
        where = {found.kind: found.records} if out is None else {"count": count, "out": str(out)}
        emit({**found.name, "length": length, "seed": seed, **where})
    else:
        written = f"{count} {found.kind} of length {length} written to {out}\n"
        click.echo(content if out is None else written, nl=False)


def words(language: str, length: int, count: int, seed: int, mixed: dict[str, Any]) -> Drawn:
    """Words of a language, labelled by its machine."""
    import languages
    from languages.randomness import rng

    task = languages.get(language)
    sampled = task.sample(rng(seed, "sample"), length, count, **mixed)
    names = [task.output_names[label] for label in task.labels(sampled)]
    pairs = [{"word": task.machine.decode(word), "label": name} for word, name in zip(sampled, names, strict=True)]
    return Drawn("words", {"language": task.name}, pairs, "{word} {label}\n".format_map, task.describe_length(length))


def segments(name: str, length: int, count: int, seed: int) -> Drawn:
    """Segments of the test part of a text."""
    from languages.text import corpus
    from regulargpt.cli import texts

    found = texts.segments(corpus(name), length, count, seed)
    return Drawn("segments", {"text": name}, found, lambda segment: texts.passage(segment, length))


def documents(name: str, length: int, count: int, seed: int) -> Drawn:
    """Documents of a retrieval task with their questions."""
    from languages.text.retrieval import retrieval
    from regulargpt.cli import documents

    found = documents.records(retrieval(name), length, count, seed)
    return Drawn("documents", {"task": name}, found, documents.passage)
