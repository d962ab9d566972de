"""A folder with all that a command line can point at, and what of it a command has changed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import languages
from languages.convert.dot import to_dot
from languages.convert.json_text import to_json
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.storage import manifest
from regulargpt.storage.folder import FINAL, RunFolder
from tests.cli.places import unfinished
from tests.regulargpt.results import made
from tests.regulargpt.small import config

Seen = dict[str, tuple[int, ...]]


class Entry(NamedTuple):
    """A file's bytes, a link's target, or neither."""

    mode: int
    data: bytes


def build(folder: Path) -> None:
    """Runs: finished, certified, interrupted, of other contents with right digests; a sweep, and odd files."""
    small = config("gru", data__name="parity", objective__name="last", training__steps=11, evaluation__falsify=20)
    running.run(small, folder / "run")
    unfinished(folder / "begun", small.replaced({"training.steps": 22}), 21)
    shutil.copytree(folder / "run", folder / "forged")
    running.run(config("retrieval", training__steps=2), folder / "documents")
    test = {"evaluation.test_len": 42, "evaluation.extra_lengths": (), "evaluation.samples": 4}
    running.run(configuration("parity").replaced(test), folder / "certified")
    certificate_report(RunFolder.open(folder / "certified"))
    (folder / "forged" / "summary.json").write_text('{"train_len": 8}')
    manifest.write_manifest(folder / "forged", FINAL)
    texts = {f"gru-{seed}": made.config_text(model__name="gru", seed=seed) for seed in range(3)}
    made.sweep(folder / "sweep", texts, {"gru-2": "the loss is nan at step 7"})
    for name, score in (("gru-0", 100.0), ("gru-1", 90.0)):
        made.done(folder / "sweep" / "runs" / name, {5: 100.0, 6: score}, texts[name])
    (folder / "folder").mkdir()
    (folder / "folder.json").mkdir()
    machine = languages.get("tomita-3").machine
    files = {
        "a-file": b"precious",
        "good.toml": RunConfig().render().encode(),
        "typo.toml": b"[model]\nchunk_sise = 3\n",
        "deep.toml": b"seed = " + b"[" * 20_000,
        "digits.toml": b"seed = 0x" + b"f" * 5000,
        "bytes.toml": b"seed = \xff",
        "good.json": to_json(machine).encode(),
        "good.dot": to_dot(machine).encode(),
        "mealy.dot": b'digraph { __start0 -> p; p -> q [label="0/no"]; q -> p [label="0 / yes"] }',
        "good.jff": b"<structure><type>fa</type><state id='0'><initial/><final/></state>"
        b"<transition><from>0</from><to>0</to><read>a</read></transition></structure>",
        "nfa.att": b"0\t1\ta\ta\n0\t0\ta\ta\n0\t0\tb\tb\n1\n",
        "half.json": b'{"states": ["\\ud800"], "alphabet": ["a"]',
        "deep.json": b"[" * 20_000,
        "digits.json": b"9" * 5000,
        "bytes.json": b'{"states": ["\xff"]}',
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "fifo")
    os.symlink("nowhere", folder / "dangling")
    os.symlink("ring", folder / "ring")


def look(place: Path) -> Seen:
    """Everything that lies there now, and when it was changed; of folders only that they are there."""
    found, folders, start = {}, [str(place)], len(str(place)) + 1
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status, name = entry.stat(follow_symlinks=False), entry.path[start:]
                if entry.is_dir(follow_symlinks=False):
                    found[name] = (status.st_mode,)
                    folders.append(entry.path)
                else:
                    found[name] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


class World:
    """What lies in a folder, to be put back."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.entries = {name: self.entry(name) for name in look(self.folder)}
        self.origin = self.seen = look(self.folder)

    def entry(self, name: str) -> Entry:
        """What lies under a name."""
        path = self.folder / name
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return Entry(mode, os.fsencode(os.readlink(path)))
        return Entry(mode, path.read_bytes() if stat.S_ISREG(mode) else b"")

    def changed(self) -> list[str]:
        """The names that are new, gone or other than they were."""
        now = look(self.folder)
        return sorted(name for name in now.keys() | self.seen.keys() if now.get(name) != self.seen.get(name))

    def put(self, name: str, data: bytes) -> None:
        """Put other bytes under a name: from now on they are as they should be."""
        (self.folder / name).write_bytes(data)
        self.seen = look(self.folder)

    def replace(self, name: str, kind: str) -> None:
        """Put nothing, a folder, a pipe, or a link to itself or to a device there."""
        path = self.folder / name
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind != "nothing":
            path.symlink_to(path.name if kind == "ring" else kind)
        self.seen = look(self.folder)

    def restore(self) -> None:
        """Everything as it was when this was made."""
        for name, status in look(self.folder).items():
            if status != self.origin.get(name):
                remove(self.folder / name)
        for name, entry in self.entries.items():
            if not os.path.lexists(self.folder / name):
                make(self.folder / name, entry)
        self.origin = self.seen = look(self.folder)


def remove(path: Path) -> None:
    """Whatever lies there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def make(path: Path, entry: Entry) -> None:
    """Whatever lay there."""
    if stat.S_ISDIR(entry.mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISFIFO(entry.mode):
        os.mkfifo(path)
    elif stat.S_ISLNK(entry.mode):
        path.symlink_to(os.fsdecode(entry.data))
    else:
        path.write_bytes(entry.data)
