"""`regulargpt kernels` and `regulargpt position-variance`: what they say and write, and what they refuse."""

import csv
import json
from pathlib import Path

import pytest

from regulargpt.measurements import variance_by_position
from regulargpt.measurements.position_probe import ProbeSetting
from regulargpt.measurements.position_variance import Setting
from regulargpt.measurements.variance_by_position import Preset
from tests.cli.conftest import Cli

TINY = Preset(
    Setting(d_model=16, n_heads=2, length=9, draws=4),
    ProbeSetting(Setting(d_model=8, n_heads=2, length=6, n_layers=1), updates=2, batch_size=2),
)


@pytest.fixture
def tiny(monkeypatch) -> None:
    """All presets are small."""
    for preset in variance_by_position.PRESETS:
        monkeypatch.setitem(variance_by_position.PRESETS, preset, TINY)


def test_a_row_a_head(cli: Cli):
    code, out, err = cli("kernels", "alibi", "--heads", 2, "--length", 32)
    assert (code, err) == (0, "")
    header, *rows = [" ".join(line.split()) for line in out.splitlines()[1:4]]
    assert header == "head CPD PD smallest on sum 0 c, n = 2 c, n = 8 c, n = 32 effective length"
    assert rows == ["1 yes no 0.0313 0.0312 0.219 0.969 33", "2 yes no 0.00196 0.00195 0.0137 0.0605 513"]
    assert out.splitlines()[4:] == [
        "shift invariant: yes; largest difference 0",
        "the smallest c that makes c + f positive definite grows over these lengths, in all heads",
        "a constant added to the bias is not seen by softmax",
    ]


def test_what_multiplies_the_logits_is_not_looked_at_and_said(cli: Cli):
    said = "the encoding also multiplies the logits, which is not looked at"
    assert cli("kernels", "kerple_bias_wht", "--length", 4).out.splitlines()[-1] == said
    assert said not in cli("kernels", "kerple_power", "--length", 4).out


def test_kernels_as_json_and_as_files(cli: Cli, tmp_path: Path):
    answer = cli("kernels", "alibi:slopes=press", "--heads", 12, "--length", 16, "--json", "--out", "kernels")
    report = json.loads(answer.out)
    assert report == json.loads((tmp_path / "kernels" / "kernels.json").read_text("utf-8"))
    assert [head["effective_length"]["value"] for head in report["heads"]][-4:] == [3, 6, 12, 23]
    assert report["shift_invariance"] == {"largest_difference": 0.0, "is_invariant": True}
    with (tmp_path / "kernels" / "kernels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["bias"]) for row in rows[:16]] == [-0.5 * x for x in range(16)]
    assert (tmp_path / "kernels" / "kernels.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("tiny")
def test_the_lemmas_and_the_probe(cli: Cli):
    code, out, err = cli("position-variance")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "a random layer without encodings: d = 16, H = 2, L = 9, s = 0.02, 4 draws"
    assert [line.split(":")[0] for line in lines[2:5]] == ["2.1", "2.2", "2.2"]
    assert [line.split()[0] for line in lines[6:10]] == ["1", "2", "8", "9"]
    assert lines[-4].startswith("mean absolute error of positions up to 6; always the middle: 1.5")
    assert [line.split()[0] for line in lines[-2:]] == ["0", "1"]


@pytest.mark.usefixtures("tiny")
def test_position_variance_as_json_and_as_files(cli: Cli, tmp_path: Path):
    answer = cli("position-variance", "--preset", "thesis", "--seed", 3, "--json", "--out", "variance")
    report = json.loads(answer.out)
    folder = tmp_path / "variance"
    assert report == json.loads((folder / "position-variance.json").read_text("utf-8"))
    assert report["preset"] == "thesis"
    assert [layer["layer"] for layer in report["probe"]["layers"]] == [0, 1]
    with (folder / "position-variance.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["causal"]) for row in rows] == report["variance"]["causal"]
    assert (folder / "position-variance.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(cli("position-variance", "--preset", "thesis", "--seed", 3, "--json").out) == report


@pytest.mark.usefixtures("tiny")
def test_without_updates_there_is_no_probe(cli: Cli):
    assert json.loads(cli("position-variance", "--updates", 0, "--json").out)["probe"] is None
    assert "always the middle" not in cli("position-variance", "--updates", 0).out


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("verb", [("kernels", "alibi"), ("position-variance",)], ids=lambda verb: verb[0])
def test_an_out_that_is_a_file_is_refused(cli: Cli, tmp_path: Path, verb: tuple[str, ...]):
    (tmp_path / "a-file").write_text("kept")
    code, out, err = cli(*verb, "--out", "a-file")
    assert (code, out) == (2, "")
    assert err == "error: a-file is a file; choose another --out\n"
    assert (tmp_path / "a-file").read_text() == "kept"
