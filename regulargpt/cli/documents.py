"""Retrieval tasks as the terminal shows them: what `show` and `sample` say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from languages.randomness import rng
from regulargpt.cli.output import table

if TYPE_CHECKING:
    from languages.text.retrieval import Retrieval

SAMPLE_LENGTH = 60
MOST_NAMES = 4  # of symbols of one kind in a line


def described(task: Retrieval, seed: int) -> dict[str, Any]:
    """What a task is, and a word of it."""
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
    documents, asked = task.split(words)
    return [
        {
            "document": task.decode(document),
            "questions": [task.decode(question) for question in questions],
            "answers": [task.answers[answer] for answer in answers],
            "places": places.tolist(),
        }
        for document, questions, answers, places in zip(
            documents, asked, task.asked(words), task.found(words), strict=True
        )
    ]


def passage(record: dict[str, Any]) -> str:
    """A word for people: the document in a line, then a line a question, and one that is empty."""
    asked = zip(record["questions"], record["answers"], record["places"], strict=True)
    lines = [f"{question}  {answer}, at {place}" for question, answer, place in asked]
    return "\n".join([record["document"], *lines, "", ""])


def shown(found: dict[str, Any]) -> str:
    """A task for people."""
    together = found["together"]
    all_of = f", of which {together} belong together and must all be answered right" if together > 1 else ""
    facts = [
        ("questions", f"{found['questions']} behind each document{all_of}"),
        ("answers", f"{len(found['answers'])}: {some(found['answers'])}"),
        ("symbols", f"{len(found['symbols'])}: {by_kind(found['symbols'])}"),
        ("chance", f"{found['chance']:.3g} %"),
        ("shortest", f"{found['shortest']} symbols, questions included"),
    ]
    return "\n\n".join([f"{found['task']}: {found['summary']}", table(facts), passage(found["sample"]).rstrip()])


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
