"""Damage of any kind, in any byte: named with both digests, and the checkpoint before it used; what is no file."""

import json
import os
import re
from pathlib import Path

import pytest
import torch

from languages.errors import UserError
from regulargpt.storage import FormatError, IntegrityError, StorageError, atomic, checkpoint, manifest, metrics

RUN = Path("/run")
NEWEST = RUN / "checkpoints" / "000000002"
DAMAGE = re.compile(r"(?P<file>\S+) is damaged: SHA-256 expected ([!-~]{64}|unreadable \(.*\)), found [0-9a-f]{64};")


def save(step):
    optimiser = {"state": {0: {"exp_avg": torch.full((3,), step / 2)}}, "param_groups": [{"lr": 0.001}]}
    checkpoint.save(RUN, step, {"w": torch.full((3,), float(step))}, {"optimiser": optimiser})


@pytest.fixture
def newest(fake_disk):
    """The files of the newest of two checkpoints, to be changed in place."""
    disk = fake_disk()
    save(1)
    save(2)
    return {path: data for path, data in disk.files().items() if path.parent == NEWEST}


def latest():
    found = checkpoint.load_latest(RUN)
    assert found is not None
    return found


def assert_passed_over(path):
    found = latest()
    assert found.step == 1
    assert len(found.skipped) == 1
    damage = DAMAGE.match(found.skipped[0])
    assert damage is not None
    assert damage["file"] == str(path)


def test_every_single_bit(newest):
    flips = 0
    for path, data in newest.items():
        for bit in range(8 * len(data)):
            data[bit // 8] ^= 1 << bit % 8
            assert_passed_over(path)
            data[bit // 8] ^= 1 << bit % 8
            flips += 1
    assert flips > 15_000
    assert (latest().step, latest().skipped) == (2, ())


def test_every_truncation_and_a_byte_more(newest):
    for path, data in newest.items():
        whole = bytes(data)
        for changed in [whole + b"\0", *(whole[:size] for size in range(len(whole)))]:
            data[:] = changed
            assert_passed_over(path)
        data[:] = whole


@pytest.mark.parametrize("name", ["model.safetensors", "state.pt", "manifest.json"])
def test_a_missing_file(newest, name):
    atomic.disk.remove(NEWEST / name)
    found = latest()
    assert found.step == 1
    assert found.skipped[0].startswith(f"{NEWEST / name}")
    assert ("no file" in found.skipped[0]) == (name != "manifest.json")


@pytest.mark.parametrize("number", [1, checkpoint.FORMAT + 1, None])
def test_a_checkpoint_of_another_version_is_refused_and_not_passed_over(newest, monkeypatch, number):
    """It is whole: to go on from an older one would throw it away."""
    with monkeypatch.context() as other:
        other.setattr(checkpoint, "FORMAT", number)
        save(3)
    with pytest.raises(UserError, match=r"checkpoints was saved by another version of this program; use that one, or"):
        checkpoint.load_latest(RUN)


def test_a_checkpoint_under_the_name_of_another_step(newest):
    atomic.disk.replace(NEWEST, NEWEST.with_name("000000007"))
    found = latest()
    assert found.step == 1
    assert "is not the state of step 7" in found.skipped[0]


def test_no_checkpoint_and_only_damaged_ones_differ(newest):
    assert checkpoint.load_latest(RUN / "elsewhere") is None
    for folder in ("000000001", "000000002"):
        atomic.disk.remove(RUN / "checkpoints" / folder / "state.pt")
    with pytest.raises(IntegrityError, match=r"^no checkpoint in /run/checkpoints can be used \(.*000000001.*\); rem"):
        checkpoint.load_latest(RUN)


def test_a_save_after_damage_keeps_the_good_ones(newest):
    newest[NEWEST / "state.pt"][0] ^= 1
    save(2)
    found = latest()
    assert (found.step, found.skipped) == (2, ())
    assert atomic.disk.names(RUN / "checkpoints") == ["000000001", "000000002"]


def test_later_checkpoints_that_were_passed_over_do_not_push_out_good_ones(fake_disk):
    fake_disk()
    for step in (100, 200):
        save(step)
    atomic.disk.remove(RUN / "checkpoints" / "000000200" / "state.pt")
    save(150)
    assert atomic.disk.names(RUN / "checkpoints") == ["000000100", "000000150"]


def test_a_manifest_and_what_it_does_not_record(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"")
    manifest.write_manifest(tmp_path, ["b", "a"])
    assert manifest.verify(tmp_path) == {"a": manifest.digest(b"a"), "b": manifest.digest(b"")}
    assert json.loads((tmp_path / "manifest.json").read_text())["format"] == 2
    with pytest.raises(IntegrityError, match=r"/c is not recorded in manifest.json; "):
        manifest.read_verified(tmp_path, ["c"])


def signed(body):
    blank = atomic.render_json(body | {"sha256": ""})
    return blank.replace(b'"sha256": ""', b'"sha256": "' + manifest.digest(blank).encode() + b'"')


REFUSED = [
    ({"files": {}, "format": 1}, "has format 1, this program needs 2; make it anew, "),
    *(
        ({"files": {name: "0"}, "format": 2}, f"{name!r} is not a plain file name")
        for name in ("../x", "/etc/x", "..", "")
    ),
    ({"files": {"a\\b": "0"}, "format": 2}, "is not a plain file name"),
    *(({**files, "format": 2}, "lists no files") for files in ({"files": ["x"]}, {"files": {"x": 1}}, {})),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_a_well_signed_manifest_of_another_kind_is_refused(tmp_path, body, message):
    (tmp_path / "manifest.json").write_bytes(signed(body))
    with pytest.raises(FormatError, match=re.escape(message)):
        manifest.verify(tmp_path)


@pytest.mark.parametrize("data", [b"", b"{}", b"x" * 68, b"\xff" * 200, b"[" * 100_000])
def test_a_manifest_that_is_none_is_refused(tmp_path, data):
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(IntegrityError):
        manifest.verify(tmp_path)


@pytest.mark.parametrize("data", [b"\xff", b"[]", b"", b"[" * 100_000, b"nan", b'"x"'])
def test_json_that_is_no_object_is_refused_in_one_line(data):
    with pytest.raises(FormatError, match=r"^/run/x is not "):
        atomic.parse_json(data, RUN / "x")


def test_a_missing_manifest_is_a_missing_file(tmp_path):
    with pytest.raises(StorageError, match=r"manifest.json: no such file"):
        manifest.verify(tmp_path)


CALLS = {
    "read": atomic.read_bytes,
    "write": lambda path: atomic.write_bytes(path, b"data"),
    "append": lambda path: metrics.append(path, b"data"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_pipe_or_a_device_is_neither_waited_for_nor_replaced(tmp_path: Path, call: str):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="pipe: it is a pipe or a device, not a file; give a file"):
        CALLS[call](tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
