"""`python -m experiments.atlas OUT`: train every network on every language of the atlas, and write the page.

    python -m experiments.atlas OUT [--only-model NAME,...] [--first N] [--jobs N] [--retry] [--page-only]

OUT/languages has the automata, OUT/sweep the runs, OUT/atlas.csv a row of each language and network, OUT/languages.csv
one of each language, OUT/page.md what follows from them. Stopped, the same command goes on; a further one with other
networks or languages adds its runs. What failed is a row with its reason. Finished rows of an OUT/atlas.csv whose runs
are elsewhere are kept, and not run again.
`--page-only` writes the page of the OUT/atlas.csv that is there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.atlas import columns
from experiments.atlas.entries import entries, write_files
from experiments.atlas.networks import NETWORKS
from experiments.atlas.page import write_page
from experiments.atlas.plan import Planned, chosen, core_hours, plan
from experiments.atlas.rows import rows
from experiments.experiment import Fields
from languages.errors import UserError
from regulargpt.runs.exits import REFUSED
from regulargpt.runs.sweep.driver import SweepOutcome, SweepWatch, sweep
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.local import LocalEngine
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.atomic import disk

SWEEP = "sweep"
Key = tuple[str, str]  # the names of a language and a network


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; SystemExit with code 2 for a wrong command.

    >>> options(["out", "--first", "3"]).first
    3
    """
    about = "Train networks on small regular languages, and say what of their algebra predicts success."
    parser = argparse.ArgumentParser(prog="python -m experiments.atlas", description=about)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of languages, runs, table and page")
    parser.add_argument("--only-model", metavar="NAME,...", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--first", type=positive, metavar="N", help="only the first N languages")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="runs at once (1)")
    parser.add_argument("--retry", action="store_true", help="run those that failed again")
    parser.add_argument("--page-only", action="store_true", help="write the page of OUT/atlas.csv, and run nothing")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    """A whole number from 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def run(given: argparse.Namespace, changes: Fields | None = None) -> SweepOutcome:
    """Bring the chosen runs to their ends, then write the table and the page of all that has ended.

    `changes` are options set over those of every network. Raises UserError before anything is trained.
    """
    networks, chosen_entries = chosen(given.only_model), entries()[: given.first]
    hours = core_hours(len(chosen_entries), networks)
    about = "" if hours is None else f", about {hours:.1f} core-hours"
    print(f"{len(chosen_entries) * len(networks)} runs{about}", flush=True)
    write_files(chosen_entries, given.out)
    planned, kept = plan(chosen_entries, networks, given.out, changes), finished_elsewhere(given.out, changes)
    configs = [run.config for run in planned if not run.refusal and key_of(run) not in kept]
    watch = SweepWatch(on_done=lambda name, state: print(state, name, flush=True))
    outcome = sweep(given.out / SWEEP, configs, LocalEngine(jobs=given.jobs), watch, given.retry)
    write_table(given.out, changes, kept)
    write_page(given.out)
    return outcome


def write_table(out: Path, changes: Fields | None, kept: Mapping[Key, columns.Row]) -> None:
    """A row of each run that has ended, also of those that earlier commands were about, and the rows that are kept."""
    lines = {**kept, **by_key(rows(planned_there(out, changes), SweepFolder(out / SWEEP)))}
    order = ((entry.name, name) for entry in entries() for name in NETWORKS)
    columns.write(out / columns.FILE, (lines[key] for key in order if key in lines))


def planned_there(out: Path, changes: Fields | None) -> Iterator[Planned]:
    """Every network on every language whose file is there."""
    there = [entry for entry in entries() if disk.exists(entry.path(out))]
    return plan(there, list(NETWORKS.values()), out, changes)


def key_of(planned: Planned) -> Key:
    """The names of the language and the network."""
    return planned.entry.name, planned.network.name


def by_key(table: Iterable[columns.Row]) -> dict[Key, columns.Row]:
    """Rows of the table by language and network."""
    return {(str(row["language"]), str(row["network"])): row for row in table}


def finished_elsewhere(out: Path, changes: Fields | None = None) -> dict[Key, columns.Row]:
    """The finished rows of the table that is there, but for those whose runs the sweep has."""
    if not disk.exists(out / columns.FILE):
        return {}
    earlier = by_key(columns.lines(out / columns.FILE))
    folder = SweepFolder(out / SWEEP)
    here = {key_of(run) for run in planned_there(out, changes) if folder.state(name_of(run.config)) != "missing"}
    return {key: line for key, line in earlier.items() if line["state"] == columns.DONE and key not in here}


def main(arguments: Sequence[str], changes: Fields | None = None) -> int:
    """The command."""
    given = options(arguments)
    try:
        if given.page_only:
            write_page(given.out)
            return 0
        outcome = run(given, changes)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
