"""The README's commands, word for word, as on a fresh machine. (Its test command is what .ci/run runs.)"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.atlas import columns
from experiments.atlas.groups import budgets
from regulargpt.cli.running import text
from regulargpt.training.given import Given

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PRINTED = README[README.index("It ends") :].split("```\n")[1].strip()
ATLAS = "experiments/results/atlas/atlas.csv"
# The rows of its table, by their names in the atlas: all that were shown answers.
ROWS = {
    "gated": "RegularGPT, gated",
    "regulargpt": "RegularGPT",
    "ldru": "LDRU",
    "tanh-rnn": "RNN (tanh)",
    "lstm": "LSTM",
    "signed-delta": "DeltaNet, signed",
    "signed-mamba": "Mamba, signed",
    "transformer-none": "Transformer, no positions",
    "transformer-alibi": "Transformer, ALiBi",
}


def marked(mark: str) -> str:
    """The code block behind <!-- mark -->."""
    block = re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)\n```", README, re.DOTALL)
    assert block, f"README.md has no code block marked {mark}"
    return block.group(1)


def timeless(text: str) -> str:
    """Without the seconds, which differ from run to run, and the steps, which may from machine to machine."""
    return re.sub(r"\d+\.\d s\b|\d+ steps|at step \d+", "...", text)


def test_its_length_and_its_environments():
    assert 700 <= len(README.split()) <= 800
    # Both commands make their own environment, and install with the lock file.
    for mark in ("run", "tests"):
        assert marked(mark).startswith("python3 -m venv .venv")
        assert "-c constraints.txt" in marked(mark)


def test_the_output_shown_is_what_a_run_prints():
    summary = {"train_len": 40, "test_from": 41, "test_len": 500, "steps": 150, "parameters": 132_874}
    summary |= {"measure": "accuracy", "score": 100.0, "worst": 100.0, "majority": 51.25, "chance": 50.0}
    summary |= {"train_seconds": 0.0, "test_seconds": 0.0, "certify_seconds": 0.0}
    summary |= {"first_below_99": None, "first_below_90": None, "language": "parity", "proven": True}
    summary |= {"run_dir": "runs/parity-gated-regulargpt-C2-seed0", "samples": {"10000": 64}}
    summary |= {"measures": {"accuracy": {"values": {"500": 100.0, "10000": 100.0}}}}
    had = Given("answers", "table_fine_tuning", 17_452)
    tuned = {"learned_at": 100, "states": 2, "classes": 12, "is_language": True, "proven_unquantised": True}
    drawn = [("map", f"{summary['run_dir']}/verify/pca.png")]
    assert timeless(text(summary | {"phases": {"table_fine_tuning": tuned}}, had, drawn)) == timeless(PRINTED)


def test_its_table_counts_the_rows_of_the_atlas():
    rows = [row for row in columns.read(ROOT / ATLAS) if not row["is_constant"]]
    shown = [[cell.strip() for cell in line.split("|")] for line in README.splitlines() if " | " in line]
    languages = len({row["language"] for row in rows})
    assert shown[0][0] == f"of {languages} languages"
    expected = []
    for name, title in ROWS.items():
        own = [row for row in rows if row["network"] == name]
        assert len(own) == languages
        proven = [row["proven"] for row in own if row["proven"] is not None]
        right = str(sum(row["accuracy"] >= 99 for row in own))
        expected.append([title, budgets(own), right, f"{sum(proven):g}" if proven else "-"])
        assert all(row["steps"] <= row["budget"] for row in own)
    assert shown[1:] == expected
    # All but the one that was shown the automaton, and the RNN without a recipe for proofs.
    assert {str(row["network"]) for row in rows} - set(ROWS) == {"regulargpt-known", "rnn"}


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path):
    code = marked("python")
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    score, answers, longer, table = run.stdout.splitlines()
    assert [score, answers] == re.findall(r"\)  # (.*)", code)
    assert list(ast.literal_eval(longer)) == ["100", "1000"]
    assert re.fullmatch(r"\['1', 'ε'\] \(\d+, 256\)", table)


@pytest.mark.slow
def test_the_main_job_on_a_fresh_checkout_shows_what_the_readme_promises(tmp_path: Path):
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    run = subprocess.run(marked("run"), shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert timeless(run.stdout.strip()) == timeless(PRINTED)
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in run.stdout.strip().splitlines())
    folder = tmp_path / shown["run folder"]
    assert (folder / "DONE").exists()
    for picture in (folder / "accuracy.png", tmp_path / shown["map"]):
        assert picture.read_bytes().startswith(b"\x89PNG")
    checked = subprocess.run(marked("check"), shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    # What README says of it in words: two prototypes, the network as it is, and the language.
    accepted, unquantised, language, *_ = checked.stdout.splitlines()
    assert re.match("accepted: For every word .* replaced by the nearest of 2 prototypes", accepted)
    assert unquantised.startswith("The same holds of the network as it is, without replacing any state")
    assert language == "The automaton answers every word of at least one symbol as the language parity does."
