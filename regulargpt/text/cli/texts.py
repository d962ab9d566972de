"""Texts."""

from __future__ import annotations

from typing import Any

from languages.printable import printable
from languages.randomness import rng
from regulargpt.cli.kinds import DrawnSample
from regulargpt.cli.output import described
from regulargpt.text.corpora import Corpus, corpus, listing

MOST_SYMBOLS = 100_000_000
LINES, SYMBOLS = 8, 2000  # lines that are shown, and symbols that they are taken from


def rows() -> list[dict[str, str]]:
    """One row a text."""
    return [{"name": name, "summary": summary} for name, summary in listing()]


def describe(name: str, seed: int) -> dict[str, Any]:
    """What a text is, and a few lines of its test part."""
    it = corpus(name)
    return {
        "text": it.name,
        "summary": it.summary,
        "source": it.source,
        "files": it.files,
        "vocabulary": it.vocabulary_size,
        "train_bytes": len(it.train),
        "test_bytes": len(it.test),
        "sha256": it.digest,
        "lines": lines(it, seed),
    }


def sample(name: str, length: int, count: int, seed: int, **mixture: Any) -> DrawnSample:
    """Segments of the test part."""

    def passage(segment: dict[str, Any]) -> str:
        place = f"--- test part, from symbol {segment['start']:,}, {length:,} symbols"
        return f"{place}\n{printable(segment['text'])}\n"

    return DrawnSample("segments", {"text": name}, segments(corpus(name), length, count, seed), passage)


def lines(corpus: Corpus, seed: int) -> list[str]:
    """Whole lines from anywhere in the test part; what a line lacks, if lines are too long for that."""
    length = min(SYMBOLS, len(corpus.test))
    (segment,) = segments(corpus, length, 1, seed)
    written = printable(segment["text"]).split("\n")
    whole = written[1:-1] if len(written) > 2 else written
    return whole[:LINES]


def segments(corpus: Corpus, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """`count` segments that begin anywhere in the test part; CorpusError if it is shorter than `length`."""
    corpus.require("test", length)
    starts = rng(seed, "sample").integers(len(corpus.test) - length + 1, size=count)
    drawn = corpus.segments("test", length, starts)
    return [{"start": int(at), "text": corpus.decode(row)} for at, row in zip(starts, drawn, strict=True)]


def text(facts: dict[str, Any]) -> str:
    """A text for people."""
    cells = [
        ("source", facts["source"]),
        ("files", f"{facts['files']:,}"),
        ("training part", f"{facts['train_bytes']:,} bytes"),
        ("test part", f"{facts['test_bytes']:,} bytes"),
        ("vocabulary", f"{facts['vocabulary']} symbols: the bytes"),
        ("SHA-256", facts["sha256"]),
    ]
    return described(facts["text"], facts["summary"], cells, "\n".join(facts["lines"]))
