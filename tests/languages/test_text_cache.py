"""Assembled texts are found again, whole; they take no memory, and a failure leaves nothing behind."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from languages.cache_folder import cache_folder
from languages.errors import CorpusError
from regulargpt.text.corpora import assemble, corpus
from tests.languages.refusing import refusal

pytestmark = pytest.mark.usefixtures("cache")


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_a_text_is_assembled_once(notes: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    first = corpus(f"text:{notes}")
    written = only(cache).stat()
    with monkeypatch.context() as patch:
        patch.delattr(assemble, "_write")
        second = corpus(f"text:{notes}")
    assert (first.digest, first.summary) == (second.digest, second.summary)
    assert only(cache).stat().st_ino == written.st_ino
    os.utime(notes / "0.txt", ns=(0, 0))
    assert corpus(f"text:{notes}").digest == first.digest
    assert only(cache).stat().st_ino != written.st_ino  # in the place of the other: the cache does not grow


DAMAGES = {
    "a byte of the symbols": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "a byte of the test part": lambda data: data.replace(b"<27>", b"<28>", 1),
    "its end is missing": lambda data: data[:-1],
    "its beginning is missing": lambda data: data[100:],
    "half of it": lambda data: data[: len(data) // 2],
    "nothing": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "more behind it": lambda data: data + b"\0",
    "another split": lambda data: data.replace(b'"n_train": ', b'"n_train": 1', 1),
    "no number": lambda data: data.replace(b'"n_train": ', b'"n_train":"', 1).replace(b', "n_test"', b'","n_test"', 1),
    "no record": lambda data: data[:-16] + (0).to_bytes(8, "little") + data[-8:],
    "a long record": lambda data: data[:-16] + (2**63).to_bytes(8, "little") + data[-8:],
    "a record that is no object": lambda data: b"[]" + (2).to_bytes(8, "little") + data[-8:],
    "nested brackets": lambda data: b"[" * 60000 + (60000).to_bytes(8, "little") + data[-8:],
}


def test_a_damaged_file_is_made_anew(notes: Path, cache: Path):
    text = corpus(f"text:{notes}")
    whole = only(cache).read_bytes()
    for damage, of in DAMAGES.items():
        damaged = of(whole)
        assert damaged != whole, damage
        only(cache).unlink()
        (cache / text.stored.path.name).write_bytes(damaged)
        assert corpus(f"text:{notes}").digest == text.digest, damage
        assert only(cache).read_bytes() == whole, damage


CONCURRENT = """
import os, sys, time
from regulargpt.text.corpora import corpus
while time.time() < float(sys.argv[2]):
    pass
found = set()
for turn in range(10):
    os.environ["LANGUAGES_CACHE"] = f"{sys.argv[3]}/{turn}"
    found.add(corpus(sys.argv[1]).digest)
print(*found)
"""


def test_two_processes_assemble_a_text_at_once(notes: Path, cache: Path):
    command = [sys.executable, "-c", CONCURRENT, f"text:{notes}", str(time.time() + 1), str(cache)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].strip() for process in both]
    assert outputs == [corpus(f"text:{notes}/../notes").digest] * 2
    for turn in range(10):
        only(cache / str(turn))


def test_a_failed_write_leaves_nothing_and_says_the_remedy(notes: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    def stop(error: BaseException) -> Callable[[object], None]:
        def fsync(file: object) -> None:
            raise error

        return fsync

    monkeypatch.setattr(os, "fsync", stop(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert refusal(corpus, f"text:{notes}", error=CorpusError).endswith(
        ".symbols: cannot be written (No space left on device); "
        "set LANGUAGES_CACHE to a folder with space that you can write to"
    )
    assert list(cache.iterdir()) == []
    monkeypatch.setattr(os, "fsync", stop(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        corpus(f"text:{notes}")
    assert list(cache.iterdir()) == []


def test_what_killed_processes_left_is_removed_after_a_day(notes: Path, cache: Path):
    cache.mkdir()
    old, young, foreign = cache / ".x.tmp", cache / ".y.tmp", cache / "z.tmp"
    for path in (old, young, foreign):
        path.touch()
    for path in (old, foreign):
        os.utime(path, (0, 0))
    corpus(f"text:{notes}")
    assert [path.exists() for path in (old, young, foreign)] == [False, True, True]


def test_where_the_cache_is(notes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("LANGUAGES_CACHE", str(notes / "cache"))
    assert corpus(f"text:{notes}").digest == corpus(f"text:{notes}").digest
    # One that cannot be written.
    (tmp_path / "file").touch()
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "file"))
    with pytest.raises(CorpusError, match=r"cannot be written .*; set LANGUAGES_CACHE to a folder"):
        corpus(f"text:{notes}")
    # Where it is by default.
    monkeypatch.delenv("LANGUAGES_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/regulargpt-testbed")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/regulargpt-testbed")


MEMORY = """
import resource, sys
from regulargpt.text.corpora import corpus
corpus("text:" + sys.argv[1]).digest
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
text = corpus("text:" + sys.argv[2])
text.segments("train", 128, [0, len(text.train) // 2, len(text.train) - 128])
if sys.argv[3] == "digest":
    text.digest
print(len(text.train) + len(text.test), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(("sizes", "digest"), [([10 * 2**30], ""), ([2**26, 2**26, 2**20], "digest")])
def test_a_large_text_takes_no_memory(sizes: list[int], digest: str, notes: Path, tmp_path: Path):
    (tmp_path / "large").mkdir()
    for index, size in enumerate(sizes):
        with open(tmp_path / "large" / str(index), "wb") as file:
            file.truncate(size)  # sparse: it takes no disk either
    command = [sys.executable, "-c", MEMORY, str(notes), str(tmp_path / "large"), digest]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    size, growth = map(int, done.stdout.split())
    assert size == sum(sizes)
    assert growth < 20_000  # KiB
