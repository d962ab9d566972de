"""A run's folder from its making to DONE, and everything that can be asked of it wrongly."""

import contextlib
import functools
import getpass
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt.storage import IntegrityError, RunFolder, StorageError, checkpoint, environment, lock, manifest, tensors
from regulargpt.storage.folder import FINAL
from tests import quick
from tests.regulargpt.sweep.forked import Forked

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

CONFIG = 'language = "parity"\n'


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", CONFIG, {"python": "3.11"})


SAMPLES = {"1000": 64, "41": 512}
ACCURACY = {"1000": 99.8046875, "41": 100.0}
MEASURED = {"accuracy": {"values": ACCURACY, "intervals": {"41": [99.25, 100.0], "1000": [98.9, 99.97]}}}
CSV = "length,samples,accuracy,accuracy_low,accuracy_high\n41,512,100.0,99.25,100.0\n1000,64,99.8046875,98.9,99.97\n"


def snapshot(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def finish(run):
    run.append_metrics([{"step": 1, "loss": 0.5}])
    run.write_weights({"w": torch.arange(4.0)}, {"d_model": 4})
    run.write_measures(SAMPLES, MEASURED)
    run.write_summary({"score": 99.9})
    run.finish()


def test_from_start_to_done(run):
    assert not run.is_done
    finish(run)
    assert run.is_done
    again = RunFolder.open(run.path)
    assert again.config_text == CONFIG
    assert again.load_weights()["w"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert again.load_model_config() == {"d_model": 4}
    assert again.load_summary() == {"score": 99.9}
    assert (run.path / "measures.csv").read_text() == CSV
    assert sorted(path.name for path in run.path.iterdir()) == sorted([*FINAL, "manifest.json", "DONE"])
    assert set(manifest.verify(run.path)) == set(FINAL)


def test_finish_refuses_while_something_is_missing(run):
    with pytest.raises(UserError, match=r"finished without measures.csv, model.safetensors, config.json, summary"):
        run.finish()
    assert not run.is_done
    assert not (run.path / "manifest.json").exists()


@pytest.mark.parametrize("name", FINAL)
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_damage_to_a_finished_run_names_file_and_both_digests(run, name, damage):
    finish(run)
    path = run.path / name
    data = path.read_bytes()
    expected = manifest.digest(data)
    if damage == "remove":
        path.unlink()
        found = "no file"
    else:
        changed = data[:-1] if damage == "truncate" else bytes([data[0] ^ 1]) + data[1:]
        path.write_bytes(changed)
        found = manifest.digest(changed)
    message = f"^{re.escape(str(path))} is damaged: SHA-256 expected {expected}, found {found}; restore it from a copy$"
    with pytest.raises(IntegrityError, match=message):
        manifest.verify(run.path)
    readers = {
        "model.safetensors": run.load_weights,
        "config.json": run.load_model_config,
        "summary.json": run.load_summary,
        "config.toml": lambda: run.config_text,
    }
    if name in readers:
        with pytest.raises(IntegrityError, match=message):
            readers[name]()


def test_a_run_or_a_folder_with_anything_in_it_is_refused_and_untouched(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for path in (run.path, tmp_path / "mine"):
        before = snapshot(path)
        exists = rf"^run folder {path} exists; choose another --out or `regulargpt resume {path}`$"
        with pytest.raises(UserError, match=exists):
            RunFolder.create(path, "x = 1\n", {})
        assert snapshot(path) == before


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(UserError, match=r"run is a file; choose another --out$"):
        RunFolder.create(tmp_path / "run", CONFIG, {})
    with pytest.raises(StorageError, match=r"run: a file is in the way; choose another path$"):
        RunFolder.create(tmp_path / "run" / "a", CONFIG, {})


def test_an_empty_folder_and_what_an_interrupted_create_left_are_used(tmp_path):
    assert RunFolder.create(tmp_path, CONFIG, {}).config_text == CONFIG
    (tmp_path / "config.toml").rename(tmp_path / ".config.toml.1.tmp")
    assert RunFolder.create(tmp_path, CONFIG, {}).config_text == CONFIG


def test_open_says_what_is_missing(run):
    with pytest.raises(UserError, match=r"run folder .*/rum does not exist; did you mean 'run'\?$"):
        RunFolder.open(run.path.with_name("rum"))
    with pytest.raises(UserError, match=r"does not exist; give a folder that `regulargpt run` made$"):
        RunFolder.open("/nowhere/at/all")
    (run.path / "config.toml").unlink()
    with pytest.raises(UserError, match=r"is not a run folder: config.toml missing; give a folder that `regulargpt"):
        RunFolder.open(run.path)
    (run.path / "environment.json").unlink()
    with pytest.raises(UserError, match=r"is not a run folder: config.toml and environment.json missing; "):
        RunFolder.open(str(run.path))


@pytest.mark.parametrize(("known", "number"), [({}, "unknown"), ({"format": 1}, "1"), ({"format": 3}, "3")])
def test_a_run_of_another_format_is_refused_in_one_line(run, known, number):
    environment = run.path / "environment.json"
    assert json.loads(environment.read_text()) == {"format": 2, "python": "3.11"}
    environment.write_text(json.dumps(known))
    line = rf"^{run.path} has format {number}, this program needs 2; make it anew, or use the version that wrote it$"
    with pytest.raises(UserError, match=line):
        RunFolder.open(run.path)


def test_weights_of_an_unfinished_run_are_refused(run):
    run.write_weights({"w": torch.ones(1)}, {})
    with pytest.raises(UserError, match=rf"is not finished; `regulargpt resume {run.path}` first$"):
        run.load_weights()


def test_locking_sweeps_up_what_interrupted_writes_left(run):
    (run.path / ".model.safetensors.99.tmp").write_text("half")
    with run.locked():
        assert not (run.path / ".model.safetensors.99.tmp").exists()
        assert (run.path / "config.toml").exists()


def test_metrics_without_duplicates_or_holes(run):
    rows = [{"step": step, "loss": 1 / step} for step in range(1, 9)]
    run.append_metrics(rows[:4])
    offset = run.metrics_offset()
    run.append_metrics(rows[4:6])
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 7, "lo')
    run.truncate_metrics(offset)
    run.append_metrics(rows[4:])
    assert [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()] == rows


def test_lost_metrics_are_an_error_not_a_hole_and_are_not_made_anew(run):
    run.append_metrics([{"step": 1}])
    path = run.path / "metrics.jsonl"
    with pytest.raises(IntegrityError, match=r"metrics.jsonl has 12 bytes, but the checkpoint was saved after 13; "):
        run.truncate_metrics(13)
    assert path.read_bytes() == b'{"step": 1}\n'
    path.unlink()
    with pytest.raises(IntegrityError, match="has 0 bytes, but the checkpoint was saved after 12"):
        run.truncate_metrics(12)
    assert not path.exists()


def test_numbers_of_numpy_and_torch_and_those_that_json_lacks(run):
    run.append_metrics([{"a": np.float64(0.1), "b": torch.tensor(2), "c": float("nan"), "d": -float("inf"), "e": None}])
    assert (run.path / "metrics.jsonl").read_text() == '{"a": 0.1, "b": 2, "c": "nan", "d": "-inf", "e": null}\n'


def test_checkpoint_takes_the_metrics_back_with_it(run):
    run.append_metrics([{"step": 0}])
    assert run.load_checkpoint() is None
    assert (run.path / "metrics.jsonl").read_bytes() == b""
    for step in (1, 2, 3):
        run.append_metrics([{"step": step}])
        run.save_checkpoint(step, {"w": torch.tensor(float(step))}, {"seen": step})
    run.append_metrics([{"step": 4}])
    damaged = run.path / "checkpoints" / "000000003" / "state.pt"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    found = run.load_checkpoint()
    assert found is not None
    assert (found.step, found.state, float(found.weights["w"])) == (2, {"seen": 2}, 2.0)
    assert len(found.skipped) == 1
    assert (run.path / "metrics.jsonl").read_text() == '{"step": 1}\n{"step": 2}\n'


def test_a_changed_config_is_not_resumed(run):
    run.save_checkpoint(1, {"w": torch.ones(1)}, {})
    (run.path / "config.toml").write_text(CONFIG.replace("p", "q"))
    with pytest.raises(IntegrityError, match=r"config.toml is damaged: SHA-256 expected"):
        run.load_checkpoint()


def test_a_checkpoint_that_no_run_saved_is_refused(run):
    checkpoint.save(run.path, 1, {"w": torch.ones(1)}, {"x": 1})
    with pytest.raises(UserError, match=r"was not saved by a run; remove that folder to start again$"):
        run.load_checkpoint()


TEXT = st.text(max_size=5)
ROWS = st.lists(st.dictionaries(TEXT, st.integers() | st.floats() | TEXT | st.none(), max_size=3), max_size=4)
BY_LENGTH = st.dictionaries(st.integers(0, 10**6).map(str), st.floats(0, 100), max_size=4)
WEIGHTS = st.dictionaries(TEXT, st.lists(st.floats(width=32)).map(torch.tensor), max_size=4)


@settings(max_examples=12)
@given(rows=ROWS, accuracy=BY_LENGTH, weights=WEIGHTS)
def test_equal_inputs_give_equal_bytes(tmp_path_factory, rows, accuracy, weights):
    folders = []
    for order in (1, -1):
        run = RunFolder.create(tmp_path_factory.mktemp("runs") / "run", CONFIG, {})
        values, by_name = (dict([*given.items()][::order]) for given in (accuracy, weights))
        intervals = {length: [value, value] for length, value in values.items()}
        run.append_metrics(rows)
        run.write_measures(dict.fromkeys(values, 8), {"accuracy": {"values": values, "intervals": intervals}})
        run.write_weights(by_name, {})
        run.save_checkpoint(3, by_name, {"rows": str(rows)})
        run.write_summary({})
        run.finish()
        folders.append(snapshot(run.path))
    assert folders[0] == folders[1]


def test_state_bytes_depend_on_values_alone():
    text = "".join(["step", "_size"])
    shared = torch.arange(6.0)
    first = {"a": text, "b": text, "x": shared[:2], "y": shared[:2]}
    second = {"a": "step_size", "b": "".join(["step_", "size"]), "x": torch.arange(2.0), "y": torch.arange(2.0)}
    assert tensors.render_state(first) == tensors.render_state(second)
    saved = tensors.render_state(first)
    assert tensors.render_state(tensors.parse_state(saved, Path("state.pt"))) == saved


def test_optimiser_state_survives():
    model = torch.nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    saved = tensors.render_state(optimiser.state_dict())
    again = torch.optim.AdamW(model.parameters())
    again.load_state_dict(tensors.parse_state(saved, Path("state.pt")))
    assert tensors.render_state(again.state_dict()) == saved


def test_tied_and_strided_weights_survive():
    base = torch.arange(6.0).reshape(2, 3)
    saved = tensors.render_weights({"a": base, "b": base, "c": base.T, "d": torch.tensor(1.5, dtype=torch.bfloat16)})
    found = tensors.parse_weights(saved, Path("model.safetensors"))
    assert found["b"].tolist() == base.tolist()
    assert found["c"].tolist() == base.T.tolist()
    assert found["d"].dtype == torch.bfloat16


@pytest.mark.parametrize("value", [np.ones(1), np.float64(1.0), object(), {1}, 1j, RunFolder])
def test_a_state_of_anything_else_is_refused_before_it_is_written(run, value):
    with pytest.raises(TypeError, match=r"^state\['state'\]\['state'\]\['x'\]\[0\] is a "):
        run.save_checkpoint(1, {}, {"x": [value]})
    assert not (run.path / "checkpoints").exists()


def test_a_negative_step_is_refused(run):
    with pytest.raises(ValueError, match=r"step -1 is negative"):
        run.save_checkpoint(-1, {}, {})


@pytest.fixture
def anew(monkeypatch) -> None:
    """The source and its commit are asked for, not remembered of another run."""
    for name in quick.REMEMBERED:
        monkeypatch.setattr(quick.ENVIRONMENT, name, getattr(quick.ENVIRONMENT, name).__wrapped__)


@pytest.mark.usefixtures("anew")
def test_environment_says_what_but_not_who_or_where(monkeypatch):
    known = environment()
    text = json.dumps(known)
    assert known["torch"] == torch.__version__
    assert known["threads"] == torch.get_num_threads()
    for private in (platform.node(), getpass.getuser(), str(Path.home()), os.getcwd()):
        assert len(private) < 3 or private not in text
    monkeypatch.setenv("PATH", "")
    assert environment("cuda:9")["commit"] is None


@pytest.mark.usefixtures("anew")
def test_the_commit_is_of_the_package_s_own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Not of one around the environment that it is installed in, be that committed, nor of one whose hook runs now."""
    user = ("-c", "user.name=a", "-c", "user.email=a@b")

    def added(root: Path, *files: str) -> None:
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).touch()
        for command in (("init", "-q"), ("add", *files)):
            subprocess.run(["git", "-C", root, *command], check=True)

    def committed(root: Path) -> str:
        subprocess.run(["git", "-C", root, *user, "commit", "-qm", "x"], check=True)
        return subprocess.check_output(["git", "-C", root, "rev-parse", "HEAD"], text=True).strip()

    package = "regulargpt/__init__.py"
    added(tmp_path / "new", package)
    added(tmp_path / "clone", package)
    added(tmp_path / "user", "__init__.py", f"venv/site-packages/{package}")
    clone = committed(tmp_path / "clone")
    committed(tmp_path / "user")
    (tmp_path / "user/untracked" / package).parent.mkdir(parents=True)
    places = {"clone": clone, "new": None, "user/venv/site-packages": None, "user/untracked": None}
    for place, commit in places.items():
        monkeypatch.setattr(quick.ENVIRONMENT, "PACKAGE", tmp_path / place / "regulargpt")
        for hook in ("", "user/.git"):
            with monkeypatch.context() as patch:
                if hook:
                    patch.setenv("GIT_DIR", str(tmp_path / hook))
                assert environment()["commit"] == commit
    (tmp_path / "clone" / package).write_text("changed")
    monkeypatch.setattr(quick.ENVIRONMENT, "PACKAGE", tmp_path / "clone/regulargpt")
    assert environment()["commit"] == f"{clone}-dirty"


def test_a_folder_that_became_a_run_while_waiting_for_it_is_refused(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def slow(folder):
        (folder / "config.toml").write_text(CONFIG)
        yield

    monkeypatch.setattr(lock, "locked", slow)
    with pytest.raises(UserError, match=r"run exists; choose another --out"):
        RunFolder.create(tmp_path / "run", "x = 1\n", {})
    assert (tmp_path / "run" / "config.toml").read_text() == CONFIG


@pytest.mark.usefixtures("anew")
def test_the_source_is_known_where_no_commit_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    of = quick.ENVIRONMENT
    for name, text in [("regulargpt/a.py", "1"), ("regulargpt/b/c.py", "2"), ("languages/d.py", "3")]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(of, "PACKAGE", tmp_path / "regulargpt")
    first = of.source_digest()
    (tmp_path / "regulargpt" / "notes.txt").write_text("no code")
    assert of.source_digest() == first
    (tmp_path / "languages" / "d.py").write_text("4")
    assert of.source_digest() != first
    (tmp_path / "languages" / "d.py").rename(tmp_path / "languages" / "e.py")
    (tmp_path / "languages" / "e.py").write_text("3")
    assert of.source_digest() != first


def test_what_lies_on_the_disk_and_in_lists_is_read_without_torch():
    code = "import sys; from regulargpt import storage, encodings; from regulargpt.options import views; "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def create(path: Path, number: int) -> int:
    sys.stdin.read()
    RunFolder.create(path, f"x = {number}\n", {})
    return 0


def test_of_four_that_create_one_folder_one_succeeds(tmp_path):
    path = tmp_path / "run"
    with (tmp_path / "log").open("wb") as log:
        processes = [Forked(log, functools.partial(create, path, number)) for number in range(4)]
    for process in processes:
        process.stdin.close()
    ended = [process.wait() for process in processes]
    for process in processes:
        process.close()
    assert sorted(ended) == [0, 1, 1, 1]
    assert RunFolder.open(path).config_text == f"x = {ended.index(0)}\n"
    said = re.findall(r"Error: run folder .* exists; choose|Error: .* is in use by", (tmp_path / "log").read_text())
    assert len(said) == 3


def save_for_ever(path: Path) -> int:
    found = checkpoint.load_latest(path)
    print("ready", flush=True)
    for step in itertools.count(found.step + 1 if found else 1):
        checkpoint.save(path, step, {"w": torch.full((20_000,), float(step))}, {"x": step})
    return 0


def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path):
    last = 0
    for wait in (0.02, 0.11, 0.053, 0.19):
        with (tmp_path / "log").open("ab") as log:
            process = Forked(log, functools.partial(save_for_ever, tmp_path))
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
        process.wait()
        process.close()
        found = checkpoint.load_latest(tmp_path)
        if found is not None:
            assert found.skipped == ()
            assert found.step >= last
            assert found.state == {"x": found.step}
            assert set(found.weights["w"].tolist()) == {float(found.step)}
            last = found.step
    assert last > 0
