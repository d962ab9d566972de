"""How often is a random regular language learned from answers alone and proven, and how long does it take?

    python -m experiments.random_dfas OUT [--page-only]

Forty automata, one run each. They are a function of their number: 2 to 5 states and transitions to them uniform over
two symbols, each state accepting with probability 1/2; drawn again until the automaton is minimal, accepts some words
of one symbol or more and rejects others, and its transition monoid has at most 50 elements. Each is learned by gated
RegularGPT with the recipe `answers` and seed 0 on `THREADS` cores, in at most `STEPS` steps, from words of at most 40
symbols; the score is over words of 41 to 500.
OUT/random-dfas.csv has a row for each, in their order, failures with their reason, and OUT/page.md what follows from
it: the seconds by the number of elements; OUT/sweep has the runs. `--page-only` writes the page of the table that is
there.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from experiments.atlas.drawn import some_dfa
from experiments.page.files import write_shown
from experiments.page.record import Page, PagePicture, PageTable, Section, Values
from languages.automata import Dfa
from languages.automata.monoid import TransitionMonoid
from languages.convert.json_text import to_json
from languages.errors import UserError
from languages.randomness import rng
from regulargpt import tables
from regulargpt.certificate.verdict import verdict
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.plots import Line as Curve
from regulargpt.runs.configured import config_of
from regulargpt.runs.exits import REFUSED
from regulargpt.runs.sweep.driver import SweepWatch, sweep
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.local import LocalEngine
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.atomic import make_folder, parse_json, parse_text, read_bytes, write_text
from regulargpt.storage.folder import CERTIFICATE, RunFolder

COUNT, MOST_STATES, LARGEST, STEPS = 40, 5, 50, 6000
WANTED = 40  # seconds of training and proof together, on so many cores
THREADS = 2
MEASURED = ("proven", "score", "worst", "steps", "train_seconds", "certify_seconds")
COLUMNS = ("number", "states", "monoid", "equal", "slack", "learned_at", "certified_at", *MEASURED, "reason")
BANDS = ((2, 4), (5, 9), (10, 19), (20, 29), (30, LARGEST))  # of numbers of elements
BY_SIZE = ("monoid elements", "automata", "proven", "the language's", "proven as it is", "median, s", "longest, s")
TABLE = "random-dfas.csv"
Row = dict[str, object]


def random_dfa(number: int) -> Dfa:
    """The automaton with this number.

    >>> dfa = random_dfa(0)
    >>> dfa.n_states, TransitionMonoid.from_machine(dfa).size
    (3, 3)
    """
    for step in range(10_000):
        random = rng(number, "random dfa", step)
        Q = int(random.integers(2, MOST_STATES + 1))
        dfa = some_dfa(random, Q)
        if (
            dfa.minimise().n_states == Q
            and TransitionMonoid.from_machine(dfa).size <= LARGEST
            and has_both_answers(dfa)
        ):
            return dfa
    raise AssertionError("one in ten thousand is minimal and small")


def has_both_answers(dfa: Dfa) -> bool:
    """Whether non-empty words are accepted and rejected.

    >>> only_the_empty_word = Dfa(("q0", "q1"), ("0", "1"), ((1, 1), (1, 1)), "q0", {"q0"})
    >>> has_both_answers(only_the_empty_word), has_both_answers(random_dfa(0))
    (False, True)
    """
    words = [np.array(list(itertools.product(range(2), repeat=length))) for length in range(1, dfa.n_states + 1)]
    answers = np.concatenate([dfa.accepts(some) for some in words])
    return bool(answers.any() and not answers.all())


def config(number: int, out: Path) -> RunConfig:
    """The run on the automaton with this number, which is written into `out`."""
    make_folder(out)
    file = out / f"random-{number}.json"
    write_text(file, to_json(random_dfa(number)))
    fields = {
        "threads": THREADS,
        "training.steps": STEPS,
        "evaluation.samples": 64,
        "evaluation.stride": 27,
        "evaluation.extra_lengths": (),
    }
    return resolve("answers", "regulargpt:gates=true", f"dfa:{file}").replaced(fields)


def row(number: int, folder: SweepFolder, name: str) -> Row:
    """The row of a run that has ended."""
    dfa = random_dfa(number)
    known = {"number": number, "states": dfa.n_states, "monoid": TransitionMonoid.from_machine(dfa).size}
    if folder.state(name) == "failed":
        return {**known, "proven": False, "reason": folder.failure(name)["reason"]}
    run = RunFolder.open(folder.run_path(name))
    summary = run.load_summary()
    phase = summary["phases"]["table_fine_tuning"]
    steps = {"learned_at": phase["learned_at"], "certified_at": phase["certified_at"]}
    return {**known, **steps, **{key: summary[key] for key in MEASURED}, **proof(run)}


def proof(run: RunFolder) -> Row:
    """Whether the checker accepts a proof now, whether it is of the language, and the slack; or the reason."""
    checked = verdict(run, config_of(run).data.name)
    if not checked.is_accepted:
        return {"proven": False, "reason": checked.reason}
    unquantised = parse_json(read_bytes(run.path / CERTIFICATE), run.path / CERTIFICATE)["unquantised"]
    slack = unquantised and unquantised["slack"]
    return {"proven": True, "equal": checked.proven, "slack": slack, "reason": checked.reason}


def table(rows: list[Row]) -> str:
    """The rows as CSV.

    >>> print(table([{"number": 3, "proven": True}]).splitlines()[1])
    3,,,,,,,True,,,,,,
    """
    return tables.csv([COLUMNS, *([row.get(name) for name in COLUMNS] for row in rows)])


def read(path: Path) -> list[Row]:
    """The rows of a table, numbers as numbers."""
    reader = csv.DictReader(parse_text(read_bytes(path), path).splitlines())
    return [{name: value_of(text) for name, text in line.items() if text} for line in reader]


def value_of(text: str) -> object:
    """A cell of the table.

    >>> value_of("True"), value_of("2.5"), value_of("diverged")
    (True, 2.5, 'diverged')
    """
    try:
        return text == "True" if text in ("True", "False") else float(text)
    except ValueError:
        return text


def page_in(place: Path) -> Page:
    """The page of the folder's table; and where runs were made, if a file beside it says so."""
    known = [parse_json(read_bytes(path), path)] if (path := place / "environment.json").exists() else []
    return page(read(place / TABLE), known)


def page(rows: Sequence[Row], environments: Sequence[Values] = ()) -> Page:
    """What the rows say, by the number of elements."""
    done = [row for row in rows if "train_seconds" in row]
    proven = sum(bool(row.get("equal")) for row in rows)
    fast = sum(seconds(row) <= WANTED for row in done)
    right = sum(row.get("score") == 100 for row in done)
    bands = {edge: [r for r in done if low <= number(r, "monoid") <= edge] for low, edge in BANDS}
    lead = (
        "The method was fixed, then tried on random minimal automata of 2 to 5 states over two symbols, whose monoids "
        f"have at most {LARGEST} elements. Gated RegularGPT, C = 2, learns each from answers alone, one run each.",
        f"{proven} of {len(rows)} are proven, and {right} have 100 % at 41 to 500 symbols. Training and proof take at "
        f"most {WANTED} s in {fast} of {len(rows)}.",
    )
    table = PageTable(BY_SIZE, tuple(of_band(edge, of_it) for edge, of_it in bands.items() if of_it))
    return Page(
        experiment="random-dfas",
        scale="cpu",
        heading="Random automata, learned from answers and proven",
        lead=lead,
        sections=(Section("By the number of monoid elements", (table, picture(bands))),),
        facts={"rows": len(rows), "done": len(done), "proven": proven},
        failed=tuple({"run": str(r["number"]), "reason": str(r["reason"])} for r in rows if "train_seconds" not in r),
        command="python -m experiments.random_dfas OUT",
        train_seconds=round(sum(number(row, "train_seconds") for row in done), 1),
        environments=tuple(environments),
    )


def of_band(edge: int, rows: Sequence[Row]) -> tuple[str, ...]:
    """The automata with so many elements."""
    each, low = sorted(map(seconds, rows)), next(low for low, high in BANDS if high == edge)
    # A proof about another language's automaton is none of this language.
    counts = (sum(all(map(row.get, names)) for row in rows) for names in (["proven"], ["equal"], ["equal", "slack"]))
    return (f"{low} to {edge}", str(len(rows)), *map(str, counts), f"{median(each):.1f}", f"{each[-1]:.1f}")


def picture(bands: Mapping[int, Sequence[Row]]) -> PagePicture:
    """Seconds of training and proof by the number of elements: the median, from the fastest to the slowest."""
    places = {edge: sorted(map(seconds, rows)) for edge, rows in bands.items() if rows}
    middle, low, high = ([of(each) for each in places.values()] for of in (median, min, max))
    title = "training and proof in seconds, by the number of elements"
    line = Curve("median, fastest to slowest", list(places), middle, low, high)
    label = "training and proof, s"
    return PagePicture(title, "curves/seconds.svg", title, (line,), measure=label, axis="monoid elements", scale="even")


def seconds(row: Row) -> float:
    """Of training and proof together.

    >>> seconds({"train_seconds": 2.5, "certify_seconds": 0.5})
    3.0
    """
    return number(row, "train_seconds") + number(row, "certify_seconds")


def number(row: Row, name: str) -> float:
    """A number of a row."""
    return float(str(row[name]))


def main(arguments: list[str]) -> int:
    """All of them, in turn, and the table; stopped, the same command goes on."""
    is_page_only = arguments[1:] == ["--page-only"]
    if not arguments or (arguments[1:] and not is_page_only):
        print("error: give a folder, as in python -m experiments.random_dfas OUT", file=sys.stderr)
        return REFUSED
    out = Path(arguments[0])
    try:
        code = 0 if is_page_only else run(out)
        write_shown(out, page_in(out))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return code


def run(out: Path) -> int:
    """Bring all runs to their ends, and write the table; the exit code."""
    configs = [config(number, out) for number in range(COUNT)]
    watch = SweepWatch(on_done=lambda name, state: print(state, name, flush=True))
    outcome = sweep(out / "sweep", configs, LocalEngine(jobs=1), watch)
    folder = SweepFolder(out / "sweep")
    named = [(number, name_of(config)) for number, config in enumerate(configs)]
    rows = [row(number, folder, name) for number, name in named if name not in outcome.missing]
    write_text(out / TABLE, table(rows))
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
