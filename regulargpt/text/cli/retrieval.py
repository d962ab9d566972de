"""Retrieval tasks."""

from __future__ import annotations

from typing import Any

from languages.randomness import rng
from languages.registry import RETRIEVAL
from regulargpt.cli.kinds import DrawnSample
from regulargpt.cli.output import described
from regulargpt.text.corpora.retrieval import Retrieval, retrieval
from regulargpt.text.corpora.retrieval.registry import ROWS

MOST_SYMBOLS = 10_000_000  # they are larger numbers than those of words, and all of them are drawn at once
SAMPLE_LENGTH = 60
MOST_NAMES = 4  # of symbols of one kind in a line


def rows() -> list[dict[str, str]]:
    """One row a task."""
    return [
        {
            "name": f"{RETRIEVAL}{name}",
            "summary": row.summary,
            "parameters": ", ".join(f"{key}={value}" for key, value in row.sizes.items()),
        }
        for name, row in ROWS.items()
    ]


def describe(name: str, seed: int) -> dict[str, Any]:
    """What a task is, and a word of it."""
    task = retrieval(name)
    return {
        "task": task.name,
        "summary": task.summary,
        "questions": task.questions,
        "together": task.together,
        "symbols": list(task.symbols),
        "answers": list(task.answers),
        "shortest": task.shortest,
        "chance": 100 * task.chance,
        "sample": records(task, max(SAMPLE_LENGTH, task.shortest), 1, seed)[0],
    }


def records(task: Retrieval, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """`count` words: the document, the questions behind it, their answers, and where in the document these stand.

    LengthEmpty if there is no word of this length.
    """
    words = task.sample(rng(seed, "sample"), length, count)
    documents, all_questions = task.split(words)
    known = task.answers  # made of all symbols, so once
    return [
        {
            "document": task.decode(document),
            "questions": [task.decode(question) for question in questions],
            "answers": [known[answer] for answer in answers],
            "places": places.tolist(),
        }
        for document, questions, answers, places in zip(
            documents, all_questions, task.answers_in(words), task.needles_in(words), strict=True
        )
    ]


def sample(name: str, length: int, count: int, seed: int, **mixture: Any) -> DrawnSample:
    """Documents with their questions."""
    return DrawnSample("documents", {"task": name}, records(retrieval(name), length, count, seed), passage)


def passage(record: dict[str, Any]) -> str:
    """A word for people: the document in a line, then a line a question, and one that is empty."""
    triples = zip(record["questions"], record["answers"], record["places"], strict=True)
    lines = [f"{question}  {answer}, at {place}" for question, answer, place in triples]
    return "\n".join([record["document"], *lines, "", ""])


def text(facts: dict[str, Any]) -> str:
    """A task for people."""
    together = facts["together"]
    all_of = f", of which {together} belong together and must all be answered right" if together > 1 else ""
    lines = [
        ("questions", f"{facts['questions']} behind each document{all_of}"),
        ("answers", f"{len(facts['answers'])}: {some(facts['answers'])}"),
        ("symbols", f"{len(facts['symbols'])}: {by_kind(facts['symbols'])}"),
        ("chance", f"{facts['chance']:.3g} %"),
        ("shortest", f"{facts['shortest']} symbols, questions included"),
    ]
    return described(facts["task"], facts["summary"], lines, passage(facts["sample"]).rstrip())


def by_kind(symbols: list[str]) -> str:
    """The symbols, those of a kind together.

    >>> by_kind(["n0", "n1", "?", "#", "k0", "v0", "v1", "v2", "v3", "v4"])
    'n0 n1, ? #, k0, v0 .. v4'
    """
    kinds: dict[str, list[str]] = {}
    for symbol in symbols:
        kinds.setdefault(symbol[0] if symbol[0] in "nkv" else "marks", []).append(symbol)
    return ", ".join(map(some, kinds.values()))


def some(names: list[str]) -> str:
    """The names, or the first and the last of them.

    >>> some(["v0", "v1"]), some([f"v{i}" for i in range(16)])
    ('v0 v1', 'v0 .. v15')
    """
    return " ".join(names) if len(names) <= MOST_NAMES else f"{names[0]} .. {names[-1]}"
