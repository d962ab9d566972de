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
    # It is small, and names no other folder.
    files = [path for path in (CERTIFIED / language).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 400_000
    assert json.loads((CERTIFIED / language / "summary.json").read_text())["run_dir"] == f"docs/certified/{language}"
