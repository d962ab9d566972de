"""The certified runs in the repository: what README and docs say of them is accepted, today, by the checker."""

import html
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli  # noqa: F401

ROOT = Path(__file__).parent.parent
CERTIFIED = ROOT / "docs" / "certified"


BEGINS = 'For every word over {"0", "1"} of at least one symbol, the network'
NESTED = 'For every word over {"(", ")", "[", "]"}, of whatever length and depth, of at least one symbol, the network'
CLAIMS = {"parity": BEGINS, "even-pairs": BEGINS, "brackets-2": NESTED}


@pytest.mark.parametrize("language", CLAIMS)
def test_a_certified_run_is_accepted_as_it_is_and_for_its_language(cli: Cli, language: str):  # noqa: F811
    checked = cli("check", str(CERTIFIED / language), "--language", language, "--json")
    assert checked.code == 0
    accepted = json.loads(checked.out)
    assert accepted["claim"].startswith(CLAIMS[language])
    assert accepted["unquantised_claim"].startswith("The same holds of the network as it is")
    assert accepted["language_claim"].endswith(f"as the language {language} does.")
    assert accepted["answered_states"] == accepted["states"]
    is_small_and_names_no_other_folder(CERTIFIED / language)


def is_small_and_names_no_other_folder(run: Path):
    assert sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) < 400_000
    assert json.loads((run / "summary.json").read_text())["run_dir"] == f"docs/certified/{run.name}"


REFUTED = {
    "flip-flop": ("flip-flop", 2, 'n >= 14: to the word u v^n w, with u = "1", v = "-"'),
    "parity-delta": ("parity", 4, 'n >= 12 with n = 0 mod 2: to the word u v^n w, with u empty, v = "1", w empty'),
}


@pytest.mark.parametrize("name", REFUTED)
def test_a_network_is_proven_with_points_and_refuted_as_it_is(cli: Cli, name: str, tmp_path: Path):  # noqa: F811
    run, (language, points, family) = CERTIFIED / name, REFUTED[name]
    proven = cli("check", str(run), "--language", language, "--json")
    refuted = cli("check", str(run / "refutation.json"), "--language", language, "--json")
    assert (proven.code, refuted.code) == (0, 0)
    accepted, wrong = json.loads(proven.out), json.loads(refuted.out)
    assert f"replaced by the nearest of {points} points" in accepted["claim"]
    assert accepted["unquantised_claim"] is None
    assert wrong["claim"].startswith(f"For every whole number {family}")
    is_small_and_names_no_other_folder(run)
    page = tmp_path / "page.html"
    assert cli("report", str(run), "--out", str(page)).code == 0
    assert "Without that, it is proven to be wrong." in page.read_text()
    assert f"Wrong. {html.escape(wrong['claim'])}" in page.read_text()
    assert "<li>wrong" in page.read_text()
    # Of delta, which has no page script, the page does not even say so.
    assert ("has no tree." in page.read_text()) == (name == "flip-flop")


def test_the_guide_says_of_their_tests_what_they_have():
    keeps = accuracies("flip-flop")
    assert set(keeps.values()) == {100.0}
    assert list(keeps) == [*range(41, 61), 100, 500]
    counts = accuracies("parity-delta")
    assert {accuracy for length, accuracy in counts.items() if length <= 140} == {100.0}
    assert round(counts[200]) == 80
    summary = json.loads((CERTIFIED / "parity-delta" / "summary.json").read_text())
    assert summary["steps"] == 200
    assert round(summary["train_seconds"]) == 8


def accuracies(name: str) -> dict[int, float]:
    """Of the run's test by length."""
    values = json.loads((CERTIFIED / name / "summary.json").read_text())["measures"]["accuracy"]["values"]
    return {int(length): accuracy for length, accuracy in values.items()}
