"""Many small folders: nothing here asks what a power cut leaves, so nothing waits for the disk."""

import pytest

from regulargpt.storage.atomic import disk


@pytest.fixture(autouse=True)
def unsynced(monkeypatch) -> None:
    """Write without fsync."""
    monkeypatch.setattr(disk, "sync", lambda handle: None)
    monkeypatch.setattr(disk, "sync_folder", lambda path: None)
