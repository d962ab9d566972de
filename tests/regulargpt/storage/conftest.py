"""A file system in memory that records every call, fails on request, and can be cut off at any call."""

import errno
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from regulargpt.storage import atomic

ROOT = Path("/run")


@dataclass
class Node:
    """A file (`data`) or a folder (`entries`)."""

    data: bytearray = field(default_factory=bytearray)
    entries: dict[str, int] | None = None


@dataclass(frozen=True)
class Change:
    """One change to the disk: of a file's data (`node`), or of a folder's entries (`folder`)."""

    apply: Callable[["Tree", float], None]
    node: int | None = None
    folder: int | None = None


class Tree:
    """Nodes by number; number 0 is the root. What a crash leaves is a tree with some of the changes applied."""

    def __init__(self) -> None:
        self.nodes = {0: Node(entries={})}

    def copy(self) -> "Tree":
        twin = Tree()
        twin.nodes = {
            number: Node(bytearray(node.data), None if node.entries is None else dict(node.entries))
            for number, node in self.nodes.items()
        }
        return twin

    def entries(self, number: int) -> dict[str, int]:
        entries = self.nodes[number].entries if number in self.nodes else None
        if entries is None:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory")
        return entries

    def find(self, path: Path) -> int:
        number = 0
        for name in path.relative_to(ROOT).parts:
            if name not in self.entries(number):
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            number = self.entries(number)[name]
        return number


class FakeDisk(atomic.Disk):
    """`atomic.Disk` in memory. A write takes at most 100 bytes. The calls numbered `failing` raise OSError(`code`)."""

    def __init__(self, tree: Tree | None = None) -> None:
        self.tree = tree or Tree()
        self.base = self.tree.copy()
        self.log: list[Change | tuple[str, int]] = []
        self.calls: list[str] = []
        self.handles: dict[int, int] = {}
        self.failing = range(0)
        self.code = errno.ENOSPC
        self.numbers = itertools.count(max(self.tree.nodes) + 1)

    def call(self, name: str, path: Any = "") -> None:
        self.calls.append(f"{name} {path}".rstrip())
        if len(self.calls) - 1 in self.failing:
            raise OSError(self.code, "injected")

    def change(self, change: Change) -> None:
        change.apply(self.tree, 1.0)
        self.log.append(change)

    def _open(self, path: Path, name: str) -> int:
        self.call(name, path)
        folder = self.tree.find(path.parent)
        if path.name not in self.tree.entries(folder):
            number = next(self.numbers)
            self.change(Change(lambda tree, _: _link(tree, folder, path.name, number), folder=folder))
        handle = 1000 + next(self.numbers)
        self.handles[handle] = self.tree.find(path)
        return handle

    def create(self, path: Path) -> int:
        handle = self._open(path, "create")
        if self.tree.nodes[self.handles[handle]].data:
            self._truncate(self.handles[handle], 0)
        return handle

    def append(self, path: Path) -> int:
        return self._open(path, "append")

    def write(self, handle: int, data: memoryview) -> int:
        self.call("write")
        piece, number = bytes(data[:100]), self.handles[handle]
        at = len(self.tree.nodes[number].data)
        self.change(Change(lambda tree, part: _write(tree, number, at, piece, part), node=number))
        return len(piece)

    def truncate(self, handle: int, size: int) -> None:
        self.call("truncate")
        self._truncate(self.handles[handle], size)

    def _truncate(self, number: int, size: int) -> None:
        self.change(Change(lambda tree, _: _cut(tree, number, size), node=number))

    def sync(self, handle: int) -> None:
        self.call("sync")
        self.log.append(("node", self.handles[handle]))

    def close(self, handle: int) -> None:
        del self.handles[handle]
        self.call("close")

    def replace(self, source: Path, target: Path) -> None:
        self.call("replace", f"{source} {target}")
        assert source.parent == target.parent, "a rename between folders is not atomic on every file system"
        moved = self.tree.find(source)
        folder = self.tree.find(source.parent)
        old = self.tree.nodes.get(self.tree.entries(folder).get(target.name, -1))
        if old is not None and old.entries:
            raise OSError(errno.ENOTEMPTY, "not empty")
        self.change(Change(lambda tree, _: _move(tree, folder, source.name, target.name, moved), folder=folder))

    def make_folder(self, path: Path) -> None:
        self.call("make_folder", path)
        folder, number = self.tree.find(path.parent), next(self.numbers)
        if path.name in self.tree.entries(folder):
            raise FileExistsError(errno.EEXIST, "exists")
        self.change(Change(lambda tree, _: _link(tree, folder, path.name, number, {}), folder=folder))

    def sync_folder(self, path: Path) -> None:
        self.call("sync_folder", path)
        self.log.append(("folder", self.tree.find(path)))

    def remove(self, path: Path) -> None:
        self.call("remove", path)
        self._unlink(path)

    def remove_folder(self, path: Path) -> None:
        self.call("remove_folder", path)
        if self.tree.entries(self.tree.find(path)):
            raise OSError(errno.ENOTEMPTY, "not empty")
        self._unlink(path)

    def _unlink(self, path: Path) -> None:
        folder, number = self.tree.find(path.parent), self.tree.find(path)
        self.change(Change(lambda tree, _: _unlink(tree, folder, path.name, number), folder=folder))

    def read(self, path: Path) -> bytes:
        self.call("read", path)
        return bytes(self.tree.nodes[self.tree.find(path)].data)

    def size(self, path: Path) -> int:
        self.call("size", path)
        return len(self.tree.nodes[self.tree.find(path)].data)

    def names(self, path: Path) -> list[str]:
        self.call("names", path)
        return sorted(self.tree.entries(self.tree.find(path)))

    def is_folder(self, path: Path) -> bool:
        self.call("is_folder", path)
        return self._has(path) and self.tree.nodes[self.tree.find(path)].entries is not None

    def exists(self, path: Path) -> bool:
        self.call("exists", path)
        return self._has(path)

    def _has(self, path: Path) -> bool:
        try:
            self.tree.find(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def crashes(self, most: int = 64, since: int = 0) -> Iterator["FakeDisk"]:
        """The disks that a power cut may leave: after every change and every sync (the first `since` excepted), with
        every unsynced change kept, lost, or (a write) kept in part. All choices of kept and lost where they are at
        most `most`, else `most` of them at random, always with 'all kept' and 'all lost'."""
        coin = random.Random(0)
        for stop in range(since, len(self.log) + 1):
            for kept in _choices(_unsynced(self.log[:stop]), most, coin):
                tree = self.base.copy()
                for i, change in enumerate(self.log[:stop]):
                    if isinstance(change, Change) and kept.get(i, 1.0) > 0:
                        change.apply(tree, kept.get(i, 1.0))
                yield FakeDisk(tree)

    def forget(self) -> None:
        """Take the present state, all of it synced, as the one to start from."""
        self.base, self.log, self.calls = self.tree.copy(), [], []

    def files(self) -> dict[Path, bytearray]:
        """Every file with its contents (to be changed in place)."""
        found: dict[Path, bytearray] = {}
        stack = [(ROOT, 0)]
        while stack:
            path, number = stack.pop()
            entries = self.tree.nodes[number].entries
            if entries is None:
                found[path] = self.tree.nodes[number].data
            else:
                stack += [(path / name, child) for name, child in entries.items()]
        return found


def _unsynced(log: list[Change | tuple[str, int]]) -> list[int]:
    pending: dict[int, Change] = {}
    for i, entry in enumerate(log):
        if isinstance(entry, Change):
            pending[i] = entry
        else:
            kind, number = entry
            pending = {j: change for j, change in pending.items() if getattr(change, kind) != number}
    return list(pending)


def _choices(pending: list[int], most: int, coin: random.Random) -> Iterator[dict[int, float]]:
    if 2 ** len(pending) <= most:
        for bits in itertools.product((0.0, 1.0), repeat=len(pending)):
            yield dict(zip(pending, bits, strict=True))
    else:
        yield dict.fromkeys(pending, 0.0)
        yield dict.fromkeys(pending, 1.0)
    for _ in range(most - 2 if 2 ** len(pending) > most else min(len(pending), 1)):
        yield {i: coin.choice((0.0, 0.5, 1.0)) for i in pending}


def _link(tree: Tree, folder: int, name: str, number: int, entries: dict[str, int] | None = None) -> None:
    if folder in tree.nodes:
        tree.nodes.setdefault(number, Node(entries=entries if entries is None else dict(entries)))
        tree.entries(folder)[name] = number


def _unlink(tree: Tree, folder: int, name: str, number: int) -> None:
    if folder in tree.nodes and tree.entries(folder).get(name) == number:
        del tree.entries(folder)[name]


def _move(tree: Tree, folder: int, source: str, target: str, number: int) -> None:
    if folder in tree.nodes and tree.entries(folder).get(source) == number:
        tree.entries(folder)[target] = tree.entries(folder).pop(source)


def _write(tree: Tree, number: int, at: int, piece: bytes, part: float) -> None:
    # A write that reached the disk beyond one that did not leaves zeros between.
    node = tree.nodes.setdefault(number, Node())
    piece = piece[: int(len(piece) * part)]
    node.data.extend(bytes(max(0, at - len(node.data))))
    node.data[at : at + len(piece)] = piece


def _cut(tree: Tree, number: int, size: int) -> None:
    del tree.nodes.setdefault(number, Node()).data[size:]


@pytest.fixture
def fake_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeDisk]:
    """Put a fake disk (a new one, or the one given) in the place of the real one."""

    def install(disk: FakeDisk | None = None) -> FakeDisk:
        disk = disk or FakeDisk()
        monkeypatch.setattr(atomic, "disk", disk)
        return disk

    return install
