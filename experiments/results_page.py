"""docs/results.md: what came of every experiment, from the tables in experiments/results and facts.toml.

`python -m experiments.results_page` writes it. It says what came out and where the numbers are: at most 3,000 words.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from experiments.atlas import columns
from experiments.cells import STANDINGS, cells_in, standing
from experiments.claims import FAILS, HOLDS, OPEN, SHORT
from experiments.page import files
from experiments.page.markdown import is_of_a_kind
from experiments.page.record import ClaimVerdict, Page, Values
from experiments.recorded import FILE
from experiments.registry import EXPERIMENTS, recorded_as
from regulargpt.tables import percent, piped

ROOT = Path(__file__).parents[1]
RESULTS, OUT = ROOT / "experiments" / "results", ROOT / "docs" / "results.md"
LINK = "../experiments/results"
HIERARCHY = ("rnn", "lstm", "stack-rnn", "tape-rnn", "transformer", "flat", "nested", "binary")
RECOGNISERS = ("transformer", "rnn", "lstm", "stack-rnn")
OPENING = """\
# Results: what was run, and what came out

`python -m experiments.results_page` makes this page from [experiments/results](../experiments/results): of each
experiment `runs.csv` has a line a run, `claims.csv` a line a claim. `python -m experiments.site OUT` makes a page of
each. What was noted beside them is in [facts.toml](../experiments/results/facts.toml). Machines had two shared CPU
cores and no GPU, unless others are named; times are wall time beside other work.
∎: all runs of the cell that are done are proven, trees quantised. `-`: there is none.
"""
# Where the losses are that verdicts come from, by what intervals are over.
LOSSES = {"files": "kept", "segments": "gone", "words": "words", "": "exact"}
Rows = Iterable[Sequence[str]]


def results() -> str:
    """docs/results.md."""
    facts = tomllib.loads((RESULTS / "facts.toml").read_text("utf-8"))
    short = "\n".join(f"- {text}" for text in facts["short"]["text"])
    parts = [OPENING, "## Tables of scores", tables_of_scores(), "## What is short", short]
    for heading, known in facts.items():
        said = [*known.get("text", ()), *(SECTIONS[heading]() if heading in SECTIONS else ())]
        if said and heading != "short":
            parts += [f"{'#' * known['level']} {heading}", *said]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def markdown(header: Sequence[str], rows: Rows) -> str:
    """A table, in which cells are Markdown already."""
    return piped([header, ["---"] * len(header), *rows])


@cache
def page(name: str) -> Page:
    """The record of a page."""
    return files.read(RESULTS / name)


@cache
def names() -> list[str]:
    """The folders with a page, in the order of the experiments."""
    order = list(EXPERIMENTS)

    def place(name: str) -> tuple[int, str]:
        of = recorded_as(name)[0].name if is_of_scores(name) else page(name).experiment
        return order.index(of) if of in order else -1, name

    folders = {path.parent.name for pattern in (FILE, files.RECORD) for path in RESULTS.glob(f"*/{pattern}")}
    return sorted(folders, key=place)


def is_of_scores(name: str) -> bool:
    """Whether a folder has a table of scores."""
    return (RESULTS / name / FILE).exists()


def linked(name: str, title: str) -> str:
    """A link to a folder, whose page the site has."""
    return f"[{title}]({LINK}/{name})"


def titled(name: str) -> str:
    """What a page is called for short.

    >>> titled("table-6.1-cpu"), titled("lex-table-2-cpu")
    ('table 6.1', 'lex table 2')
    """
    return name.removesuffix("-cpu").replace("table-", "table ").replace("figure-", "figure ").replace("lex-", "lex ")


def cells(name: str) -> dict[tuple[str, str], Values]:
    """The cells of a table of scores by row and column."""
    return {(cell["row"], cell["column"]): cell for cell in cells_in(RESULTS / name)}


def tables_of_scores() -> str:
    """A row a table: how many runs are done, and how often the published mean lies above, within or below."""
    rows = []
    for name in filter(is_of_scores, names()):
        runs = {(cell["row"], cell["title"]): cell for cell in cells(name).values()}
        counts = standings(runs.values())
        said = ", ".join(f"{counts[key]} {key}" for key in STANDINGS[:3] if counts[key])
        done = next(line for line in page(name).lead if line.startswith("Scale ")).split(": ")[1].split(" runs")[0]
        rows.append((linked(name, titled(name)), done, said or "-"))
    return markdown(("table", "runs done", "cells against the published mean"), rows)


def standings(cells: Iterable[Values]) -> Counter[str]:
    """How many cells lie where."""
    means = ((cell, cell["published"].get("mean")) for cell in cells)
    return Counter(standing(cell, mean) for cell, mean in means if isinstance(mean, int | float))


def mean_and_proof(cell: Values) -> str:
    """A mean, and whether all runs of the cell that are done are proven."""
    if not cell["done"]:
        return "-"
    return percent(cell["ours"]["mean"]) + " ∎" * (cell["group"]["n_proven"] == cell["done"])


def grid(name: str, shown: Sequence[str], text: Callable[[Values], str] = mean_and_proof) -> Iterator[str]:
    """A row each row of a page, with these columns."""
    by_place = cells(name)
    rows = dict.fromkeys(row for row, _ in by_place)
    titles = [next(cell["title"] for (_, column), cell in by_place.items() if column == key) for key in shown]
    yield markdown(
        (linked(name, titled(name)), *titles), ((row, *(text(by_place[row, key]) for key in shown)) for row in rows)
    )


def by_column(name: str, shown: Sequence[str]) -> Iterator[str]:
    """A row each column of a page: how many rows have 100 %, the lowest value, how many are proven."""
    by_place, rows = cells(name), []
    for key in shown:
        in_column = [cell for (_, column), cell in by_place.items() if column == key]
        done = [cell for cell in in_column if cell["done"]]
        right = sum(cell["ours"]["mean"] == 100 for cell in done)
        proven = sum(cell["group"]["n_proven"] == cell["done"] for cell in done)
        low = min(done, key=lambda cell: cell["ours"]["mean"], default=None)
        lowest = f"{low['row']} {percent(low['ours']['mean'])}" if low and right < len(done) else "-"
        missing = f", {len(in_column) - len(done)} missing" * (len(in_column) > len(done))
        counts = f"{right} of {len(done)}{missing}", lowest, f"{proven} of {len(done)}" if proven else "-"
        rows.append((in_column[0]["title"], *counts))
    yield markdown((linked(name, titled(name)), "rows at 100 %", "lowest", "rows proven"), rows)


def claims_of(pages: Iterable[Page]) -> list[ClaimVerdict]:
    """Their claims, those that several pages test on the same runs once: where it has a figure."""
    distinct: dict[tuple[str, tuple[str, ...]], ClaimVerdict] = {}
    for claim in sorted((claim for page in pages for claim in page.claims), key=lambda claim: not claim.figure):
        distinct.setdefault((claim.sentence, claim.rules), claim)
    return list(distinct.values())


def texts() -> Iterator[str]:
    """Each page about texts, or two that test the same claims on the same runs: verdicts counted."""
    said, groups, answers = [], list[list[str]](), (HOLDS, FAILS, SHORT, OPEN)
    total = np.zeros((2, len(answers)), int)
    for name in names():
        if not is_of_scores(name) and page(name).claims and "over" in page(name).facts:
            known = next((group for group in groups if are_alike(page(group[0]), page(name))), None)
            known.append(name) if known else groups.append([name])
    for group in groups:
        counted = Counter((is_of_a_kind(claim), claim.answer) for claim in claims_of(map(page, group)))
        counts = np.array([[counted[kind, answer] for answer in answers] for kind in (True, False)])
        total += counts
        pages = " and ".join(linked(name, titled(name)) for name in group)
        said.append(f"{pages} {verdicts(counts)} ({LOSSES[page(group[0]).facts['over']]})")
    yield f"Together {verdicts(total)}, of {total.sum()} claims: {'; '.join(said)}."


def verdicts(counts: np.ndarray) -> str:
    """How many claims of encodings, and of these networks, have which verdict.

    >>> verdicts(np.array([[0, 0, 0, 0], [1, 0, 5, 0]])), verdicts(np.array([[1, 0, 5, 0], [0, 0, 0, 1]]))
    ('1/0/5/0', '**1/0/5/0** 0/0/0/1')
    """
    kinds, these = ("/".join(map(str, row)) for row in counts)
    return " ".join([f"**{kinds}**"] * bool(counts[0].any()) + [these] * bool(counts[1].any() or not counts.any()))


def are_alike(first_page: Page, other: Page) -> bool:
    """Whether most claims of two pages are the same, tested alike."""
    first, second = ({(claim.sentence, claim.rules) for claim in page.claims} for page in (first_page, other))
    return 2 * len(first & second) > min(len(first), len(second))


def encodings() -> Iterator[str]:
    """The best encoding on each language, with other models beside it."""
    beside = ("regulargpt", "rnn", "lstm", "linear-rnn")
    scores: dict[str, dict[str, float]] = {}
    for name in ("encodings-languages-cpu", "encodings-languages-2-cpu"):
        for (row, language), cell in cells(name).items():
            if cell["done"]:
                scores.setdefault(language, {})[row] = cell["ours"]["mean"]
    rows = []
    for language, by_row in scores.items():
        own = {row: score for row, score in by_row.items() if row not in beside}
        best = [row for row, score in own.items() if score == max(own.values())]
        named = best[0] if len(best) == 1 else f"{len(best)} of {len(own)}"
        rows.append((language, named, *(f"{score:.1f}" for score in (max(own.values()), *map(by_row.get, beside)))))
    yield markdown((linked("encodings-languages-cpu", "language"), "best encoding", "its score", *beside), rows)


def atlas() -> Iterator[str]:
    """What the atlas took."""
    every = columns.read(RESULTS / "atlas" / columns.FILE)
    hours = sum(row["seconds"] or 0.0 for row in every) / 3600
    yield f"{len(every):,} runs took {hours:.1f} hours of a core ({linked('atlas', 'page')})."


def random_automata() -> Iterator[str]:
    """The lead of the page, which counts them."""
    yield f"{page('random-dfas').lead[1]} {linked('random-dfas', 'Page')}."


TREES = ("gated-C2", "gated-C3", "regulargpt-C2", "regulargpt-C3")
SECTIONS: Mapping[str, Callable[[], Iterator[str]]] = {
    "Table 6.1": lambda: grid("table-6.1-cpu", ("rnn", "transformer", "words-C2", "certified-C2")),
    "From answers alone": lambda: by_column("answers-cpu", TREES),
    "LDRU's languages": lambda: by_column("ldru-2026-cpu", ("ldru", "gated-regulargpt", "rnn", "lstm")),
    "Random automata": random_automata,
    "An atlas of small languages": atlas,
    "Texts": texts,
    "Encodings on formal languages": encodings,
}
"""What is made of the tables below what facts.toml has of a heading."""

if __name__ == "__main__":
    OUT.write_text(results(), "utf-8")
