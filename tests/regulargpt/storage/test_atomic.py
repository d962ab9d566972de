"""What is no file is neither read nor replaced."""

import os
from pathlib import Path

import pytest

from regulargpt.storage import atomic, metrics

CALLS = {
    "read": atomic.read_bytes,
    "write": lambda path: atomic.write_bytes(path, b"data"),
    "append": lambda path: metrics.append(path, b"data"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_pipe_or_a_device_is_neither_waited_for_nor_replaced(tmp_path: Path, call: str):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(atomic.StorageError, match="pipe: it is a pipe or a device, not a file; give a file"):
        CALLS[call](tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
