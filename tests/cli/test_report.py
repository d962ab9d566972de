"""`regulargpt report`: where the page is written, what is refused, and what it imports."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regulargpt.storage import manifest
from tests.cli.conftest import Cli
from tests.regulargpt.certified import folder
from tests.test_imports import CODE, HEAVY, ROOT


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The runs in the current folder."""
    shutil.copytree(ROOT / "docs" / "certified" / "parity", tmp_path / "parity")
    folder(tmp_path / "rnn", "tomita-3", model="rnn")
    return tmp_path


def everything(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "out", "certified"),
    [
        ("parity", "parity/report.html", ["parity"]),
        ("rnn", "rnn/report.html", []),
        ("parity rnn", "report.html", ["parity"]),
        ("parity rnn --out lecture.html", "lecture.html", ["parity"]),
    ],
)
def test_the_page_is_written(cli: Cli, runs: Path, arguments: str, out: str, certified: list[str]):
    before = everything(runs)
    answer = cli("report", *arguments.split(), "--json")
    assert (answer.code, answer.err) == (0, "")
    folders = [argument for argument in arguments.split() if argument in ("parity", "rnn")]
    page = (runs / out).read_bytes()
    written = {"out": out, "bytes": len(page), "runs": folders, "certified": certified, "of_another": []}
    assert json.loads(answer.out) == written
    assert page.startswith(b"<!doctype html>")
    assert set(everything(runs)) - set(before) == {str(runs / out)}
    again = cli("report", *arguments.split())
    assert again.out == f"{out}: {len(page):,} bytes, {len(certified)} of {len(folders)} certified\n"
    assert (runs / out).read_bytes() == page


def test_refusals_write_nothing(cli: Cli, runs: Path):
    (runs / "unfinished").mkdir()
    for name in ("config.toml", "environment.json"):
        shutil.copy(runs / "parity" / name, runs / "unfinished" / name)
    shutil.copytree(runs / "parity", runs / "other")
    path = runs / "other" / "certificate.json"
    record = json.loads(path.read_text())
    record["weights"]["sha256"] = "0" * 64
    path.write_text(json.dumps(record))
    shutil.copytree(runs / "parity", runs / "broken")
    (runs / "broken" / "certificate.json").write_text("[]")
    shutil.copytree(runs / "parity", runs / "damaged")
    (runs / "damaged" / "measures.csv").write_text("length")
    before = everything(runs)
    found = manifest.digest((runs / "other" / "model.safetensors").read_bytes())[:12]
    stale = (
        "other/certificate.json proves nothing: model.safetensors is not the weights of this certificate: "
        f"SHA-256 {found}, certified 000000000000; run `regulargpt verify other` again"
    )
    not_an_object = "broken/certificate.json is not an object; run `regulargpt verify broken` again"
    refused = {
        "unfinished": "the run in unfinished is not finished; `regulargpt resume unfinished` first",
        "other": stale,
        "parity other": stale,
        "broken": f"broken/certificate.json proves nothing: {not_an_object}",
        "parity --out rnn": "--out rnn is a folder; name a file, as in --out rnn/report.html",
        "parity --out no/page.html": "--out no/page.html: the folder no does not exist; make it first",
        "damaged": "damaged/measures.csv is damaged: SHA-256 expected ",
    }
    for arguments, message in refused.items():
        answer = cli("report", *arguments.split())
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert answer.err.startswith(f"error: {message}")
        assert everything(runs) == before


def test_the_page_of_a_proven_network_is_made_without_what_draws_or_trains(runs: Path):
    line = f"report {runs / 'parity'} --out {runs / 'report.html'}"
    command = [sys.executable, "-c", f"HEAVY = {HEAVY!r}\n{CODE}", line]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # networkx says where the states of the automaton stand, by means of scipy; safetensors reads the weights; tqdm says
    # how far the check is; torch computes the states on the map, and scipy clusters them.
    ended, *heavy = done.stdout.removeprefix(f"{line}: ").split()
    assert ended == "0"
    assert {"torch", "networkx", "scipy", "safetensors", "tqdm"} <= set(heavy)
    assert not {"matplotlib", "sklearn"} & set(heavy)
    assert (runs / "report.html").exists()
