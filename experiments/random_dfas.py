"""How often is a random regular language learned from answers alone and proven, and how long does it take?

    python -m experiments.random_dfas OUT

Forty automata, one run each. They are a function of their number: 2 to 5 states and transitions to them uniform over
two symbols, each state accepting with probability 1/2; drawn again until the automaton is minimal, accepts some words
of one symbol or more and rejects others, and its transition monoid has at most 50 elements. Each is learned by gated
RegularGPT with the recipe `answers` and seed 0 on `THREADS` cores, in at most `STEPS` steps, from words of at most 40
symbols; the score is over words of 41 to 500.
OUT/random-dfas.csv has a row for each, in their order, failures with their reason, and OUT/random-dfas.svg draws the
seconds by the number of elements; OUT/sweep has the runs.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.atlas.drawn import some_dfa
from languages.automata import Dfa
from languages.automata.monoid import TransitionMonoid
from languages.convert.json_text import to_json
from languages.errors import UserError
from languages.randomness import rng
from regulargpt import plots, tables
from regulargpt.certificate.verdict import verdict
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.runs.exits import REFUSED
from regulargpt.runs.sweep.driver import Watch, sweep
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.local import LocalEngine
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.atomic import make_folder, parse_json, read_bytes, write_text
from regulargpt.storage.folder import CERTIFICATE, RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT, MOST_STATES, LARGEST, STEPS = 40, 5, 50, 6000
WANTED = 40  # seconds of training and proof together, on so many cores
THREADS = 2
MEASURED = ("proven", "score", "worst", "steps", "train_seconds", "certify_seconds")
COLUMNS = ("number", "states", "monoid", "equal", "slack", "learned_at", "certified_at", *MEASURED, "reason")
Row = dict[str, object]


def random_dfa(number: int) -> Dfa:
    """The automaton with this number.

    >>> dfa = random_dfa(0)
    >>> dfa.n_states, TransitionMonoid.of(dfa).size
    (3, 3)
    """
    for step in range(10_000):
        random = rng(number, "random dfa", step)
        Q = int(random.integers(2, MOST_STATES + 1))
        dfa = some_dfa(random, Q)
        if dfa.minimise().n_states == Q and TransitionMonoid.of(dfa).size <= LARGEST and has_both_answers(dfa):
            return dfa
    raise AssertionError("one in ten thousand is minimal and small")


def has_both_answers(dfa: Dfa) -> bool:
    """Whether words of one symbol or more are accepted and rejected.

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
    known = {"number": number, "states": dfa.n_states, "monoid": TransitionMonoid.of(dfa).size}
    if folder.state(name) == "failed":
        return {**known, "proven": False, "reason": folder.failure(name)["reason"]}
    run = RunFolder.open(folder.run_path(name))
    summary = run.load_summary()
    phase = summary["phases"]["table_fine_tuning"]
    steps = {"learned_at": phase["learned_at"], "certified_at": phase["certified_at"]}
    return {**known, **steps, **{key: summary[key] for key in MEASURED}, **proof(run)}


def proof(run: RunFolder) -> Row:
    """Whether the checker accepts a proof now, whether it is of the language, and the slack; or the reason."""
    found = verdict(run, RunConfig.parse(run.config_text).data.name)
    if not found.is_accepted:
        return {"proven": False, "reason": found.reason}
    unquantised = parse_json(read_bytes(run.path / CERTIFICATE), run.path / CERTIFICATE)["unquantised"]
    slack = unquantised and unquantised["slack"]
    return {"proven": True, "equal": found.proven, "slack": slack, "reason": found.reason}


def table(rows: list[Row]) -> str:
    """The rows as CSV.

    >>> print(table([{"number": 3, "proven": True}]).splitlines()[1])
    3,,,,,,,True,,,,,,
    """
    return tables.csv([COLUMNS, *([row.get(name) for name in COLUMNS] for row in rows)])


def picture(rows: Iterable[Row]) -> Figure:
    """Seconds of training and proof by the number of elements, a dot each automaton, by what was proven of it."""
    figure = plots.new_figure(8, 4)
    axes = figure.add_subplot()
    dots: dict[str, list[tuple[float, float]]] = {
        "proven as it is": [],
        "proven, states replaced": [],
        "not proven": [],
    }
    for row in rows:
        as_it_is = "proven as it is" if row.get("slack") else "proven, states replaced"
        # A proof about another language's automaton is none of this language.
        kind = as_it_is if row["proven"] and row.get("equal") else "not proven"
        if "train_seconds" in row:
            dots[kind].append((float(str(row["monoid"])), seconds(row)))
    for (kind, places), colour in zip(dots.items(), plots.COLOURS, strict=False):
        if places:
            axes.scatter(*zip(*places, strict=True), color=colour, s=24, label=f"{kind} ({len(places)})")
    axes.axhline(WANTED, color=plots.GREY, linestyle="--", linewidth=1, label=f"{WANTED} s")
    axes.set(xlabel="elements of the transition monoid", ylabel="training and proof, s", ylim=(0, None))
    axes.legend(loc="upper left", frameon=False)
    return figure


def seconds(row: Row) -> float:
    """Of training and proof together.

    >>> seconds({"train_seconds": 2.5, "certify_seconds": 0.5})
    3.0
    """
    return float(str(row["train_seconds"])) + float(str(row["certify_seconds"]))


def main(arguments: list[str]) -> int:
    """All of them, one after the other, and the table; stopped, the same command goes on."""
    if len(arguments) != 1:
        print("error: give a folder, as in python -m experiments.random_dfas OUT", file=sys.stderr)
        return REFUSED
    out = Path(arguments[0])
    try:
        configs = [config(number, out) for number in range(COUNT)]
        watch = Watch(on_done=lambda name, state: print(state, name, flush=True))
        outcome = sweep(out / "sweep", configs, LocalEngine(jobs=1), watch)
        folder = SweepFolder(out / "sweep")
        named = [(number, name_of(config)) for number, config in enumerate(configs)]
        rows = [row(number, folder, name) for number, name in named if name not in outcome.missing]
        write_text(out / "random-dfas.csv", table(rows))
        plots.save(out / "random-dfas.svg", picture(rows))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
