"""What a write never replaces."""

import os
from pathlib import Path

import pytest

from regulargpt.storage import atomic


def test_a_pipe_or_a_device_is_never_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(atomic.StorageError, match="pipe: it is a pipe or a device, not a file; give a file"):
        atomic.write_bytes(tmp_path / "pipe", b"data")
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
