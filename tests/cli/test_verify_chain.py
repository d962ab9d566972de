"""Recurrent networks in all verbs: verify, check, evaluate --quantised, report; and networks from outside."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

import regulargpt
from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.forging import forge, put

QUICK = {
    "data.name": "even-pairs",
    "data.train_len": 8,
    "training.steps": 300,
    "training.lr": 0.02,
    "model.d_model": 16,
    "evaluation.test_from": 9,
    "evaluation.test_len": 12,
    "evaluation.samples": 32,
    "evaluation.extra_lengths": (),
}
CELL = '''
import torch
from regulargpt.models.layers import linear
from regulargpt.models.recurrent import Stepwise

class Cell(Stepwise):
    """An Elman network, but for the sine."""

    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__(n_symbols, 16, n_outputs, generator)
        self.gates = linear(n_symbols + 16, 16, generator)

    def step(self, state, x):
        return self.gates(torch.cat([state, x], 1)).sin()


class Sorted(Cell):
    """The same, and a sort that changes nothing: a graph has no such operation."""

    def step(self, state, x):
        return super().step(state, x)[:, :, None].sort().values[:, :, 0]
'''


def trained(folder: Path, model: str, **changes: object) -> Path:
    config = RunConfig().replaced({"model.name": model})
    keys = {key: value for key, value in QUICK.items() if key != "model.d_model" or ":" not in model}
    running.run(config.replaced({**keys, **changes}), folder)
    return folder


@pytest.fixture(scope="module")
def gru(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that can be proven, and is not yet."""
    return trained(tmp_path_factory.mktemp("chains") / "gru", "gru")


@pytest.fixture
def run(gru: Path, tmp_path: Path) -> Path:
    return Path(copytree(gru, tmp_path / "run"))


def test_a_trained_network_is_proven_checked_tested_listed_and_shown(cli: Cli, run: Path):
    assert_refused(cli("evaluate", "run", "--quantised"), "run has no certificate yet; try `regulargpt verify run`")
    answer = cli("verify", "run", "--length", "20")
    assert answer.code == 0
    said = answer.out.splitlines()
    assert said[-1].startswith("no refutation: ")
    assert said[-4].startswith(
        "proven at every length, in real arithmetic, the state replaced after every symbol by the nearest of 4 points: "
        "10 rows, 4 pairs with the automaton, smallest margin "
    )
    assert said[-2].startswith("certificate: ")
    report = json.loads(cli("verify", "run", "--length", "20", "--json").out)["certificate"]
    assert {key: report[key] for key in ("proven", "kind", "points", "rows", "pairs")} == {
        "proven": True,
        "kind": "chain",
        "points": 4,
        "rows": 10,
        "pairs": 4,
    }
    certificate = json.loads((run / "certificate.json").read_text())
    assert [len(certificate["points"]), len(certificate["points"][0])] == [4, 16]
    checked = json.loads(cli("check", "run", "--language", "even-pairs", "--json").out)
    assert checked["accepted"]
    assert checked["claim"] == certificate["claim"]
    # What both counted, and margins that both computed, one of them in balls.
    assert [checked[key] for key in ("points", "rows", "pairs")] == [4, 10, 4]
    assert checked["point_margin"] == pytest.approx(report["smallest_margin"], rel=1e-6)
    assert checked["answer_margin"] == pytest.approx(report["smallest_answer_margin"], rel=1e-6)
    assert "4 points, 10 rows recomputed with 64 bits, 4 pairs; least margin of points" in cli("check", "run").out
    # The network that theorem 1 is about is right at every length; the one as it is need not be.
    answer = cli("evaluate", "run", "--quantised", "--lengths", "9,3000", "--samples", "16")
    assert (
        ", the state after each symbol replaced by the nearest of 4 points: mean accuracy 100 %, worst 100"
        in answer.out
    )
    tested = json.loads(cli("evaluate", "run", "--quantised", "--lengths", "9", "--json").out)
    assert (tested["points"], tested["prototypes"]) == (4, None)
    assert regulargpt.load(run, quantised=True).answers(["01" * 500, "10" * 499 + "11"]) == ["odd", "even"]
    shown = cli("report", "run", "--out", "page.html")
    assert (shown.code, "1 of 1 certified" in shown.out) == (0, True)
    page = Path("page.html").read_text()
    assert "the state replaced after every symbol by the nearest of 4 points. Of the network as it is, this is" in page
    assert "4 points, 10 rows, 4 pairs with the automaton, nearest rival at least" in page


def test_one_of_todays_networks_is_proven_checked_and_tested_likewise(cli: Cli, tmp_path: Path):
    """And as another variant than it was trained as, it is refused: parity needs negative eigenvalues."""
    small = {"data.name": "parity", "model.n_layers": 1, "model.n_heads": 2, "model.conv": 0, "model.range": "signed"}
    trained(tmp_path / "run", "delta", **small)
    answer = cli("verify", "run", "--length", "9")
    assert "the state replaced after every symbol by the nearest of 2 points: 6 rows, 2 pairs" in answer.out
    assert json.loads(cli("check", "run", "--language", "parity", "--json").out)["accepted"]
    answer = cli("evaluate", "run", "--quantised", "--lengths", "9,3000", "--samples", "16")
    assert "replaced by the nearest of 2 points: mean accuracy 100 %, worst 100" in answer.out
    forge(tmp_path / "run", "network", put("model/range", "unit"))
    answer = cli("check", "run")
    assert (answer.code, "its states replaced, answers" in answer.out + answer.err) == (1, True)


def test_a_certificate_of_other_points_or_weights_is_refused(cli: Cli, run: Path):
    cli("verify", "run", "--length", "9")
    path = run / "certificate.json"
    record = json.loads(path.read_text())
    record["points"][0] = record["points"][0][1:]
    path.write_text(json.dumps(record))
    assert_refused(cli("evaluate", "run", "--quantised"), "certificate.json has no prototypes of this network")
    record["points"] = [row[:15] for row in record["points"]]
    path.write_text(json.dumps(record))
    assert_refused(cli("evaluate", "run", "--quantised"), "certificate.json has no prototypes of this network")
    assert cli("check", "run").code == 1
    # Verified again, it is what it was.
    assert cli("verify", "run", "--length", "9").code == 0
    assert cli("check", "run").code == 0


def test_a_network_that_errs_is_told_with_its_shortest_wrong_words(cli: Cli, tmp_path: Path):
    trained(tmp_path / "run", "gru", **{"data.name": "parity", "training.steps": 20})
    answer = cli("verify", "run", "--length", "9")
    assert answer.code == 0
    assert (
        "\nno certificate: the quantised network errs on a word\nthe quantised network's shortest wrong word has "
        in (answer.out)
    )
    assert "\nthe network's own shortest wrong word found has 1 symbol: " in answer.out
    assert not (tmp_path / "run" / "certificate.json").exists()
    assert json.loads((tmp_path / "run" / "uncertified.json").read_text())["kind"] == "chain"
    # It is a proof of something, of the same weights.
    assert ("\nas it is: wrong on " in answer.out, cli("check", "--refutation", "run").out[:25]) == (
        True,
        "accepted: For every whole",
    )
    (tmp_path / "run" / "refutation.json").unlink()
    assert_refused(cli("check", "run"), "run has no certificate: the quantised network errs on a word")
    assert "No certificate: the quantised network errs on a word." in Path(report_of(cli, "run")).read_text()


def report_of(cli: Cli, run: str) -> str:
    assert cli("report", run, "--out", "page.html").code == 0
    return "page.html"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "chain_lab.py").write_text(CELL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("chain_lab", None)


@pytest.mark.usefixtures("lab")
def test_a_network_from_outside_is_proven_by_its_graph(cli: Cli, tmp_path: Path):
    trained(tmp_path / "run", "chain_lab:Cell")
    answer = cli("verify", "run", "--length", "9")
    assert answer.code == 0
    assert (
        "\nproven at every length, in real arithmetic, the state replaced after every symbol by the nearest of 4 points"
    ) in answer.out
    checked = cli("check", "run", "--language", "even-pairs")
    assert checked.code == 0
    assert "the function in graph.json answers as the automaton does" in checked.out
    assert cli("evaluate", "run", "--quantised").code == 0


@pytest.mark.usefixtures("lab")
def test_a_network_from_outside_without_a_graph_is_compared_and_never_called_proven(cli: Cli, tmp_path: Path):
    trained(tmp_path / "run", "chain_lab:Sorted")
    answer = cli("verify", "run", "--length", "9")
    assert answer.code == 0
    assert "proven at" not in answer.out
    why = "torch's `sort` has no counterpart in graph.json"
    assert (
        f"{why}\nby its table in float64, the state replaced after every symbol by the "
        "nearest of 4 points, it is right on every word: 10 rows, 4 pairs with the automaton, smallest margin "
    ) in answer.out
    report = RunFolder.open(tmp_path / "run").load_attempt()
    assert report is not None
    assert (report["proven"], report["checked"]) == (False, False)
    assert_refused(cli("evaluate", "run", "--quantised"), f"run has no certificate: not checked:…{why}")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective.name": "next"}, "the run answers 'next', not the word at its end"),
        ({"objective.output_token": True}, "the run reads its answer at an output token"),
    ],
)
def test_what_no_automaton_answers_has_no_certificate(cli: Cli, tmp_path: Path, changes: dict[str, object], said: str):
    trained(tmp_path / "run", "rnn", **{"data.name": "dyck-2", "training.steps": 2, **changes})
    report = certificate_report(RunFolder.open(tmp_path / "run"))
    assert report["proven"] is False
    assert report["reason"].startswith(said)


def test_a_network_that_is_asked_at_every_symbol_is_proven_by_its_last_answers(tmp_path: Path):
    trained(tmp_path / "run", "gru", **{"objective.name": "prefixes"})
    report = certificate_report(RunFolder.open(tmp_path / "run"))
    assert (report["proven"], report["kind"]) == (True, "chain")
