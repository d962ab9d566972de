"""Languages with brackets on the command line: shown, drawn, learned by trees along the brackets and by others."""

import json
import shutil
from pathlib import Path
from typing import cast

import languages
import regulargpt
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.brackets import brackets
from languages.context_free.user import nested_task_of
from languages.convert.pushdown import to_json
from regulargpt.config.recipes import resolve
from regulargpt.runs.run import Watch, resume, run
from regulargpt.storage import lock
from regulargpt.training.trainer import Trainer
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
    assert "flat does not follow the brackets of arithmetic-brackets" in cli("verify", "flat").err


def test_from_python(tmp_path: Path):
    """A name, or a machine that goes by a name of its own in this process."""
    options = {"train_len": 6, "steps": 3, "test_len": 8, "extra_lengths": (), "d_model": 8, "curriculum": ()}
    for number, language in enumerate(("brackets-1", brackets(1).machine, nested_task_of(brackets(1).machine, "mine"))):
        summary = regulargpt.run(language, tmp_path / str(number), **options)
        assert summary["language"].startswith(("brackets-1", "made-in-python", "mine"))
        trained = regulargpt.load(tmp_path / str(number))
        assert (trained.config.model.tree, len(trained.answers(["()", ")("]))) == ("nested", 2)


def test_machines_without_visible_brackets(cli: Cli, tmp_path: Path):
    """In a file or made in Python, a stack machine learns them: rows of answers, or the answer at the last symbol."""
    small = {"train_len": 6, "steps": 2, "test_len": 8, "extra_lengths": (), "d_model": 8, "curriculum": ()}
    for name, measure in (("reverse-string", "words"), ("marked-reversal", "accuracy")):
        machine = cast("PushdownTransducer", languages.find(name).machine)
        (tmp_path / "mine.json").write_text(to_json(machine))
        for language in ("pushdown:mine.json", machine):
            out = tmp_path / f"{name} {isinstance(language, str)}"
            assert regulargpt.run(language, out, **small)["measure"] == measure
            assert regulargpt.load(out).config.model.name == "stack-rnn"
        assert f"{measure} 41..42" in " ".join(cli("run", "pushdown:mine.json", *SMALL, "--out", name).out.split())


def test_from_answers_to_a_proof_also_where_it_was_stopped(cli: Cli, tmp_path: Path):
    """The whole way on the smallest language; the checker accepts what comes out, which is the same bit for bit."""
    user = {
        "data.train_len": 8,
        "model.d_model": 16,
        "model.d_ff": 32,
        "evaluation.test_len": 10,
        "training.steps": 600,
    }
    user |= {"evaluation.extra_lengths": (), "training.curriculum": (), "training.lr": 2e-3, "training.batch_size": 64}
    user |= {"phases.table_fine_tuning.every": 50, "phases.table_fine_tuning.windows": 256}
    config = resolve(None, "regulargpt", "brackets-1", user)

    def copy(trainer: Trainer) -> None:
        """What lies there if the machine loses its power now."""
        if trainer.step_count % 20 == 0:
            shutil.copytree(tmp_path / "proven", tmp_path / str(trainer.step_count))

    whole = run(config, tmp_path / "proven", Watch(on_step=copy))
    learned_at = whole["phases"]["table_fine_tuning"]["learned_at"]
    assert whole["proven"]
    stopped = tmp_path / str(learned_at // 20 * 20 + 20)
    (stopped / lock.NAME).unlink()
    resume(stopped)
    for file in ("model.safetensors", "certificate.json", "automaton.json"):
        assert (tmp_path / "proven" / file).read_bytes() == (stopped / file).read_bytes()
    assert cli("check", "proven", "--language", "brackets-1").code == 0
    assert cli("check", "proven", "--language", "brackets-1:bound=2").code == 1


def test_sweep(cli: Cli):
    answer = cli("sweep", "brackets-2", *SMALL, "--seed", "0,1", "--out", "swept")
    assert answer.code == 0, answer
    assert "2 runs in swept: 2 done, 0 missing, 0 failed" in answer.out
