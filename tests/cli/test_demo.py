"""`regulargpt demo`: at once from the package, by construction or by training, and what is refused before it begins."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from regulargpt.classroom.lesson import making
from regulargpt.runs import run as running
from tests.cli.conftest import Cli
from tests.regulargpt.certified import folder
from tests.regulargpt.markup import data_of
from tests.test_imports import ROOT

CERTIFIED = ROOT / "docs" / "certified"


def test_it_works_at_once_without_torch(tmp_path: Path):
    code = "import sys; from regulargpt.cli import call; print(call(['demo', '--json']), 'torch' in sys.modules)"
    command, clean = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=clean)
    written, ended = done.stdout.splitlines()
    size = (tmp_path / "lesson.html").stat().st_size
    assert json.loads(written) == {"out": "lesson.html", "bytes": size, "language": "parity", "network": "committed"}
    assert ended == "0 False"
    assert size < 500_000
    assert [path.name for path in tmp_path.iterdir()] == ["lesson.html"]


def test_the_workbench_without_torch(tmp_path: Path):
    given = "['demo', 'tomita-3', '--workbench', 'bench.html', '--json']"
    code = f"import sys; from regulargpt.cli import call; print(call({given}), 'torch' in sys.modules)"
    command, clean = [sys.executable, "-c", code], {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=clean)
    written, ended = done.stdout.splitlines()
    size = (tmp_path / "bench.html").stat().st_size
    assert json.loads(written) == {"out": "bench.html", "bytes": size, "language": "tomita-3"}
    assert ended == "0 False"
    assert [path.name for path in tmp_path.iterdir()] == ["bench.html"]
    machine = json.loads(data_of(tmp_path / "bench.html")["machine"])
    assert (len(machine["states"]), machine["alphabet"]) == (5, ["0", "1"])


def test_a_language_of_the_users_by_construction(cli: Cli, tmp_path: Path):
    answer = cli("demo", "regex:(ab)*", "--out", "ab.html")
    assert (answer.code, answer.err) == (0, "")
    assert re.fullmatch(r"ab.html: [\d,]+ bytes, a lesson on regex:\(ab\)\*; open it in a browser\n", answer.out)
    assert [path.name for path in tmp_path.iterdir()] == ["ab.html"]
    data = data_of(tmp_path / "ab.html")
    assert (data["alphabet"], len(data["elements"]["words"]), data["rival"]) == (["a", "b"], 6, None)
    text = (tmp_path / "ab.html").read_text("utf-8")
    assert "nobody trained it" in text
    assert "<p>membership: (ab)*</p>" in text


def test_by_training_until_it_is_proven(cli: Cli, tmp_path: Path, monkeypatch):
    """What is trained is replaced by a run that was trained before; all else is as it is."""
    asked = []

    def trained(config, out, watch):
        asked.append(config)
        Path(out).parent.mkdir()
        Path(out).symlink_to(CERTIFIED / "parity")
        return {}

    monkeypatch.setattr(running, "run", trained)
    answer = cli("demo", "parity", "--train", "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["network"] == "trained"
    assert answer.err.startswith("training until it is proven: this takes a minute for a simple language and up to ten")
    assert [phase.every for phase in asked[0].phases] == [100]
    assert (asked[0].evaluation.test_len, asked[0].evaluation.samples) == (60, 64)
    again = cli("demo", "parity", "--train")
    place = "runs/parity-gated-regulargpt-C2-seed0"
    assert again.err == f"error: {place} is there already; show it with `regulargpt demo --run {place}`\n"
    assert cli("demo", "--run", place, "--json").code == 0


def test_a_small_language_with_brackets_by_construction(cli: Cli, tmp_path: Path):
    answer = cli("demo", "brackets-1", "--out", "one.html")
    assert (answer.code, answer.err) == (0, "")
    data = data_of(tmp_path / "one.html")
    assert (data["alphabet"], data["nesting"]["direction"]) == (["(", ")"], [1, -1])
    assert "nobody trained it" in (tmp_path / "one.html").read_text("utf-8")


def test_of_a_larger_language_with_brackets_a_small_network_is_trained_at_once(cli: Cli, tmp_path: Path, monkeypatch):
    asked = []

    def trained(config, out):
        asked.append(config)
        Path(out).symlink_to(CERTIFIED / "brackets-2")
        return {"proven": config.data.name == "formula"}

    monkeypatch.setattr(running, "run", trained)
    answer = cli("demo", "formula", "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["network"] == "trained"
    assert answer.err == "training a small network until it is proven: this takes about a minute\n"
    assert [phase.every for phase in asked[0].phases] == [100]
    assert (asked[0].model.d_model, asked[0].model.tree, asked[0].evaluation.samples) == (32, "nested", 1)
    answer = cli("demo", "json", "--out", "other.html")
    assert (answer.code, answer.err.splitlines()[1]) == (
        2,
        "error: a small network on json was not proven in time; try `regulargpt demo json --train`",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["lesson.html"]


def test_a_run_and_another_beside_it(cli: Cli, tmp_path: Path):
    folder(tmp_path / "gru", "parity", model="gru")
    assert cli("demo", "--beside", "gru", "--out", "two.html").code == 0
    data = data_of(tmp_path / "two.html")
    assert (data["label"], data["rival"]["label"]) == ("RegularGPT", "GRU")
    text = (tmp_path / "two.html").read_text("utf-8")
    assert "a network of another make, the GRU, adjusted 1 times for words of at most 40 symbols." in text
    assert "It gives a wrong answer to <code>" in text


REFUSED = [
    ("demo partiy", "unknown language 'partiy'; did you mean 'parity'?"),
    ("demo text:code", "'text:code' is a text, which has no automaton"),
    ("demo dyck-12", "dyck-12 has more than 60 monoid elements, too many for a lesson; choose a smaller language"),
    ("demo symmetric-5 --train", "symmetric-5 has more than 60 monoid elements, too many for a lesson"),
    ("demo tomita-3", "to construct and prove a network in a moment; train one with `regulargpt demo tomita-3"),
    ("demo list-ops", "list-ops has more than 150 elements, too many for a lesson; choose a smaller language"),
    ("demo regex:a*", "all words of regex:a* of one symbol or more are alike: there is nothing to learn"),
    ("demo dfa:missing.json", "missing.json"),
    ("demo --run missing", "run folder missing does not exist"),
    ("demo --beside missing", "run folder missing does not exist"),
    ("demo parity --run here", "--run here and the language parity exclude each other; a run has its language"),
    ("demo --train --run here", "--run here and --train exclude each other"),
    ("demo --out folder", "--out folder is a folder; name a file, as in --out folder/lesson.html"),
    ("demo --workbench folder", "--workbench folder is a folder; name a file, as in --workbench folder/workbench.html"),
    ("demo --workbench new.html --train", "--workbench and --train exclude each other"),
    ("demo --workbench new.html --run here", "--workbench and --run exclude each other"),
    ("demo --workbench new.html --beside here", "--workbench and --beside exclude each other"),
    ("demo --workbench new.html --out other.html", "--workbench and --out exclude each other"),
    ("demo dyck-12 --workbench new.html", "dyck-12 has more than 60 monoid elements"),
    ("demo symmetric-4 --workbench new.html", "symmetric-4 has 24 states, and on the workbench one draws at most 12"),
    ("demo formula --workbench new.html", "formula has 18 states, and on the workbench one draws at most 12"),
    ("demo --run unproven", "unproven is not proven; a lesson ends with a proof"),
    ("demo dyck-2 --beside unproven", "--beside unproven has learned parity and the lesson is about dyck-2"),
]


@pytest.mark.parametrize(("arguments", "part"), REFUSED, ids=[a for a, _ in REFUSED])
def test_refusals(cli: Cli, tmp_path: Path, arguments: str, part: str):
    (tmp_path / "folder").mkdir()
    if "unproven" in arguments:
        folder(tmp_path / "unproven", "parity")
    before = sorted(tmp_path.rglob("*"))
    answer = cli(*arguments.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith("error: ")
    assert part in answer.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_construction_that_is_not_proven_is_no_lesson(cli: Cli, tmp_path: Path, monkeypatch):
    unproven = {"proven": False, "reason": "no reason"}
    monkeypatch.setattr("regulargpt.runs.certify.certificate_report", lambda folder, progress: unproven)
    said = "aa-star by construction is not proven: no reason; try `regulargpt demo aa-star --train`"
    assert cli("demo", "aa-star").err == f"error: {said}\n"
    assert list(tmp_path.iterdir()) == []


def test_the_runs_of_the_package_are_found_where_they_lie():
    assert making.committed("parity") == CERTIFIED / "parity"
    assert [making.committed(name) for name in ("dyck-2", "../certified/parity", "parity:p_one=0.1", "")] == [None] * 4


def test_an_installed_package_has_the_runs_too():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    found = {ROOT / source: ROOT / place for source, place in included.items()}
    assert found == {making.PLACES[1]: making.PLACES[0]}
