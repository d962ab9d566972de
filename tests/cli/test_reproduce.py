"""`regulargpt reproduce`: what it prints, exit codes, and a whole small reproduction."""

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from experiments import recorded, shortcuts
from experiments.registry import experiment
from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.storage.atomic import disk
from regulargpt.storage.signals import StopRequested
from tests.cli.conftest import Cli
from tests.experiments.folders import Result, fill, filled
from tests.regulargpt.sweep.forked import forking

SMOKE = ("reproduce", "table-6.1", "--scale", "smoke", "--only", "parity", "--out", "r")
PAGE = ("reproduce", "table-6.1", "--scale", "smoke", "--out", "r", "--page-only")


def test_dry_run_writes_nothing(cli: Cli):
    answer = cli(*SMOKE, "--dry-run")
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == "6 runs in r: 0 done, 6 missing, 0 failed"
    data = json.loads(cli(*SMOKE, "--dry-run", "--json").out)
    assert (len(data["runs"]), data["missing"], data["done"], data["failed"]) == (6, 6, 0, 0)
    assert list(Path().iterdir()) == []


class ByHand:
    """An engine that makes runs up, and is stopped after so many."""

    def __init__(self, result: Callable[..., Result], stop_after: int = 1000):
        self.result, self.stop_after = result, stop_after

    def check(self) -> None:
        """Nothing is needed."""

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        """See `regulargpt.runs.sweep.engine.Engine`."""
        for number, name in enumerate(names):
            if number == self.stop_after:
                signal.raise_signal(signal.SIGTERM)
                return
            fill(folder, [name], self.result)
            on_done(name, folder.state(name))


@pytest.fixture
def by_hand(monkeypatch) -> Callable[..., None]:
    """Runs come from this engine; no rules are fitted and nothing waits for the disk."""
    monkeypatch.setattr(disk, "sync", lambda handle: None)
    monkeypatch.setattr(disk, "sync_folder", lambda path: None)
    monkeypatch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: None)

    def use(*arguments, **more) -> None:
        engine = ByHand(*arguments, **more)
        monkeypatch.setattr("regulargpt.cli.commands.reproduce.choose_engine", lambda options: lambda configs: engine)

    return use


def test_all_there(cli: Cli, by_hand):
    by_hand(lambda config: 99.0)
    answer = cli(*SMOKE)
    assert answer.code == 0, answer.err
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert lines[0] == "row column published ours difference done"
    assert any(line.startswith("parity RegularGPT, C = 3 100.0 / 88.7 99.00 / 99.00 −1.0 / +10.3") for line in lines)
    assert lines[-1] == "r/table-6.1-smoke/page.md"
    assert answer.err.splitlines()[0] == "6 runs in r: 0 done, 6 missing, 0 failed"
    assert Path("r/results.csv").exists()
    again = cli(*SMOKE, "--json")
    assert (again.code, again.err) == (0, "6 runs in r: 6 done, 0 missing, 0 failed\n")
    found = json.loads(again.out)
    assert (found["experiment"], found["scale"], found["missing"], found["failed"]) == ("table-6.1", "smoke", [], [])


def test_a_failed_run_is_told_and_tried_again_only_on_demand(cli: Cli, by_hand):
    by_hand(lambda config: "the loss is no longer a number" if config.model.name == "rnn" else 99.0)
    answer = cli(*SMOKE)
    assert answer.code == 1
    assert "failed: parity-rnn-paper-seed0" in answer.out
    assert "the loss is no longer a number" in Path("r/table-6.1-smoke/page.md").read_text()
    by_hand(lambda config: 99.0)
    assert cli(*SMOKE).code == 1
    assert cli(*SMOKE, "--page-only").code == 2
    assert cli(*PAGE).code == 1
    assert cli(*SMOKE, "--retry").code == 0
    assert cli(*PAGE).code == 0


def test_stopped_writes_the_page_and_goes_on(cli: Cli, by_hand):
    by_hand(lambda config: 99.0, stop_after=3)
    answer = cli(*SMOKE)
    assert answer.code == 75
    assert answer.err.splitlines()[-1] == "stopped by SIGTERM; the same command goes on from there"
    assert "3 of 6 runs are done, 3 missing." in Path("r/table-6.1-smoke/page.md").read_text()
    assert cli(*PAGE).code == 75
    by_hand(lambda config: 99.0)
    answer = cli(*SMOKE)
    assert answer.code == 0
    assert answer.err.splitlines()[0] == "6 runs in r: 3 done, 3 missing, 0 failed"


def test_more_rows_join_those_that_are_there(cli: Cli, by_hand):
    by_hand(lambda config: 99.0)
    assert cli(*SMOKE).code == 0
    assert cli("reproduce", "table-6.1", "--scale", "smoke", "--only", "dyck-2", "--out", "r").code == 0
    runs = recorded.read(Path("r/table-6.1-smoke/runs.csv"))
    assert list(dict.fromkeys(run.rows for run in runs)) == [("parity",), ("dyck-2",)]


def test_the_default_folder_is_the_scale_s(cli: Cli, by_hand):
    by_hand(lambda config: 99.0)
    assert cli("reproduce", "table-6.1", "--scale", "smoke", "--only", "parity").code == 0
    assert Path("reproduced/smoke/table-6.1-smoke/page.md").exists()


def test_another_driver_is_refused(cli: Cli, by_hand):
    by_hand(lambda config: 99.0)
    folder = filled(Path("r"), experiment("table-6.1"), rows=["parity"], result=lambda config: None)
    with folder.locked():
        answer = cli(*SMOKE)
    assert answer.code == 2
    assert not Path("r/table-6.1-smoke").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_small_reproduction_from_its_runs_to_its_page(cli: Cli, monkeypatch):
    forking(monkeypatch)
    arguments = ("reproduce", "table-6.1", "--scale", "smoke", "--only", "parity,dyck-2", "--out", "r", "--jobs", "2")
    answer = cli(*arguments, "--json")
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    cells = [cell for cell in data["cells"] if cell["shows"]["what"] == "accuracy"]
    assert len(cells) == 16
    assert all(cell["done"] == cell["runs"] == 1 and 0 <= cell["ours"]["mean"] <= 100 for cell in cells)
    assert all(50 <= max(cell["shortcuts"]["scores"].values()) <= 100 for cell in cells if cell["row"] == "dyck-2")
    page = Path(data["page"]).read_text("utf-8")
    assert "Rules without an automaton" in page
    assert cli(*arguments).err.splitlines()[0] == "12 runs in r: 12 done, 0 missing, 0 failed"


def test_runs_of_an_earlier_page_are_not_run_again(cli: Cli, by_hand):
    by_hand(lambda config: 99.0)
    assert cli(*SMOKE).code == 0
    both = ("reproduce", "table-6.1", "--scale", "smoke", "--only", "parity,even-pairs", "--out", "s")
    assert cli(*both, "--dry-run").out.splitlines()[-1] == "12 runs in s: 0 done, 12 missing, 0 failed"
    earlier = ("--earlier", "r/table-6.1-smoke")
    lines = cli(*both, *earlier, "--dry-run").out.splitlines()
    assert lines[-1] == "6 runs in s: 0 done, 6 missing, 0 failed"
    assert not any(line.startswith("parity") for line in lines)
    assert list(Path().iterdir()) == [Path("r")]
    page = json.loads(cli(*both, *earlier, "--json").out)
    assert page["missing"] == []
    assert {cell["row"] for cell in page["cells"]} == {"parity", "even-pairs"}
    assert {path.name.split("-words")[0].split("-")[0] for path in Path("s/runs").iterdir()} == {"even"}
    again = json.loads(cli(*PAGE[:4], "--out", "s", "--page-only", *earlier, "--json").out)
    assert (again["missing"], again["cells"]) == ([], page["cells"])
