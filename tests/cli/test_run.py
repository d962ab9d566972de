"""run, resume and evaluate end to end on a small run: files, JSON, the table, options that reach the config."""

import csv
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import languages
from languages.convert.files import save
from regulargpt.api import load
from regulargpt.cli.configure import configure, default_folder, texts
from regulargpt.cli.flags import flags
from regulargpt.config.schema import RunConfig, flat
from regulargpt.runs.load import load_model
from regulargpt.storage.folder import RunFolder
from regulargpt.tables import percent
from regulargpt.training.trainer import Diverged, Trainer
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.forging import without_kept
from tests.regulargpt.small import contents

SMALL = [
    *("--steps", "12", "--d-model", "8", "--train-len", "6", "--test-len", "9", "--samples", "20"),
    *("--extra-lengths", "15,100", "--batch-size", "8", "--device", "cpu"),
]
RUN_KEYS = {
    *(
        "language",
        "model",
        "recipe",
        "protocol",
        "supervision",
        "train_len",
        "seed",
        "parameters",
        "steps",
        "solved_at",
    ),
    *("phases", "proven", "train_seconds", "test_seconds", "test_from", "test_len", "stride", "factor", "measure"),
    *("score", "worst", "first_below_99", "first_below_90", "chance", "majority", "scores", "samples", "measures"),
    *("extra_protocols", "wrong_word", "falsified", "falsify_seconds", "run_dir"),
}
FILES = {
    *("config.toml", "environment.json", "metrics.jsonl", "measures.csv", "model.safetensors", "config.json"),
    *("summary.json", "manifest.json", "DONE", "accuracy.png", "checkpoints", "falsified.json"),
}


def one_object(text: str) -> dict:
    assert text.count("\n") == 1
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("model", ["regulargpt", "gru"])
def test_run_json_and_the_folder_say_the_same(cli: Cli, tmp_path: Path, model: str):
    code, out, err = cli("run", "parity", "--model", model, *SMALL, "--out", "here", "--json", "--seed", "5")
    assert (code, err) == (0, "")
    summary = one_object(out)
    assert set(summary) == RUN_KEYS | {"certify_seconds"}
    assert (summary["language"], summary["train_len"], summary["seed"]) == ("parity", 6, 5)
    assert summary["model"] == ("gated-regulargpt" if model == "regulargpt" else model)
    assert (summary["steps"], summary["run_dir"]) == (12, "here")
    assert {path.name for path in (tmp_path / "here").iterdir()} == FILES | {"uncertified.json"}
    assert json.loads((tmp_path / "here" / "summary.json").read_text()) == summary
    rows = list(csv.DictReader((tmp_path / "here" / "measures.csv").read_text().splitlines()))
    columns = ["accuracy", "accuracy_low", "accuracy_high", "accuracy_chance", "accuracy_majority"]
    assert list(rows[0]) == ["length", "samples", *columns]
    assert {float(row["accuracy_chance"]) for row in rows} == {summary["chance"]} == {50.0}
    accuracy = summary["measures"]["accuracy"]
    assert {row["length"]: int(row["samples"]) for row in rows} == summary["samples"]
    assert {row["length"]: float(row["accuracy"]) for row in rows} == accuracy["values"]
    ends = {row["length"]: [float(row["accuracy_low"]), float(row["accuracy_high"])] for row in rows}
    assert ends == accuracy["intervals"]
    assert list(accuracy["values"]) == ["7", "8", "9", "15", "100"]
    inside = [accuracy["values"][T] for T in ("7", "8", "9")]
    assert (summary["score"], summary["worst"]) == (pytest.approx(sum(inside) / 3), min(inside))
    weights = load_model(RunFolder.open("here"))
    assert sum(p.numel() for p in weights.parameters()) == summary["parameters"]
    config = tomllib.loads((tmp_path / "here" / "config.toml").read_text())
    assert config["training"]["steps"] == 12
    assert (tmp_path / "here" / "accuracy.png").read_bytes().startswith(b"\x89PNG")

    found = one_object(cli("evaluate", "here", "--lengths", "7-9,15,100", "--samples", "20", "--json").out)
    assert [found[key] for key in ("samples", "measures")] == [summary[key] for key in ("samples", "measures")]
    assert set(found) >= {"measure", "score", "worst", "scored"}
    assert found["no_words_of_length"] == []
    assert one_object(cli("resume", "here", "--json").out) == summary
    shutil.copytree("here", "there")
    assert one_object(cli("resume", "there", "--json").out) == {**summary, "run_dir": "there"}
    assert "run folder         there\npicture            there/accuracy.png\n" in cli("resume", "there").out
    assert load("there").summary["run_dir"] == "there"


def test_the_table_for_people(cli: Cli):
    code, out, err = cli("run", "parity", *SMALL)
    folder = "runs/parity-gated-regulargpt-C2-seed0"
    assert code == 0
    assert err == f"parity: gated-regulargpt, recipe answers with table_fine_tuning, into {folder}\n"
    names = [re.split("  +", line)[0] for line in out.splitlines()]
    assert names == [
        *(
            "training",
            "also given",
            "testing",
            "certifying",
            "falsifying",
            "accuracy 7..9",
            "worst length",
            "first below 99 %",
            "first below 90 %",
        ),
        *("length 15", "length 100", "always one answer", "run folder", "picture", "verdict"),
    ]
    assert Path(folder, "accuracy.png").exists()
    assert cli("resume", folder) == (0, out, "")
    said = f"run folder {folder} exists; choose another --out or `regulargpt resume {folder}`"
    assert_refused(cli("run", "parity", *SMALL), said)
    lines = cli("evaluate", folder, "--lengths", "7,8").out.splitlines()
    assert lines[0].split() == ["length", "accuracy", "95", "%", "interval", "words"]
    assert [line.split()[0] for line in lines[1:3]] == ["7", "8"]
    assert lines[-1].startswith("2 lengths: mean ")


@pytest.mark.parametrize(
    ("supervision", "score", "others"),
    [
        ("last", "accuracy", ()),
        ("prefixes", "accuracy", ("accuracy_by_position", "words")),
        ("next", "next_sets", ("next_sets_by_position", "accuracy", "accuracy_by_position", "words")),
    ],
)
def test_all_measures_of_a_supervision_have_names_columns_and_chances_of_their_own(
    cli: Cli, tmp_path: Path, supervision: str, score: str, others: tuple[str, ...]
):
    assert cli("run", "tomita-5", "--model", "lstm", "--supervision", supervision, *SMALL, "--out", "here").code == 0
    summary = json.loads((tmp_path / "here" / "summary.json").read_text())
    measures = (score, *others)
    assert summary["measure"] == score
    assert tuple(summary["scores"]) == tuple(summary["measures"]) == measures
    assert summary["scores"][score] == {key: summary[key] for key in summary["scores"][score]}
    header, *_ = (tmp_path / "here" / "measures.csv").read_text().splitlines()
    parts = ("", "_low", "_high", "_chance", "_majority")
    assert header.split(",")[2:] == [f"{name}{part}" for name in measures for part in parts]
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in cli("resume", "here").out.splitlines())
    said = {name: shown[f"{name} 7..9"] for name in measures}
    for name in measures:
        of = summary["scores"][name]
        assert said[name].startswith(f"{percent(of['score'])} %")
        guess = said[name] if name != score else shown["always one answer"]
        assert guess.endswith(f"{percent(of['majority'])} % (chance {percent(of['chance'])} %)")
    table, *_ = cli("evaluate", "here", "--lengths", "7-9").out.splitlines()
    counted = "tested words" if others else "words"
    assert re.split(r"  +", table) == ["length", score, "95 % interval", *others, counted]
    rows = [json.loads(line) for line in (tmp_path / "here" / "metrics.jsonl").read_text().splitlines()]
    assert all(set(measures) <= row.keys() for row in rows)


def test_a_saved_config_makes_the_same_run(cli: Cli):
    assert cli("run", "parity", *SMALL, "--out", "first", "--json").code == 0
    assert cli("run", "--config", "first/config.toml", "--out", "second", "--json").code == 0
    assert contents(Path("first")) == contents(Path("second"))
    assert Path("first", "config.toml").read_bytes() == Path("second", "config.toml").read_bytes()


def test_a_users_automaton_is_learned_and_a_run_on_one_that_has_changed_is_not_gone_on_with(cli: Cli):
    Path("mine.dot").write_text(cli("show", "tomita-5", "--dot").out)
    learned = cli("run", "dfa:mine.dot", *SMALL, "--out", "here", "--json")
    assert one_object(learned.out)["language"] == "dfa:mine.dot"
    without_kept(Path("here"))
    Path("mine.dot").write_text(cli("show", "tomita-6", "--dot").out)
    (Path("here") / "DONE").unlink()
    said = "dfa:mine.dot is not what here began with (name dfa:mine.dot, sha256 "
    assert_refused(cli("resume", "here"), said)
    Path("mine.dot").write_text(cli("show", "tomita-5", "--dot").out)
    assert cli("resume", "here").code == 0
    Path("mine.dot").write_text(cli("show", "tomita-6", "--dot").out)
    for command in (["evaluate", "here", "--lengths", "8"], ["verify", "here", "--length", "8"]):
        assert_refused(cli(*command), said)


def test_a_diverged_run_ends_with_1_and_one_line(cli: Cli, monkeypatch):
    def step(self: Trainer) -> None:
        raise Diverged("the loss is nan at step 1; lower training.lr = 0.001 or training.clip")

    monkeypatch.setattr(Trainer, "step", step)
    code, out, err = cli("run", "parity", *SMALL, "--out", "here", "--json")
    assert (code, out) == (1, "")
    assert err.startswith("error: the loss is nan at step 1; ")
    assert err.count("\n") == 1
    assert Path("here", "checkpoints", "000000000").is_dir()


WRITTEN = {
    **{"model.encoding": "alibi", "objective": "prefixes", "device": "cpu", "training.lr": "0.5"},
    "evaluation.attention": "sliding:7",
    "model.gates": "true",
    **{"data.near_misses": "0.25", "model.d_model": "8", "evaluation.extra_lengths": "70,80"},
}


@pytest.mark.parametrize("flag", flags())
def test_every_flag_reaches_its_key(flag: str):
    key = flags()[flag][0]
    model = "regulargpt" if key in ("model.chunk_size", "model.gates") else "transformer:causal=true"
    text = WRITTEN.get(key, "7")
    # The recipe is one in which no option decides on another.
    default, config = (configure("dyck-2", model, "paper", None, texts(written, [])) for written in ({}, {key: text}))
    before, after = flat(default), flat(config)
    if key in before:
        assert [k for k in before if before[k] != after[k]] == [key]
    elif key.startswith("observers."):  # a part that no run has unless it is asked for
        assert {k: after[k] for k in after.keys() - before.keys()} == {key: 7}
    else:  # a part, with options of its own
        assert after[f"{key}.name"] == text != before[f"{key}.name"]
        assert {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)} <= section(key, before, after)


def section(key: str, *configs: dict[str, object]) -> set[str]:
    return {k for config in configs for k in config if k.startswith(f"{key}.")}


def test_the_default_folder_tells_runs_apart_and_stays_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = {"parity": "parity", "regex:(ab)*": "regex-ab", "dfa:../a/b.json": "dfa-..-a-b.json"}
    for name in ("a", "here"):
        (tmp_path / name).mkdir()
    save(languages.get("parity").machine, tmp_path / "a" / "b.json")
    monkeypatch.chdir(tmp_path / "here")
    for language, name in (names | {"parity:p_one=0.1": "parity-p_one=0.1"}).items():
        config = RunConfig().replaced({"data.name": language, "model.name": "gru", "seed": 3})
        assert default_folder(config).as_posix() == f"runs/{name}-gru-seed3"


def test_as_a_module_from_another_folder(tmp_path: Path):
    command = [sys.executable, "-m", "regulargpt", "list", "models", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert one_object(done.stdout)["models"][0]["name"] == "regulargpt"
    assert done.stderr == ""


def test_under_a_protocol_the_lengths_beyond_are_shown_and_in_no_mean(cli: Cli):
    long = ("--steps", "3", "--d-model", "8", "--test-len", "42", "--samples", "2", "--extra-lengths", "50")
    assert cli("run", "parity", *long, "--out", "here").code == 0
    options = ("--protocol", "hard", "--samples", "1")
    found = one_object(cli("evaluate", "here", *options, "--json").out)
    assert found["scored"] == [str(T) for T in range(41, 501)]
    values = found["measures"]["accuracy"]["values"]
    inside = [values[T] for T in found["scored"]]
    assert found["score"] == pytest.approx(sum(inside) / len(inside))
    assert list(values)[-2:] == ["1000", "10000"]


def test_a_language_with_one_answer_only_is_noticed_before_it_is_trained_on(cli: Cli):
    notice = "notice: regex:(a|b)*: every word of one symbol or more has the answer accept: there is nothing to learn\n"
    assert notice in cli("run", "regex:(a|b)*", "--model", "rnn", *SMALL, "--out", "all").err
    assert "notice: " not in cli("run", "parity", "--model", "rnn", *SMALL, "--out", "parity").err
