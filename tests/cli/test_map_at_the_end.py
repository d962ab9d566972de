"""The map with which a proven run ends: drawn once, and whatever comes in between, the result is told."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from regulargpt.measurements import measuring
from regulargpt.storage.atomic import StorageError
from tests.cli.conftest import Cli
from tests.test_imports import ROOT

DRAWN = "map                proven/verify/pca.png\n"


@pytest.fixture
def proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "docs" / "certified" / "parity", tmp_path / "proven")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "proven"


def test_it_is_drawn_once_and_what_verify_has_written_stays(cli: Cli, proven: Path):
    assert DRAWN in cli("resume", "proven").out
    assert [path.name for path in (proven / "verify").iterdir()] == ["pca.png"]
    assert cli("verify", "proven", "--colour", "depth", "--words", "4", "--length", "64").code == 0
    before = {path.name: path.read_bytes() for path in (proven / "verify").iterdir()}
    assert DRAWN in cli("resume", "proven").out
    assert before == {path.name: path.read_bytes() for path in (proven / "verify").iterdir()}


@pytest.mark.parametrize(
    "error", [np.linalg.LinAlgError("SVD"), MemoryError(), KeyboardInterrupt(), StorageError("full")]
)
def test_whatever_comes_in_between_the_result_is_told(error: BaseException, cli: Cli, proven: Path, monkeypatch):
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(measuring, "draw_map", fails)
    told = cli("resume", "proven")
    assert told.code == 0
    assert "\nmap                none: " in told.out
    assert told.out.endswith("verdict            proven at every length, in real arithmetic\n")
    assert json.loads(cli("resume", "proven", "--json").out)["proven"] is True
