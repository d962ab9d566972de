"""Languages with brackets on the command line: shown, drawn, learned by trees along the brackets and by others."""

import json
from pathlib import Path

from tests.cli.conftest import Cli, lines_of

SMALL = ("--steps", 3, "--test-len", 42, "--extra-lengths", 60, "--samples", 4, "--d-model", 8)


def test_show_and_sample(cli: Cli):
    lines = lines_of(cli("show", "brackets-2"))
    assert "algebra 6 elements (5 in the minimal algebra)" in lines
    assert "calls ( [" in lines
    facts = json.loads(cli("show", "brackets-1", "--json").out)
    assert (facts["level"], facts["states"], facts["stack_symbols"]) == ("context-free", 3, 3)
    assert 'label="( / push' in cli("show", "brackets-1", "--dot").out
    drawn = lines_of(cli("sample", "brackets-2", "--length", 12, "--count", 4, "--near-misses", 1, "--text"))
    assert sorted(line.split()[1] for line in drawn) == ["accept", "accept", "reject", "reject"]


def test_a_machine_of_the_users_is_shown_as_a_table(cli: Cli, tmp_path: Path):
    moves = [{"from": "p", "read": "<", "to": "p", "push": "g"}, {"from": "p", "read": ">", "to": "p", "pop": True}]
    machine = {"alphabet": ["<", ">"], "initial": "p", "moves": moves, "outputs": {"p": "yes"}}
    (tmp_path / "mine.json").write_text(json.dumps(machine))
    lines = lines_of(cli("show", "pushdown:mine.json"))
    assert "> p yes < any p push g" in lines
    assert "> p yes > any p pop" in lines


def test_runs(cli: Cli, tmp_path: Path):
    """A tree follows the brackets by itself, and may be told not to; other networks read the word."""
    for name, options in {"tree": (), "flat": ("--set", "model.tree=flat"), "gru": ("--model", "gru")}.items():
        answer = cli("run", "arithmetic-brackets", *SMALL, *options, "--out", name)
        assert (answer.code, answer.out.splitlines()[-1].split()[0]) == (0, "verdict"), answer
        config = json.loads((tmp_path / name / "config.json").read_text())
        assert config["model"].get("tree") == {"tree": "nested", "flat": "flat"}.get(name)
        assert config["direction"] == [0] * 8 + [1, -1]
        measured = json.loads(cli("evaluate", name, "--lengths", 50, "--samples", 4, "--json").out)
        assert list(measured["measures"]["accuracy"]["values"]) == ["50"]
        assert cli("report", name).code == 0
        page = (tmp_path / name / "report.html").read_text()
        assert "Nothing is proven: accuracy was observed on samples. No certificate" in page
    assert cli("resume", "tree").code == 0


def test_sweep(cli: Cli):
    answer = cli("sweep", "brackets-2", *SMALL, "--seed", "0,1", "--out", "swept")
    assert answer.code == 0, answer
    assert "2 runs in swept: 2 done, 0 missing, 0 failed" in answer.out
