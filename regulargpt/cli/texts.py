"""Texts as the terminal shows them: what `show` and `sample` say of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from languages.printable import printable
from languages.randomness import rng
from regulargpt.cli.output import table

if TYPE_CHECKING:
    from languages.text import Corpus

LINES, LOOKED_AT = 8, 2000  # lines that are shown, and symbols in which they are looked for


def described(corpus: Corpus, seed: int) -> dict[str, Any]:
    """What a text is, and a few lines of its test part."""
    return {
        "text": corpus.name,
        "summary": corpus.summary,
        "source": corpus.source,
        "files": corpus.files,
        "vocabulary": corpus.vocabulary_size,
        "train_bytes": len(corpus.train),
        "test_bytes": len(corpus.test),
        "sha256": corpus.digest,
        "lines": lines(corpus, seed),
    }


def lines(corpus: Corpus, seed: int) -> list[str]:
    """Whole lines from anywhere in the test part; what a line lacks, if lines are too long for that."""
    length = min(LOOKED_AT, len(corpus.test))
    (segment,) = segments(corpus, length, 1, seed)
    found = printable(segment["text"]).split("\n")
    whole = found[1:-1] if len(found) > 2 else found
    return whole[:LINES]


def segments(corpus: Corpus, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """`count` segments that begin anywhere in the test part; CorpusError if it is shorter than `length`."""
    corpus.require("test", length)
    starts = rng(seed, "sample").integers(len(corpus.test) - length + 1, size=count)
    found = corpus.segments("test", length, starts)
    return [{"start": int(at), "text": corpus.decode(row)} for at, row in zip(starts, found, strict=True)]


def shown(found: dict[str, Any]) -> str:
    """A text for people."""
    facts = [
        ("source", found["source"]),
        ("files", f"{found['files']:,}"),
        ("training part", f"{found['train_bytes']:,} bytes"),
        ("test part", f"{found['test_bytes']:,} bytes"),
        ("vocabulary", f"{found['vocabulary']} symbols: the bytes"),
        ("SHA-256", found["sha256"]),
    ]
    return "\n\n".join([f"{found['text']}: {found['summary']}", table(facts), "\n".join(found["lines"])])


def passage(segment: dict[str, Any], length: int) -> str:
    """A segment for people: where it stands, then its text."""
    return f"--- test part, from symbol {segment['start']:,}, {length:,} symbols\n{printable(segment['text'])}\n"
