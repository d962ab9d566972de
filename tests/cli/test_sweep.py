"""`regulargpt sweep` as it is typed: the list, the lines, the table, exit codes; real processes, killed and gone on."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regulargpt.cli.configure import configure
from regulargpt.cli.flags import flags
from regulargpt.config.schema import RunConfig, flat
from regulargpt.options import shown
from regulargpt.runs import run as running
from regulargpt.runs.sweep import driver
from regulargpt.runs.sweep.driver import SweepOutcome
from regulargpt.runs.sweep.grid import Grid
from regulargpt.runs.sweep.names import name_of
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.sweep.forked import finished_runs, forking, is_gone, results, wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

SMALL = [
    *("--d-model", "8", "--steps", "4", "--train-len", "6", "--test-len", "8", "--samples", "16"),
    *("--batch-size", "8", "--device", "cpu", "--extra-lengths", "", "--jobs", "2"),
]


def config(language: str, model: str, seed: int, **changes: object) -> RunConfig:
    options = {
        **{"model.d_model": 8, "training.steps": 4, "data.train_len": 6, "evaluation.test_len": 8, "seed": seed},
        **{"evaluation.samples": 16, "training.batch_size": 8, "device": "cpu", "evaluation.extra_lengths": ()},
    }
    return configure(language, model, None, None, {}).replaced(options | changes)


@pytest.mark.parametrize("model", ["regulargpt", "ldru", "gru"])
def test_certify_means_the_same_as_in_run(model: str):
    """The automaton is the language's own."""
    (swept,) = Grid(("parity",), (model,), certify=True).configs
    assert swept == configure("parity", model, None, None, {}, certify=True)
    assert [getattr(phase, "automaton", "") for phase in swept.phases] == ["known"]


def test_the_list_the_lines_and_the_table(cli: Cli, tmp_path: Path, monkeypatch):
    forking(monkeypatch)
    arguments = ["sweep", "parity", "parity:p_one=0.1", "--model", "gru,lstm", "--seed", "0-1", *SMALL]
    configs = [
        config(language, model, seed)
        for language in ("parity", "parity:p_one=0.1")
        for model in ("gru", "lstm")
        for seed in (0, 1)
    ]
    names = [name_of(one) for one in configs]
    folder = "sweeps/parity+parity-p_one=0.1-gru+lstm"

    def listing(state: str) -> list[str]:
        counts = {"done": 0, "missing": 0, "failed": 0, state: len(names)}
        numbers = ", ".join(f"{number} {state}" for state, number in counts.items())
        return ["run state what differs", *(f"{name} {state}" for name in names), f"8 runs in {folder}: {numbers}"]

    def squeezed(text: str) -> list[str]:
        return [" ".join(line.split()) for line in text.splitlines()]

    code, out, err = cli(*arguments, "--dry-run")
    assert (code, squeezed(out), err) == (0, listing("missing"), "")
    found = json.loads(cli(*arguments, "--dry-run", "--json").out)
    assert (found["sweep"], found["done"], found["missing"], found["failed"]) == (folder, 0, 8, 0)
    assert [run["name"] for run in found["runs"]] == names
    assert found["runs"][-1]["differs"] == {"data.name": "parity:p_one=0.1", "model.name": "lstm", "seed": 1}
    assert list(tmp_path.iterdir()) == []

    code, out, err = cli(*arguments)
    assert code == 0
    assert squeezed(err)[:10] == listing("missing")
    ended = err.splitlines()[10:]
    assert [line.partition(" ")[0] for line in ended] == [f"[{k}/8]" for k in range(1, 9)]
    assert sorted(line.split()[1].rstrip(":") for line in ended) == sorted(names)
    assert all(line.endswith(" s") and " % in " in line for line in ended)
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["run", *names, "‡:"]
    assert all(line.endswith(" ‡") for line in lines[1 : len(names) + 1])
    assert re.fullmatch(r"‡: was also given [\d, to]+ answers beside the batches \(chain_fine_tuning\)\.", lines[-2])
    assert lines[-1] == f"8 runs in {folder}: 8 done, 0 missing, 0 failed; `regulargpt results {folder}` has the tables"

    assert cli(*arguments, "--dry-run").out.splitlines()[-1] == listing("done")[-1]
    code, out, err = cli(*arguments, "--json")
    assert (code, squeezed(err), out.count("\n")) == (0, listing("done"), 1)
    found = json.loads(out)
    assert set(found) == {"sweep", "score", "measure", "given", "done", "missing", "failed", "failures", "results"}
    assert {of["kind"] for of in found["given"].values()} == {"answers"}
    assert (found["done"], found["failures"], found["results"]) == (8, [], f"{folder}/results.csv")
    assert list(found["score"]) == names
    summary = json.loads(Path(folder, "runs", names[3], "summary.json").read_text())
    assert found["score"][names[3]] == summary["score"]


def test_models_are_compared_under_the_same_conditions_and_what_differs_is_marked(cli: Cli, monkeypatch):
    forking(monkeypatch)
    small = ("--steps", "2", "--d-model", "8", "--train-len", "6", "--test-len", "8", "--samples", "8", "--jobs", "1")
    small = (*small, "--extra-lengths", "", "--out", "here")
    both = cli("sweep", "dyck-2", "--model", "lstm,regulargpt", *small)
    assert [line.split()[1] for line in both.out.splitlines()[1:3]] == ["accuracy", "accuracy"]
    one = ("sweep", "dyck-2", "--model", "lstm,regulargpt", "--supervision", "last,prefixes", *small)
    marked = cli(*one).out.splitlines()
    assert marked[0].split() == ["run", "score", "conditions"]
    # The answers to words of their own choice are given to both with `last`, and to the LSTM with `prefixes` too.
    assert {line.split()[-1] for line in marked[1:5]} == {"a", "b", "c"}
    conditions = [line.partition(",")[0] for line in marked if line.startswith("[")]
    assert conditions == ["[a]: supervision last", "[b]: supervision prefixes", "[c]: supervision prefixes"]
    assert [line.rpartition(" ")[2] for line in marked if line.startswith("[")] == ["answers", "answers", "nothing"]
    pivot = cli("results", "here", "--pivot", "language,model,supervision").out
    assert all(f"[{letter}]" in pivot for letter in "abc")
    assert "*" not in pivot


def test_a_failed_run_ends_the_sweep_with_1_and_retry_runs_it_again(cli: Cli, monkeypatch):
    def prepare(worker: int) -> None:
        run = running.run

        def failing(found: RunConfig, *rest):
            if found.seed == 1:
                raise ZeroDivisionError("by nought")
            return run(found, *rest)

        running.run = failing

    arguments = ["sweep", "parity", "--model", "gru", "--seed", "0-2", *SMALL, "--out", "here"]
    bad = name_of(config("parity", "gru", 1))
    with pytest.MonkeyPatch.context() as patch:
        forking(patch, prepare)
        code, out, err = cli(*arguments, "--json")
    assert code == 1
    found = json.loads(out)
    assert (found["done"], found["failed"]) == (2, 1)
    assert found["failures"] == [{"run": bad, "reason": "ZeroDivisionError: by nought", "kind": "crashed"}]
    assert f"{bad}: failed: ZeroDivisionError: by nought\n" in err
    forking(monkeypatch)
    code, out, err = cli(*arguments)
    assert code == 1
    assert out.splitlines()[1].split(maxsplit=1) == [bad, "failed: ZeroDivisionError: by nought"]
    assert out.splitlines()[-1].startswith("3 runs in here: 2 done, 0 missing, 1 failed; ")
    code, out, err = cli(*arguments, "--retry")
    assert (code, err.splitlines()[-1].startswith(f"[1/1] {bad}: ")) == (0, True)


def test_a_stopped_sweep_ends_with_75(cli: Cli, monkeypatch):
    monkeypatch.setattr(driver, "sweep", lambda *arguments: SweepOutcome(("a",), (), ("b", "c"), "SIGINT"))
    code, out, err = cli("sweep", "parity", *SMALL, "--out", "here")
    assert code == 75
    assert out.splitlines()[-1] == "3 runs in here: 1 done, 2 missing, 0 failed"
    assert err.splitlines()[-1] == "stopped by SIGINT; the same command goes on from there"


def test_long_lists_are_cut_while_running_and_whole_when_asked_for(cli: Cli, monkeypatch):
    monkeypatch.setattr("regulargpt.runs.sweep.local.LocalEngine.execute", lambda *arguments: None)
    arguments = ["sweep", "parity", "--model", "gru", "--seed", "0-99", *SMALL, "--out", "here"]
    assert len(cli(*arguments, "--dry-run").out.splitlines()) == 102
    err = cli(*arguments).err.splitlines()
    assert len(err) == 44
    assert err[41] == "and 60 more; --dry-run lists all"


@pytest.mark.parametrize("flag", flags())
def test_every_flag_takes_several_values(flag: str):
    key = flags()[flag][0]
    texts = {"model.encoding": "alibi,rotary", "objective": "prefixes,next", "device": "cpu,cuda"}
    texts |= {"training.lr": "0.5,0.25", "data.near_misses": "0.1,0.2", "model.d_model": "16,32"}
    texts |= {"evaluation.attention": "bca,sliding:7", "model.gates": "true,false"}
    written = ["7", "8"] if key == "evaluation.extra_lengths" else [texts.get(key, "7,8")]
    model = "regulargpt" if key in ("model.chunk_size", "model.gates") else "transformer:causal=true"
    grid = Grid(("tomita-3",), (model,), values={key: written})
    name = f"{key}.name" if key in ("model.encoding", "objective") else key
    values = [flat(config)[name] for config in grid.configs]
    wanted = [(int(text),) for text in written] if len(written) > 1 else texts.get(key, "7,8").split(",")
    assert [shown(value) for value in values] == [shown(value) for value in wanted]
    assert [row[name] for row in grid.differences()] == values


LONGER = ["400" if word == "4" else word for word in SMALL]
COMMAND = [sys.executable, "-m", "regulargpt", "sweep", "parity", "--model", "gru", "--seed", "0-2", *LONGER]
COMMAND += ["--set", "training.checkpoint_every=10", "--set", "training.solved_loss=0"]


def at_work(folder: Path) -> dict[str, int]:
    """The processes in the run folders, by their locks."""
    found = {}
    for path in folder.glob("runs/*/.lock"):
        try:
            found[path.parent.name] = json.loads(path.read_text())["pid"]
        except (OSError, ValueError):
            continue
    return {name: pid for name, pid in found.items() if not is_gone(pid)}


def has_saved(folder: Path) -> bool:
    return any(folder.glob("runs/*/checkpoints/*0/manifest.json"))


@pytest.mark.slow
def test_real_processes_killed_stopped_and_gone_on(cli: Cli, tmp_path: Path, monkeypatch):
    """Two drivers, a killed driver whose workers end too, a killed worker, Ctrl-C; and the results are the same."""
    folder = tmp_path / "sweep"
    arguments = [*COMMAND, "--out", str(folder)]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    first = start()
    wait_for(lambda: has_saved(folder) and bool(at_work(folder)))
    assert_refused(cli(*arguments[3:]), f"{folder} is in use by process {first.pid} on ")
    orphans = at_work(folder)
    first.kill()
    assert first.wait() == -signal.SIGKILL
    first.communicate()
    wait_for(lambda: all(map(is_gone, orphans.values())))

    done = finished_runs(folder)
    third = start()
    wait_for(lambda: bool(at_work(folder)))
    victim = min(at_work(folder).values())
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: is_gone(victim) and bool(at_work(folder)))
    third.send_signal(signal.SIGINT)
    out, err = third.communicate()
    assert third.returncode == 75, err
    assert err.endswith("stopped by SIGINT; the same command goes on from there\n")
    assert at_work(folder) == {}
    assert "0 failed" in out.splitlines()[-1]

    last = subprocess.run([*arguments, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(last.stdout)["done"] == 3
    assert finished_runs(folder).items() >= done.items()
    forking(monkeypatch)
    assert json.loads(cli(*COMMAND[3:], "--out", tmp_path / "whole", "--json").out)["done"] == 3
    assert results(folder) == results(tmp_path / "whole")
