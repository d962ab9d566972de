"""The tidy table: every run in it, from whatever folder, the same bytes whatever happened in which order."""

import csv
import itertools
import json
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.results.columns import key_of, known, unlike, varying
from regulargpt.results.row import RunRow
from regulargpt.results.rows import collect, rows, to_csv, write
from regulargpt.results.select import measured
from regulargpt.results.statistics import groups
from regulargpt.runs.run import run
from regulargpt.storage import manifest
from regulargpt.storage.folder import FINAL, UNCERTIFIED
from tests.regulargpt.results import made
from tests.regulargpt.small import config

ALL_RIGHT = {5: 100.0, 6: 100.0, 7: 100.0, 8: 100.0, 1000: 100.0}


def test_the_columns_of_the_table(tmp_path: Path):
    made.done(tmp_path / "a", ALL_RIGHT, made.config_text(training__clip=0.5))
    made.done(tmp_path / "b", ALL_RIGHT, made.config_text(model__name="lstm", training__clip=2.0))
    assert to_csv(rows(tmp_path)).splitlines()[0] == (
        "run,status,reason,language,model,recipe,supervision,protocol,tested,seed,clip,"
        "steps,train_seconds,proven,as_it_is,first_wrong,given,n_given,measure,length,samples,in_score,accuracy"
    )


def test_a_finished_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made.believe(monkeypatch)
    made.done(tmp_path / "a", {5: 100.0, 8: 87.5, 1000: 50.0}, made.config_text(seed=7), proven=True)
    found = rows(tmp_path / "a")
    assert [(row.run, row.status, row.length, row.samples, row.in_score, row.measures) for row in found] == [
        ("a", "done", 5, 64, True, {"accuracy": 100.0}),
        ("a", "done", 8, 64, True, {"accuracy": 87.5}),
        ("a", "done", 1000, 64, False, {"accuracy": 50.0}),
    ]
    assert {(row.steps, row.train_seconds, row.proven, row.measure) for row in found} == {(100, 1.5, True, "accuracy")}
    expected = {**made.CONFIG, "seed": 7, "evaluation.extra_lengths": "1000"}
    assert dict(found[0].config) == expected
    assert rows(tmp_path) == found


# The steps that were trained are a column of their own, and so are the test words of a length.
LONG = ("data.test.near_misses", "steps", "training.steps", "evaluation.samples", "phases.table_fine_tuning.lr")
NAMED = {
    **{"language": "data.name", "model": "model.name", "encoding": "model.encoding.name"},
    **{"supervision": "objective.name", "chunk_size": "model.chunk_size", "lr": "training.lr"},
    **{"near_misses": "data.near_misses", **{name: name for name in LONG}},
    # Of two keys with as many parts neither is the short one.
    **{"window": None, "model.window": "model.window"},
}


def test_a_column_goes_by_the_last_part_of_its_key_where_that_is_clear(tmp_path: Path):
    more = {"phases__table_fine_tuning__lr": 2e-3, "model__window": 8, "data__window": 9}
    made.done(tmp_path / "a", ALL_RIGHT, made.config_text(**more))
    found = known(rows(tmp_path))
    assert {name: found.get(name) for name in NAMED} == NAMED


def test_an_option_of_a_model_that_nobody_here_knows_is_a_column(tmp_path: Path):
    for gamma in (1, 2):
        text = made.config_text(model__name="pkg.module:Mine", model__gamma=gamma, model__inner__kind="x")
        made.done(tmp_path / str(gamma), {5: 10.0 * gamma}, text)
    found = rows(tmp_path)
    assert varying(found) == ("model.gamma",)
    assert [(group.key, group.mean) for group in groups(found, varying(found))] == [((1,), 10.0), ((2,), 20.0)]
    assert known(found)["kind"] == "model.inner.kind"


def test_a_proof_that_was_tried_later_counts(tmp_path: Path):
    folder = made.done(tmp_path / "a", {5: 100.0})
    assert {row.proven for row in rows(tmp_path / "a")} == {None}
    (folder.path / UNCERTIFIED).write_text("{}")
    assert {row.proven for row in rows(tmp_path / "a")} == {False}


def test_a_scaled_measure_is_made_of_what_was_measured(tmp_path: Path):
    guessed = {"accuracy": {"chance": 20.0, "majority": 25.0}}
    made.done(tmp_path / "a", {5: 100.0, 6: 60.0, 7: 20.0}, scores=guessed)
    found = rows(tmp_path / "a")
    assert [row.value("scaled_accuracy") for row in found] == [100.0, 50.0, 0.0]
    assert groups(found, [], measured(found, "scaled_accuracy"))[0].scores == (50.0,)
    with pytest.raises(UserError, match="--measure scaled_words: no run has that"):
        measured(found, "scaled_words")


def test_runs_of_another_measure(tmp_path: Path):
    for seed, bits in enumerate((1.5, 2.5)):
        text = made.config_text(objective__name="language_model", seed=seed)
        made.done(tmp_path / str(seed), {5: bits, 1000: 9.0}, text, measure="bits_per_byte")
    found = rows(tmp_path)
    assert {row.measure for row in found} == {"bits_per_byte"}
    (group,) = groups(found, varying(found))
    assert (group.mean, group.min, group.first_below_99) == (2.0, 1.5, None)
    header, *lines = csv.reader(to_csv(found).splitlines())
    assert (header[-1], lines[0][-1]) == ("bits_per_byte", "1.5")


def test_tests_under_further_protocols_follow_in_their_order_each_with_its_own_range(tmp_path: Path):
    extra = {
        "thesis-1": made.a_test({6: 90.0, 7: 80.0}, test_from=7, test_len=7),
        "hard-1": made.a_test({5: 70.0, 6: 60.0, 7: 50.0}, test_len=7, stride=2),
    }
    made.done(tmp_path / "a", {5: 100.0}, made.config_text("own-2"), extra_protocols=extra)
    found = rows(tmp_path)
    assert {row.get("protocol") for row in found} == {"own-2"}
    assert [(row.tested, row.length, row.measures["accuracy"], row.in_score) for row in found] == [
        ("own-2", 5, 100.0, True),
        ("hard-1", 5, 70.0, True),
        ("hard-1", 6, 60.0, False),
        ("hard-1", 7, 50.0, True),
        ("thesis-1", 6, 90.0, False),
        ("thesis-1", 7, 80.0, True),
    ]


def test_a_sweep_with_runs_done_failed_and_missing(tmp_path: Path):
    configs = {name: made.config_text(seed=seed) for seed, name in enumerate("cdab")}
    path = made.sweep(tmp_path / "sweep", configs, {"a": "the loss\nis nan"})
    made.done(path / "runs" / "c", {5: 100.0}, configs["c"])
    made.begun(path / "runs" / "b", configs["b"])
    made.begun(path / "runs" / "a", configs["a"])
    found = collect([path])
    assert [(row.run, row.status, row.reason, row.get("seed"), row.length) for row in found.rows] == [
        ("a", "failed", "the loss is nan", 2, None),
        ("c", "done", "", 0, 5),
    ]
    assert found.unfinished == ["b", "d"]


def test_a_run_that_failed_after_it_was_done_failed_and_others_that_lie_in_a_sweep_are_shown(tmp_path: Path):
    path = made.sweep(tmp_path, {"a": made.config_text()}, {"a": "out of memory"})
    made.done(path / "runs" / "a", {5: 100.0})
    assert [(row.status, row.reason) for row in rows(path)] == [("failed", "out of memory")]
    (path / "failed" / "a.json").unlink()
    assert [row.status for row in rows(path)] == ["done"]
    made.done(path / "runs" / "z", {5: 100.0})
    assert [row.run for row in rows(path)] == ["a", "z"]


def test_runs_that_differ_in_other_keys_are_told_apart_by_them(tmp_path: Path):
    for encoding, score in (("rotary", 100.0), ("alibi", 50.0)):
        for seed in range(2):
            changes = {"model__encoding__name": encoding, "seed": seed, "threads": 1 + seed}
            text = made.config_text(model__name="transformer", **changes)
            made.done(tmp_path / f"{encoding}-{seed}", {5: score}, text)
    made.done(tmp_path / "gru-0", {5: 25.0}, made.config_text(model__name="gru"))
    found = rows(tmp_path)
    assert varying(found) == ("model.name", "model.encoding.name")
    assert [(group.key, group.n_runs, group.mean) for group in groups(found, varying(found))] == [
        (("gru", None), 1, 25.0),
        (("transformer", "alibi"), 2, 50.0),
        (("transformer", "rotary"), 2, 100.0),
    ]
    assert unlike(found, ["data.name"]) == ["model.encoding.name"]
    assert unlike(found, ["model.encoding.name"]) == []
    # What a failed run had is known from the sweep, and its group with it.
    configs = {
        f"{clip}-{seed}": made.config_text(training__clip=clip, seed=seed) for clip in (0.5, 2.0) for seed in (0, 1)
    }
    sweep = made.sweep(tmp_path / "sweep", configs, {"0.5-0": "the loss is nan"})
    for name in list(configs)[1:]:
        made.done(sweep / "runs" / name, {5: 100.0}, configs[name])
    table = groups(rows(sweep), ["training.clip"])
    assert [(group.key, group.n_runs, group.n_failed) for group in table] == [((0.5,), 2, 1), ((2.0,), 2, 0)]


def test_a_group_of_runs_with_and_without_scored_lengths_is_refused(tmp_path: Path):
    made.done(tmp_path / "a", {5: 100.0})
    made.done(tmp_path / "b", {1000: 20.0}, made.config_text(seed=1))
    with pytest.raises(UserError, match=r"^run b has no length in its scored range, a has: group them apart"):
        groups(rows(tmp_path), ["data.name"])


def test_several_folders_in_one_table(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made.done(Path("first/a"), {5: 100.0})
    made.done(Path("second/a"), {5: 50.0})
    made.done(Path("second/b"), {5: 60.0})
    made.begun(Path("first/c"), made.config_text())
    found = collect(["first", "second/b", "second", "first/../first"])
    assert [row.run for row in found.rows] == ["b", "first/a", "second/a"]
    assert [row.measures["accuracy"] for row in found.rows] == [60.0, 100.0, 50.0]
    assert found.unfinished == ["c"]


def test_damage_is_a_row_that_names_the_file(tmp_path: Path, monkeypatch):
    path = made.sweep(tmp_path, {"a": made.config_text(seed=5)})
    whole = made.done(path / "runs" / "a", {5: 100.0}, made.config_text(seed=5)).path
    for name in ("summary.json", "config.toml", "measures.csv", "manifest.json"):
        data = (whole / name).read_bytes()
        for broken in (data[:-2], bytes([data[0] ^ 1]) + data[1:], None):
            (whole / name).unlink() if broken is None else (whole / name).write_bytes(broken)
            (row,) = rows(path)
            assert (row.run, row.status, row.get("seed"), row.length) == ("a", "damaged", 5, None)
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
    whole = made.done(tmp_path / "whole", {5: 100.0}).path
    (whole / "summary.json").write_text('{"measure": "accuracy"}')
    manifest.write_manifest(whole, FINAL)
    (row,) = rows(whole)
    assert row.status == "damaged"
    assert row.reason == "summary.json has no 'test_from'; read it with the version that wrote it"


def test_a_finished_run_without_its_config_is_damaged(tmp_path: Path):
    (made.done(tmp_path / "a", ALL_RIGHT).path / "config.toml").unlink()
    (row,) = rows(tmp_path)
    assert (row.status, row.get("data.name")) == ("damaged", None)
    assert row.reason.startswith("config.toml is damaged: SHA-256 expected ")


REFUSED = {
    "missing": "folder missing does not exist; give a run folder, a folder of them or a sweep",
    "swep": "folder swep does not exist; did you mean 'sweep'?",
    "file": "file is a file; give a run folder, a folder of them or a sweep",
    "empty": "empty holds no runs; give a run folder, a folder of them or a sweep",
    "sweep": "sweep/sweep.json does not list the names of runs; restore it from a copy",
    "newer": "newer has format 3, this program needs 2; make it anew, or use the version that wrote it",
    "broken": "broken/sweep.json is not a JSON object; restore it from a copy",
}


@pytest.mark.parametrize("path", REFUSED)
def test_refusals(path: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for name in ("empty", "sweep", "newer", "broken"):
        Path(name).mkdir()
    Path("sweep/sweep.json").write_text('{"format": 2, "names": ["../a"]}')
    Path("newer/sweep.json").write_text('{"format": 3, "names": []}')
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
    with (path / "results.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    objects = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    assert [list(one) for one in objects] == [list(table[0])] * 3
    assert [one["accuracy"] for one in objects] == [100.0, 100 / 3, None]
    assert [float(line["accuracy"]) for line in table[:2]] == [100.0, 100 / 3]
    assert [line["proven"] for line in table] == ["false", "false", ""]
    assert table[2]["reason"] == 'said "no", left'


def test_a_table_that_was_written_can_be_read_again(tmp_path: Path):
    configs = {
        f"run-{k}": made.config_text(seed=k, training__lr=lr, data__name=name)
        for k, (lr, name) in enumerate([(1e-3, "012"), (1e-4, "regex:(a|b)*,x"), (1e-4, "true"), (1e-3, "true")])
    }
    path = made.sweep(tmp_path / "sweep", configs, {"run-3": "out of memory,\nor so"})
    extra = {"hard-1": made.a_test({5: 70.0})}
    for at, name in enumerate(list(configs)[:3]):
        text = configs[name]
        made.done(path / "runs" / name, {5: 100.0, 6: 100 / 3, 1000: at}, text, extra_protocols=extra, proven=bool(at))
    whole, again = write(path), rows(path / "results.csv")
    assert to_csv(again) == (path / "results.csv").read_text() == to_csv(whole)
    names = ("language", "lr", "tested")
    for found in (whole, again):
        by = [key_of(name, known(found), "") for name in names]
        assert groups(found, by) == groups(whole, ["data.name", "training.lr", "tested"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "results.csv is no table of runs; give results.csv, or a folder of runs"),
        ("length,accuracy\n", "results.csv is no table of runs; give results.csv, or a folder of runs"),
        ("HEAD\na,done\n", "results.csv, line 2: 2 columns, not 22; restore it from a copy"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, monkeypatch, text: str, message: str):
    monkeypatch.chdir(tmp_path)
    head = to_csv([RunRow("a", "done", measures={"accuracy": 1.0})]).splitlines()[0]
    Path("results.csv").write_text(text.replace("HEAD", head))
    with pytest.raises(UserError) as refused:
        rows("results.csv")
    assert str(refused.value) == message


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
    changes = {"training__steps": 3, "evaluation__extra_protocols": ("thesis-1",), "evaluation__extra_lengths": (20,)}
    settings = config("gru", objective__name="last", evaluation__stride=2, **changes)
    summary = run(settings, tmp_path / "a")
    found = rows(tmp_path)
    for tested, result in (("", summary), ("thesis-1", summary["extra_protocols"]["thesis-1"])):
        of_test = [row for row in found if row.tested == tested]
        values = result["measures"]["accuracy"]["values"]
        assert {row.length: row.measures["accuracy"] for row in of_test} == {int(T): a for T, a in values.items()}
        (group,) = groups(of_test, ["data.name"])
        assert group.mean == pytest.approx(result["score"])
        assert group.first_below_99 == result["first_below_99"]
    assert [row.length for row in found if row.in_score and not row.tested] == [9, 11]
