"""The tidy table: every run in it, from whatever folder, the same bytes whatever happened in which order."""

import csv
import itertools
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.results.rows import COLUMNS, Row, collect, rows, write
from regulargpt.results.select import varying
from regulargpt.results.statistics import groups
from regulargpt.run import run
from tests.regulargpt.results import made
from tests.regulargpt.small import config

ALL_RIGHT = {5: 100.0, 6: 100.0, 7: 100.0, 8: 100.0, 1000: 100.0}
RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_columns():
    assert ",".join(COLUMNS) == (
        "run,status,reason,language,model,chunk_size,recipe,supervision,protocol,tested,seed,lr,d_model,settings,"
        "steps,train_seconds,proven,length,accuracy,samples,in_score"
    )


def test_a_finished_run(tmp_path: Path):
    made.done(tmp_path / "a", {5: 100.0, 8: 87.5, 1000: 50.0}, made.config_text(seed=7), proven=True)
    known = {
        "language": "parity",
        "model": "regulargpt",
        "chunk_size": 2,
        "recipe": "robust",
        "supervision": "last",
        "seed": 7,
        "lr": 1e-3,
        "d_model": 64,
        "steps": 100,
        "train_seconds": 1.5,
        "proven": True,
        "samples": 64,
    }
    assert rows(tmp_path / "a") == [
        Row("a", "done", **known, length=5, accuracy=100.0, in_score=True),
        Row("a", "done", **known, length=8, accuracy=87.5, in_score=True),
        Row("a", "done", **known, length=1000, accuracy=50.0, in_score=False),
    ]
    assert rows(tmp_path) == rows(tmp_path / "a")


def test_only_regulargpt_has_a_chunk_size(tmp_path: Path):
    made.done(tmp_path / "a", ALL_RIGHT, made.config_text(model__name="lstm"))
    assert {row.chunk_size for row in rows(tmp_path)} == {None}


def test_tests_under_further_protocols_follow_in_their_order_each_with_its_own_range(tmp_path: Path):
    also = {
        "thesis-1": made.tested({6: 90.0, 7: 80.0}, test_from=7, test_len=7, stride=1),
        "hard-1": made.tested({5: 70.0, 6: 60.0, 7: 50.0}, test_from=5, test_len=7, stride=2),
    }
    made.done(tmp_path / "a", {5: 100.0}, made.config_text("own-2"), also=also)
    assert [(row.protocol, row.tested, row.length, row.accuracy, row.in_score) for row in rows(tmp_path)] == [
        ("own-2", "own-2", 5, 100.0, True),
        ("own-2", "hard-1", 5, 70.0, True),
        ("own-2", "hard-1", 6, 60.0, False),
        ("own-2", "hard-1", 7, 50.0, True),
        ("own-2", "thesis-1", 6, 90.0, False),
        ("own-2", "thesis-1", 7, 80.0, True),
    ]


def test_a_run_of_an_older_version_without_protocols(tmp_path: Path):
    text = "\n".join(line for line in made.config_text().splitlines() if "protocol" not in line)
    made.done(tmp_path / "a", {5: 100.0}, text)
    assert [(row.protocol, row.tested, row.in_score) for row in rows(tmp_path)] == [("", "", True)]


def test_a_config_of_a_newer_version_is_read(tmp_path: Path):
    made.done(tmp_path / "a", {5: 100.0}, made.config_text() + "[invented]\nlater = 1\n")
    assert rows(tmp_path)[0].language == "parity"


def test_a_sweep_with_runs_done_failed_and_missing(tmp_path: Path):
    configs = {name: made.config_text(seed=seed) for seed, name in enumerate("cdab")}
    path = made.sweep(tmp_path / "sweep", configs, {"a": "the loss\nis nan"})
    made.done(path / "runs" / "c", {5: 100.0}, configs["c"])
    made.begun(path / "runs" / "b", configs["b"])
    made.begun(path / "runs" / "a", configs["a"])
    found = collect([path])
    assert [(row.run, row.status, row.reason, row.seed, row.length) for row in found.rows] == [
        ("a", "failed", "the loss is nan", 2, None),
        ("c", "done", "", 0, 5),
    ]
    assert found.unfinished == ["b", "d"]


def test_a_run_that_failed_after_it_was_done_failed(tmp_path: Path):
    path = made.sweep(tmp_path, {"a": made.config_text()}, {"a": "out of memory"})
    made.done(path / "runs" / "a", {5: 100.0})
    assert [(row.status, row.reason) for row in rows(path)] == [("failed", "out of memory")]
    (path / "failed" / "a.json").unlink()
    assert [row.status for row in rows(path)] == ["done"]


def test_a_run_that_lies_in_a_sweep_and_was_not_asked_for_is_not_passed_over(tmp_path: Path):
    path = made.sweep(tmp_path, {"a": made.config_text()})
    made.done(path / "runs" / "z", {5: 100.0})
    assert [row.run for row in rows(path)] == ["z"]
    assert collect([path]).unfinished == ["a"]


def test_a_kept_copy_has_its_accuracies_and_nothing_else(tmp_path: Path):
    made.kept(tmp_path / "a", {5: 100.0, 9: 50.0})
    found = rows(tmp_path)
    assert [(row.status, row.length, row.accuracy, row.samples, row.in_score) for row in found] == [
        ("done", 5, 100.0, 64, True),
        ("done", 9, 50.0, 64, False),
    ]
    assert {(row.steps, row.train_seconds, row.proven) for row in found} == {(None, None, None)}


@pytest.mark.parametrize(
    "line", ["41,2.5,8", "41,nan,8", "41,-0.1,8", "41,0.5,-8", "41,0.5,0", "0,0.5,8", "5,0.5,8", "41,x,8", ""]
)
def test_a_kept_copy_that_no_test_wrote_is_damaged(tmp_path: Path, line: str):
    folder = made.kept(tmp_path / "a", {5: 100.0}).path
    table = (folder / "accuracy.csv").read_text()
    (folder / "accuracy.csv").write_text(table + line + "\n" if line else table.splitlines()[0] + "\n")
    (row,) = rows(folder)
    assert row.status == "damaged"
    assert "its files are not what a run writes" in row.reason


def test_runs_that_differ_in_other_fields_are_told_apart_by_them(tmp_path: Path):
    for encoding, score in (("rotary", 100.0), ("alibi", 50.0)):
        for seed in range(2):
            changes = {"model__name": "transformer", "model__encoding": encoding, "seed": seed, "threads": 1 + seed}
            made.done(tmp_path / f"{encoding}-{seed}", {5: score}, made.config_text(**changes))
    made.done(tmp_path / "gru-0", {5: 25.0}, made.config_text(model__name="gru", model__encoding="alibi"))
    found = rows(tmp_path)
    assert {row.run: row.settings for row in found} == {
        **{f"{encoding}-{seed}": f"model.encoding={encoding}" for encoding in ("rotary", "alibi") for seed in range(2)},
        "gru-0": "",
    }
    assert varying(found) == ("model", "settings")
    assert [(group.key, group.n_runs, group.mean) for group in groups(found, varying(found))] == [
        (("gru", ""), 1, 25.0),
        (("transformer", "model.encoding=alibi"), 2, 50.0),
        (("transformer", "model.encoding=rotary"), 2, 100.0),
    ]
    # What a failed run had is known from the sweep, and its group with it.
    configs = {
        f"{clip}-{seed}": made.config_text(training__clip=clip, seed=seed) for clip in (0.5, 2.0) for seed in (0, 1)
    }
    sweep = made.sweep(tmp_path / "sweep", configs, {"0.5-0": "the loss is nan"})
    for name in list(configs)[1:]:
        made.done(sweep / "runs" / name, {5: 100.0}, configs[name])
    table = groups(rows(sweep), ["settings"])
    assert [(group.key, group.n_runs, group.n_failed) for group in table] == [
        (("training.clip=0.5",), 2, 1),
        (("training.clip=2.0",), 2, 0),
    ]


def test_a_group_of_runs_with_and_without_scored_lengths_is_refused(tmp_path: Path):
    made.done(tmp_path / "a", {5: 100.0})
    made.done(tmp_path / "b", {1000: 20.0}, made.config_text(seed=1))
    with pytest.raises(UserError, match=r"^run b has no length in its scored range, a has: group them apart"):
        groups(rows(tmp_path), ["language"])


def test_an_interrupted_test_is_no_kept_copy(tmp_path: Path):
    folder = made.begun(tmp_path / "a", made.config_text())
    folder.write_accuracy([(5, 1.0, 64)])
    assert collect([tmp_path]) == type(collect([tmp_path]))([], ["a"])


def test_the_results_in_the_repository_can_be_read():
    for folder in (RESULTS, RESULTS / "others"):
        found = collect([folder])
        assert {row.status for row in found.rows} == {"done"}
        assert not found.unfinished
    assert "regex:(ab)*" in {row.language for row in rows(RESULTS / "others")}


def test_several_folders_in_one_table(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made.done(Path("first/a"), {5: 100.0})
    made.done(Path("second/a"), {5: 50.0})
    made.done(Path("second/b"), {5: 60.0})
    made.begun(Path("first/c"), made.config_text())
    found = collect(["first", "second/b", "second", "first/../first"])
    assert [(row.run, row.accuracy) for row in found.rows] == [("b", 60.0), ("first/a", 100.0), ("second/a", 50.0)]
    assert found.unfinished == ["c"]


def test_damage_is_a_row_that_names_the_file(tmp_path: Path, monkeypatch):
    path = made.sweep(tmp_path, {"a": made.config_text(seed=5)})
    whole = made.done(path / "runs" / "a", {5: 100.0}, made.config_text(seed=5)).path
    for name in ("summary.json", "config.toml", "accuracy.csv", "manifest.json"):
        data = (whole / name).read_bytes()
        for broken in (data[:-2], bytes([data[0] ^ 1]) + data[1:], None):
            (whole / name).unlink() if broken is None else (whole / name).write_bytes(broken)
            (row,) = rows(path)
            assert (row.run, row.status, row.seed, row.length) == ("a", "damaged", 5, None)
            assert row.reason.startswith(name)
            assert str(tmp_path) not in row.reason
            monkeypatch.chdir(tmp_path.parent)
            assert rows(tmp_path.name) == [row]
            (whole / name).write_bytes(data)
    assert rows(path)[0].status == "done"


def test_damage_of_what_no_digest_guards(tmp_path: Path):
    path = made.sweep(tmp_path / "sweep", {"a": made.config_text()}, {"a": "out of memory"})
    (path / "failed" / "a.json").write_text("{")
    assert [(r.status, r.reason) for r in rows(path)] == [
        ("damaged", "failed/a.json is not a JSON object; restore it from a copy")
    ]
    copy = made.kept(tmp_path / "copy", {5: 100.0}).path
    (copy / "accuracy.csv").write_text("length,accuracy\n5,1.0\n")
    assert rows(copy)[0].status == "damaged"
    assert rows(copy)[0].reason == (
        "its files are not what a run writes (KeyError('samples')); restore them from a copy"
    )
    (copy / "config.toml").write_text("seed = 'one'\n")
    assert rows(copy)[0].reason == "seed = 'one'; give a whole number"


def test_a_finished_run_without_its_config_is_damaged(tmp_path: Path):
    (made.done(tmp_path / "a", ALL_RIGHT).path / "config.toml").unlink()
    (row,) = rows(tmp_path)
    assert (row.status, row.language) == ("damaged", "")
    assert row.reason.startswith("config.toml is damaged: SHA-256 expected ")


REFUSED = {
    "missing": "folder missing does not exist; give a run folder, a folder of them or a sweep",
    "swep": "folder swep does not exist; did you mean 'sweep'?",
    "file": "file is a file; give a run folder, a folder of them or a sweep",
    "empty": "empty holds no runs; give a run folder, a folder of them or a sweep",
    "sweep": "sweep/sweep.json does not list the names of runs; restore it from a copy",
    "newer": "newer/sweep.json has format 2; this program reads 1, so read it with the version that wrote it",
    "broken": "broken/sweep.json is not a JSON object; restore it from a copy",
}


@pytest.mark.parametrize("path", REFUSED)
def test_refusals(path: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for name in ("empty", "sweep", "newer", "broken"):
        Path(name).mkdir()
    Path("sweep/sweep.json").write_text('{"format": 1, "names": ["../a"]}')
    Path("newer/sweep.json").write_text('{"format": 2, "names": []}')
    Path("broken/sweep.json").write_text("[")
    with pytest.raises(UserError) as refused:
        rows(path)
    assert str(refused.value) == REFUSED[path]
    with pytest.raises(UserError):
        write(path)


def test_the_files_say_what_the_rows_say(tmp_path: Path):
    path = made.sweep(tmp_path, {"a": made.config_text(), "b": made.config_text()}, {"b": 'said "no", left'})
    made.done(path / "runs" / "a", {5: 100.0, 6: 100 / 3}, proven=False)
    found = write(path)
    assert found == rows(path)
    objects = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    assert objects == [asdict(row) for row in found]
    with (path / "results.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(line["accuracy"]) for line in table[:2]] == [100.0, 100 / 3]
    assert [line["proven"] for line in table] == ["false", "false", ""]
    assert table[2]["reason"] == 'said "no", left'


def test_the_bytes_do_not_depend_on_the_order_of_finishing(tmp_path: Path):
    configs = {f"run-{k}": made.config_text(seed=k) for k in range(4)}
    files = set()
    for number, order in enumerate(itertools.permutations((1, 2, 3))):
        path = made.sweep(tmp_path / str(number), configs, {"run-0": "out of memory"})
        for k in order:
            made.done(path / "runs" / f"run-{k}", {5: 100 / k}, configs[f"run-{k}"])
            write(path)
        files.add(tuple((path / name).read_bytes() for name in ("results.csv", "results.jsonl")))
    assert len(files) == 1


@pytest.mark.slow
def test_the_scores_of_a_trained_run_are_those_of_its_summary(tmp_path: Path):
    changes = {"training__steps": 3, "evaluation__also": ("thesis-1",), "evaluation__beyond": (20,)}
    settings = config("gru", task__supervision="last", evaluation__stride=2, **changes)
    summary = run(settings, tmp_path / "a")
    found = rows(tmp_path)
    for tested, result in (("", summary), ("thesis-1", summary["also"]["thesis-1"])):
        of_test = [row for row in found if row.tested == tested]
        assert {row.length: row.accuracy for row in of_test} == {int(T): a for T, a in result["accuracy"].items()}
        (group,) = groups(of_test, ["language"])
        assert group.mean == pytest.approx(result["score"])
        assert group.first_below_99 == result["first_below_99"]
    assert [row.length for row in found if row.in_score and not row.tested] == [9, 11]
