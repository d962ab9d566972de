"""The README's commands, word for word, as on a fresh machine. (Its test command is what .ci/run runs.)"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regulargpt.cli.running import text

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def marked(mark: str) -> str:
    """The code block behind <!-- mark -->."""
    found = re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)\n```", README, re.DOTALL)
    assert found, f"README.md has no code block marked {mark}"
    return found.group(1)


def block(before: str) -> str:
    """The code block behind a sentence that begins so."""
    return README[README.index(before) :].split("```\n")[1].strip()


def timeless(text: str) -> str:
    """Without the seconds, which differ from run to run, and the steps, which may from machine to machine."""
    return re.sub(r"\d+\.\d s\b|\d+ steps", "...", text)


def test_the_output_shown_is_what_a_run_prints():
    summary = {"train_len": 40, "test_from": 41, "test_len": 500, "steps": 1402, "parameters": 50_442}
    summary |= {"measure": "accuracy", "score": 100.0, "worst": 100.0, "majority": 50.0, "chance": 50.0}
    summary |= {"train_seconds": 0.0, "test_seconds": 0.0, "first_below_99": None, "first_below_90": None}
    summary |= {"run_dir": "runs/parity-regulargpt-C2-seed0", "samples": {"10000": 512, "1000000": 33}}
    summary |= {"measures": {"accuracy": {"values": {"500": 100.0, "10000": 100.0, "1000000": 100.0}}}}
    assert timeless(text(summary)) == timeless(block("After ten seconds the output ends"))


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path):
    code = marked("python")
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    score, answers, longer, shape = run.stdout.splitlines()
    assert score.split()[0] == "accuracy"
    assert 0 <= float(score.split()[1]) <= 100
    assert set(ast.literal_eval(answers)) <= {"even", "odd"}
    assert list(ast.literal_eval(longer)) == ["100", "1000"]
    assert shape == "torch.Size([2, 4, 2])"


def test_both_commands_make_their_own_environment_and_install_with_the_lock_file():
    for mark in ("run", "tests"):
        assert marked(mark).startswith("python3 -m venv .venv")
        assert "-c constraints.txt" in marked(mark)


@pytest.mark.slow
def test_the_main_job_on_a_fresh_checkout_shows_what_the_readme_promises(tmp_path: Path):
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    run = subprocess.run(marked("run"), shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert timeless(run.stdout.strip()) == timeless(block("After ten seconds the output ends"))
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in run.stdout.strip().splitlines())
    assert shown["length 1,000,000"] == "100 % of 4 words"
    folder = tmp_path / shown["run folder"]
    assert (folder / "DONE").exists()
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    checked = subprocess.run(marked("check"), shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.stdout.split() == README[README.index("accepted:") :].partition("\n```")[0].split()
    proven = subprocess.run(marked("prove"), shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert proven.returncode == 0, proven.stderr
    # Slack and margin may differ from machine to machine; what is proven may not.
    accepted = proven.stdout[proven.stdout.index("accepted:") :].splitlines()
    assert [line.split() for line in (accepted[0], *accepted[2:4])] == [
        line.split() for line in (checked.stdout.splitlines()[0], *checked.stdout.splitlines()[2:4])
    ]
    assert accepted[1].startswith("The same holds of the network as it is, without replacing any state")
    assert accepted[4].startswith("12 entries recomputed")
