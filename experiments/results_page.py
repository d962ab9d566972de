"""docs/results.md: what came of every experiment, from the pages in experiments/results, their CSVs and facts.toml.

`python -m experiments.results_page` writes it.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.atlas import columns
from experiments.atlas.algebra import KINDS
from experiments.atlas.groups import budgets
from experiments.atlas.networks import NETWORKS
from experiments.chains import TITLES as CHAINS
from experiments.claims import FAILS, HOLDS, OPEN, SHORT
from experiments.nested import each_run
from experiments.nested import table as nested_table
from experiments.page import files
from experiments.page.markdown import is_of_a_kind
from experiments.page.record import Page, Table, Values, Verdict
from experiments.registry import EXPERIMENTS
from experiments.rivals import TASKS
from regulargpt.tables import percent, piped

ROOT = Path(__file__).parents[1]
RESULTS, OUT = ROOT / "experiments" / "results", ROOT / "docs" / "results.md"
LINK = "../experiments/results"
HIERARCHY = ("rnn", "lstm", "stack-rnn", "tape-rnn", "transformer", "flat", "nested", "binary")
RECOGNISERS = ("transformer", "rnn", "lstm", "stack-rnn")
STACK = ("binary", "long-binary", "proven-binary", "training-binary")
TESTED = (("10,000 symbols", "long"), ("1,000 deep", "deep"))  # of trees along brackets, with the columns of their runs
OPENING = """\
# Results: what was run, and what came out

`python -m experiments.results_page` makes this page from the records in [experiments/results](../experiments/results).
Machines had two shared CPU cores and no GPU, unless others are named. Times are wall time beside other work: upper
bounds.
Each page has every cell, its conditions, its command and the commit of its runs, where one is known.
∎: all runs of the cell that are done are proven, trees quantised. `-`: there is none.
"""
# Where the losses are that verdicts come from, by what intervals are over.
LOSSES = {"files": "kept", "segments": "gone", "words": "words", "": "exact"}
RUNS_DONE = re.compile(r"Scale \w+: (\d+) of (\d+) runs are done")
Rows = Iterable[Sequence[str]]


def results() -> str:
    """docs/results.md."""
    facts = tomllib.loads((RESULTS / "facts.toml").read_text("utf-8"))
    short = "\n".join(f"- {text}" for text in facts["short"]["text"])
    parts = [OPENING, "## Pages of scores", pages_of_scores(), "## What is short", short]
    for heading, level, made in SECTIONS:
        known = facts.get(heading, {})
        parts += [f"{'#' * level} {heading}", *known.get("text", ()), *made()]
        if "rows" in known:
            parts.append(markdown(known["header"], known["rows"]))
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
    """The pages, in the order of the experiments."""
    order = list(EXPERIMENTS)

    def place(name: str) -> tuple[int, str]:
        of = page(name).experiment
        return order.index(of) if of in order else -1, name

    return sorted((path.parent.name for path in RESULTS.glob(f"*/{files.RECORD}")), key=place)


def linked(name: str, title: str = "") -> str:
    """A link to a page."""
    return f"[{title or titled(page(name))}]({LINK}/{name}/{files.PAGE})"


def is_of_texts(found: Page) -> bool:
    """Whether a page is of claims about texts, whose verdicts are over something."""
    return "over" in found.facts


def titled(found: Page) -> str:
    """What a page is called: as in print, without what is said of all of them; its title where it is not in print."""
    if found.claims and not found.experiment.startswith(("table", "figure", "lex")):
        return found.sections[0].title
    return re.sub(r", (reproduced|on small models)$", "", found.heading).partition(":")[0]


def cells(name: str) -> dict[tuple[str, str], Values]:
    """The cells of a page of scores by row and column."""
    return {(one["row"], one["column"]): one for one in page(name).cells if "column" in one}


def pages_of_scores() -> str:
    """A row a page: how many runs are done, and how often the published mean lies above, within or below ours."""
    rows = []
    for name in names():
        done = next((found for line in page(name).lead if (found := RUNS_DONE.search(line))), None)
        if done and not is_of_texts(page(name)):
            counts = standings(page(name))
            told = ", ".join(f"{counts[key]} {key}" for key in ("above", "within", "below") if counts[key])
            rows.append((linked(name), f"{done[1]} of {done[2]}", told or "-"))
    return markdown(("page", "runs done", "cells against the published mean"), rows)


def standings(found: Page) -> Counter[str]:
    """How many cells of a page lie where, all columns together."""
    counts: Counter[str] = Counter()
    for section in found.sections:
        for block in section.blocks if section.title.startswith("Ours against published") else ():
            if isinstance(block, Table):
                for _, *numbers in block.rows:
                    counts.update(dict(zip(block.header[1:], map(int, map(str, numbers)), strict=True)))
    return counts


def mean_and_proof(cell: Values) -> str:
    """A mean, and whether all runs of the cell that are done are proven."""
    if not cell["done"]:
        return "-"
    return percent(cell["ours"]["mean"]) + " ∎" * (cell["group"]["n_proven"] == cell["done"])


def mean_and_seeds(cell: Values) -> str:
    """A mean, and of how many runs it is if there is more than one."""
    return mean_and_proof(cell) + f" ({cell['done']})" * (cell["done"] > 1)


def grid(name: str, shown: Sequence[str], text: Callable[[Values], str] = mean_and_proof) -> Iterator[str]:
    """A row each row of a page, with these columns."""
    found = cells(name)
    rows = dict.fromkeys(row for row, _ in found)
    titles = [next(one["title"] for (_, column), one in found.items() if column == key) for key in shown]
    yield markdown((linked(name), *titles), ((row, *(text(found[row, key]) for key in shown)) for row in rows))


def by_column(name: str, shown: Sequence[str]) -> Iterator[str]:
    """A row each column of a page: how many rows have 100 %, the lowest one, how many are proven."""
    found, rows = cells(name), []
    for key in shown:
        asked = [one for (_, column), one in found.items() if column == key]
        done = [one for one in asked if one["done"]]
        right = sum(one["ours"]["mean"] == 100 for one in done)
        proven = sum(one["group"]["n_proven"] == one["done"] for one in done)
        low = min(done, key=lambda one: one["ours"]["mean"], default=None)
        lowest = f"{low['row']} {percent(low['ours']['mean'])}" if low and right < len(done) else "-"
        missing = f", {len(asked) - len(done)} missing" * (len(asked) > len(done))
        counts = f"{right} of {len(done)}{missing}", lowest, f"{proven} of {len(done)}" if proven else "-"
        rows.append((asked[0]["title"], *counts))
    yield markdown((linked(name), "rows at 100 %", "lowest", "rows proven"), rows)


def claims_of(pages: Iterable[Page]) -> list[Verdict]:
    """Their claims, those that several pages test on the same runs once: where it has a figure."""
    found: dict[tuple[str, tuple[str, ...]], Verdict] = {}
    for claim in sorted((claim for one in pages for claim in one.claims), key=lambda claim: not claim.figure):
        found.setdefault((claim.sentence, claim.rules), claim)
    return list(found.values())


def texts() -> Iterator[str]:
    """A row a page about texts, or two that test the same claims on the same runs: verdicts counted."""
    rows, groups, answers = [], list[list[str]](), (HOLDS, FAILS, SHORT, OPEN)
    total = np.zeros((2, len(answers)), int)
    for name in names():
        if page(name).claims and is_of_texts(page(name)):
            known = next((group for group in groups if are_alike(page(group[0]), page(name))), None)
            known.append(name) if known else groups.append([name])
    for group in groups:
        claims = claims_of(map(page, group))
        found = Counter((is_of_a_kind(claim), claim.answer) for claim in claims)
        counts = np.array([[found[kind, answer] for answer in answers] for kind in (True, False)])
        total += counts
        rows.append((", ".join(map(linked, group)), *counted(counts), LOSSES[page(group[0]).facts["over"]]))
    header = ("page: hold/do not/not reached/open", "claims", "of encodings", "of these networks", "losses")
    yield markdown(header, [*rows, ("together", *counted(total), "")])


def counted(counts: np.ndarray) -> tuple[str, ...]:
    """How many claims there are, and of each kind how many have which verdict.

    >>> counted(np.array([[1, 0, 5], [0, 0, 0]]))
    ('6', '1/0/5', '0/0/0')
    """
    return str(counts.sum()), *("/".join(map(str, row)) for row in counts)


def are_alike(one: Page, other: Page) -> bool:
    """Whether most claims of two pages are the same, tested alike."""
    first, second = ({(claim.sentence, claim.rules) for claim in found.claims} for found in (one, other))
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
    for language, found in scores.items():
        own = {row: score for row, score in found.items() if row not in beside}
        best = [row for row, score in own.items() if score == max(own.values())]
        named = best[0] if len(best) == 1 else f"{len(best)} of {len(own)}"
        rows.append((language, named, *(f"{score:.1f}" for score in (max(own.values()), *map(found.get, beside)))))
    yield markdown((linked("encodings-languages-cpu", "language"), "best encoding", "its score", *beside), rows)


def atlas() -> Iterator[str]:
    """What the atlas took; a row a network: how many languages it is proven on and right on, by kind of monoid."""
    every = columns.read(RESULTS / "atlas" / columns.FILE)
    hours = sum(row["seconds"] or 0.0 for row in every) / 3600
    yield f"{len(every):,} runs took {hours:.1f} hours of a core. *Most steps* are those that a run might have."
    rows = [row for row in every if not row["is_constant"]]
    lines, kinds = [], ("", *KINDS)
    for name, network in NETWORKS.items():
        own = [row for row in rows if row["network"] == name and row["state"] == columns.DONE]
        if not own:
            continue
        proven = [row["proven"] for row in own if row["proven"] is not None]
        right = (sum(row["accuracy"] >= 99 for row in own if kind in ("", row["kind"])) for kind in kinds)
        lines.append((network.title, budgets(own), f"{sum(proven):g}" if proven else "-", *map(str, right)))
    languages = {row["language"]: row["kind"] for row in rows}.values()
    titles = (f"{kind or 'right on all'} ({sum(kind in ('', of) for of in languages)})" for kind in kinds)
    yield markdown((linked("atlas", "network"), "most steps", "proven", *titles), lines)


def nested() -> Iterator[str]:
    """Languages with brackets: what networks score, and what trees along the brackets took; random machines."""
    networks = tuple(nested_table.NETWORKS)
    yield from grid("nested-cpu", networks, mean_and_worst)
    yield trees_along_brackets("nested-cpu")
    yield from by_column("nested-random-cpu", networks)
    yield trees_along_brackets("nested-random-cpu")


def trees_along_brackets(name: str) -> str:
    """A row a language and a tree, from the lines of its runs."""
    runs: dict[tuple[str, str], list[dict[str, str]]] = {}
    for run in csv.DictReader((RESULTS / name / each_run.FILE).read_text("utf-8").splitlines()):
        if run["network"] in nested_table.NESTED:
            runs.setdefault((run["language"], nested_table.NETWORKS[run["network"]][0]), []).append(run)
    link = f"[language]({LINK}/{name}/{each_run.FILE})"
    header = (link, "network", *(title for title, _ in TESTED), "proven", "as it is", "steps", "training, s", "labels")
    return markdown((*header, "stopped at"), ((*of, *tree_along_brackets(some)) for of, some in runs.items()))


def tree_along_brackets(runs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The cells of a language and a tree: the lowest at 10,000 symbols and 1,000 deep, and ranges."""
    done = [run for run in runs if run["state"] == each_run.DONE]
    for _, key in TESTED:
        yield percent(min(found)) if (found := numbers(done, key)) else "-"
    proofs = Counter(run["proven"] for run in done)
    yield f"{proofs[each_run.PROTOTYPES] + proofs[each_run.AS_IT_IS]} of {len(done)}" if done else "-"
    yield str(proofs[each_run.AS_IT_IS]) if done else "-"
    for key in ("steps", "train_seconds", "labels"):
        found = sorted(numbers(done, key))
        yield "..".join(dict.fromkeys(f"{n:,.0f}" for n in (*found[:1], *found[-1:]))) or "-"
    yield ", ".join(f"{int(run['steps']):,}" for run in runs if run["state"] == each_run.STOPPED) or "-"


def numbers(runs: Iterable[Mapping[str, str]], key: str) -> list[float]:
    """The numbers of a column that are there."""
    return [float(run[key]) for run in runs if run[key]]


def mean_and_worst(cell: Values) -> str:
    """A mean, the lowest value at any length, and whether all runs of the cell that are done are proven."""
    if not cell["done"]:
        return "-"
    found = " / ".join(percent(cell["ours"][name]) for name in ("mean", "worst"))
    return found + " ∎" * (cell["group"]["n_proven"] == cell["done"])


def with_a_stack(cell: Values) -> str:
    """A mean and the lowest value; of proofs how many there are, of trainings the mean seconds and the steps."""
    what = cell["shows"]["what"]
    if not cell["done"] or what not in ("proven", "training"):
        return mean_and_worst(cell).removesuffix(" ∎")
    if what == "proven":
        return f"{cell['group']['n_proven']} of {cell['done']}"
    steps = "..".join(dict.fromkeys(f"{step:,}" for step in cell["steps"]))
    return f"{cell['train_seconds'] / cell['done']:.0f} s, {steps} steps"


def up_the_hierarchy() -> Iterator[str]:
    """Published tasks above the regular ones: means of tokens, and of words."""
    yield from grid("deletang-2023-cpu", HIERARCHY)
    yield from grid("flare-2025-cpu", RECOGNISERS)


def recurrent() -> Iterator[str]:
    """A row a language: of each network how many runs are proven as they are, how many with points alone, and more."""
    found = cells("chains-cpu")
    rows = dict.fromkeys(row for row, _ in found)
    lines = ((row, *(with_boxes(found[row, name]) for name in CHAINS)) for row in rows)
    yield markdown((linked("chains-cpu"), *CHAINS.values()), lines)


def with_boxes(cell: Values) -> str:
    """Of the runs of a network on a language: how many are proven, the mean if it is not 100 %, the mean seconds."""
    done, group = cell["done"], cell["group"]
    if not done:
        return "-"
    with_points, mean = group["n_proven"] - group["n_as_it_is"], cell["ours"]["mean"]
    said = [f"{group['n_as_it_is']} of {done} as it is", *([f"{with_points} with points"] if with_points else [])]
    said += [f"{percent(mean)} %"] if mean < 100 else []
    return ", ".join([*said, f"{cell['train_seconds'] / done:.0f} s"])


def random_automata() -> Iterator[str]:
    """The lead of the page, which counts them."""
    yield f"{page('random-dfas').lead[1]} {linked('random-dfas', 'Page')}."


def costs() -> Iterator[str]:
    """What certifying took."""

    def line(row: Mapping[str, str]) -> Sequence[str]:
        numbers = f"{int(row['steps']):,}", *(f"{float(row[f'{key}_seconds']):.1f}" for key in ("train", "certify"))
        what = row.get("options") or row["model"]
        return f"`{row['language']}`", f"`{what}`", *numbers, "proven" if row["proven_unquantised"] == "True" else "no"

    files = (RESULTS / "certifying" / f"{name}.csv" for name in ("certifying", "wider"))
    rows = (row for file in files for row in csv.DictReader(file.read_text("utf-8").splitlines()))
    yield markdown(
        ("language", "network or option", "steps", "training, s", "certifying, s", "as it is"), map(line, rows)
    )


def devices() -> Iterator[str]:
    """Steps a second on a CPU core and on GPUs, a row a language and a network."""
    rows = [*csv.DictReader((RESULTS / "devices" / "devices.csv").read_text("utf-8").splitlines())]
    cards = dict.fromkeys(row["card"] for row in rows)
    cases = {(row["language"], row["model"], row["gates"]): {} for row in rows}
    for row in rows:
        cases[row["language"], row["model"], row["gates"]][row["card"]] = row

    def line(case: tuple[str, ...], of: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
        language, model, gates = case
        yield f"`{language}`"
        yield f"{gates} {model}".strip()
        for card in cards:
            cpu, gpu = (of[card][f"{device}_steps_a_second"] for device in ("cpu", "cuda"))
            yield f"{gpu} / {cpu} = {float(gpu) / float(cpu):.1f}" if gpu else "-"
        yield max((of[card]["apart_float64"] for card in cards if of[card]["apart_float64"]), key=float, default="-")

    header = (f"[language]({LINK}/devices/devices.csv)", "network", *cards, "apart in float64")
    yield markdown(header, (tuple(line(*case)) for case in cases.items()))


def drifting() -> Iterator[str]:
    """Networks that drift, as they are and with their states replaced."""
    figures = ("unquantised", "unquantised_10000", "quantised", "quantised_10000")
    header = ("network", "recipe", "41..500, as it is", "10,000, as it is", "41..500, replaced", "10,000, replaced")

    def line(row: Mapping[str, str]) -> Sequence[str]:
        name = f"`{row['language']}`, {row['model']}, C = {row['chunk_size']}, {row['prototypes']} prototypes"
        return name, f"`{row['recipe']}`", *(percent(float(row[figure])) for figure in figures)

    rows = csv.DictReader((RESULTS / "quantised" / "quantised.csv").read_text("utf-8").splitlines())
    yield markdown(header, map(line, rows))


def checked() -> Iterator[str]:
    """The networks that were checked again, a row a language."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for text in (RESULTS / "checked" / "checked.jsonl").read_text("utf-8").splitlines():
        runs.setdefault((run := json.loads(text))["language"], []).append(run)

    def each(some: Sequence[dict[str, Any]], text: Callable[[dict[str, Any]], str]) -> str:
        return ", ".join(dict.fromkeys(map(text, some)))

    header = ("language", "prototypes", "smallest margins", "slack", "% at 41..500", "% at 1,000,000", "training, s")
    rows = [
        (
            language,
            each(some, lambda run: str(run["prototypes"])),
            each(some, lambda run: f"{run['smallest_margin']:.2f}"),
            each(some, lambda run: str(run["slack"] or "no")),
            each(some, lambda run: percent(run["score"])),
            each(some, lambda run: percent(run["at_1000000"])),
            each(some, lambda run: f"{run['train_seconds']:.0f}"),
        )
        for language, some in runs.items()
    ]
    yield markdown(header, rows)


def parts() -> Iterator[str]:
    """Means of the network without each part."""
    name = "ablations-cpu"
    shown = list(dict.fromkeys(column for _, column in cells(name)))
    yield from grid(name, shown, lambda cell: percent(cell["ours"]["mean"]) if cell["done"] else "-")


def nothing() -> Iterator[str]:
    """What stands in facts.toml alone."""
    return iter(())


TREES = ("gated-C2", "gated-C3", "regulargpt-C2", "regulargpt-C3")
SECTIONS: tuple[tuple[str, int, Callable[[], Iterator[str]]], ...] = (
    ("Table 6.1", 2, lambda: grid("table-6.1-cpu", ("rnn", "transformer", "robust-C2", "certified-C2"))),
    ("From answers alone", 2, lambda: by_column("answers-cpu", TREES)),
    ("With the automaton", 3, lambda: by_column("automaton-cpu", TREES[2:])),
    ("Networks that drift", 3, drifting),
    ("LDRU's languages", 3, lambda: by_column("ldru-2026-cpu", ("ldru", "gated-regulargpt", "rnn", "lstm"))),
    ("Nested words", 3, nested),
    ("Networks with a stack", 3, lambda: grid("hierarchy-cpu", STACK, with_a_stack)),
    ("Up the hierarchy", 3, up_the_hierarchy),
    ("Recurrent networks", 3, recurrent),
    ("Today's recurrent networks", 3, lambda: grid("rivals-cpu", TASKS, mean_and_seeds)),
    ("Languages never tried before", 3, lambda: by_column("further-languages-cpu", TREES[:3])),
    ("Random automata", 3, random_automata),
    ("An atlas of small languages", 3, atlas),
    ("The parts of RegularGPT", 2, parts),
    ("Certificates", 2, nothing),
    ("Checked again", 3, checked),
    ("What certifying costs", 3, costs),
    *((of, 2, nothing) for of in ("Final answers only", "Clusters", "Receptive field", "Extraction", "Shortcuts")),
    ("Texts", 2, texts),
    ("Encodings on formal languages", 2, encodings),
    ("Speed and memory", 2, nothing),
    *((heading, 3, nothing) for heading in ("Samplers and models", "Networks that carry a state", "Language models")),
    ("GPUs", 3, devices),
    ("Pages", 3, nothing),
)
"""Heading, level, and what is made from records below what facts.toml has of it."""

if __name__ == "__main__":
    OUT.write_text(results(), "utf-8")
