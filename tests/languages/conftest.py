"""A cache of texts of its own for each test, and a folder of texts."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Thirty files, some in folders."""
    folder = tmp_path / "notes"
    for index in range(30):
        path = folder / ("deep/er" if index % 3 else ".") / f"{index}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<{index}>" * (index + 5))
    return folder
