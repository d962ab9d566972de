"""The certified runs in the repository: what README and docs say of them is accepted, today, by the checker."""

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


def test_a_network_is_proven_with_points_and_refuted_as_it_is(cli: Cli):  # noqa: F811
    run = CERTIFIED / "flip-flop"
    proven = cli("check", str(run), "--language", "flip-flop", "--json")
    refuted = cli("check", str(run / "refutation.json"), "--language", "flip-flop", "--json")
    assert (proven.code, refuted.code) == (0, 0)
    accepted, wrong = json.loads(proven.out), json.loads(refuted.out)
    assert "replaced by the nearest of 2 points" in accepted["claim"]
    assert accepted["unquantised_claim"] is None
    assert wrong["claim"].startswith('For every whole number n >= 14: to the word u v^n w, with u = "1", v = "-"')
    # What the guide says of its test.
    accuracy = json.loads((run / "summary.json").read_text())["measures"]["accuracy"]["values"]
    assert set(accuracy.values()) == {100.0}
    assert list(map(int, accuracy)) == [*range(41, 61), 100, 500]
    is_small_and_names_no_other_folder(run)
