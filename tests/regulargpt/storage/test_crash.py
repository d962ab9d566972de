"""Every moment at which a save can be cut off or refused: what is found afterwards is the old or the new, whole."""

import contextlib
import errno
from pathlib import Path

import pytest
import torch

from regulargpt.storage import FormatError, IntegrityError, RunFolder, StorageError, atomic, checkpoint, lock, metrics

RUN = Path("/run")
CODES = (errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EMFILE, errno.EIO)


def weights(step):
    return {"weight": torch.full((3, 2), float(step)), "bias": torch.arange(3) + step}


def state(step):
    return {"optimiser": {"state": {0: {"exp_avg": torch.full((2,), step / 2)}}}, "metrics_offset": 10 * step}


def save(step):
    checkpoint.save(RUN, step, weights(step), state(step))


def saved(fake_disk):
    """A disk with two checkpoints, all of it synced."""
    disk = fake_disk()
    save(1)
    save(2)
    disk.forget()
    return disk


def saved_step():
    """The step of the newest checkpoint, after a look at all of its contents."""
    found = checkpoint.load_latest(RUN)
    if found is None:
        return None
    assert {name: value.tolist() for name, value in found.weights.items()} == {
        name: value.tolist() for name, value in weights(found.step).items()
    }
    assert found.state["metrics_offset"] == 10 * found.step
    moments = found.state["optimiser"]["state"][0]["exp_avg"]
    assert moments.tolist() == state(found.step)["optimiser"]["state"][0]["exp_avg"].tolist()
    return found.step


@pytest.mark.parametrize(("before", "step"), [((), 1), ((1,), 2), ((1, 2), 3), ((1,), 1), ((1, 2, 3), 2)])
def test_power_cut_at_every_call_leaves_the_old_or_the_new_checkpoint(fake_disk, before, step):
    disk = fake_disk()
    for earlier in before:
        save(earlier)
    old = saved_step()
    disk.forget()
    save(step)
    states = list(disk.crashes())
    assert len(states) > 100
    found = set()
    for crashed in states:
        fake_disk(crashed)
        found.add(saved_step())
    # A save of an earlier step follows a load that passed over the later ones: either is whole.
    assert found == {old, step}


def test_a_synced_save_survives_any_power_cut_after_it(fake_disk):
    disk = fake_disk()
    save(1)
    save(2)
    for crashed in disk.crashes(most=1000, since=len(disk.log)):
        fake_disk(crashed)
        assert saved_step() == 2


@pytest.mark.parametrize(("step", "following"), [(3, 4), (2, 2), (2, 3)])
def test_the_next_save_works_and_cleans_up_after_any_power_cut(fake_disk, step, following):
    disk = saved(fake_disk)
    save(step)
    for crashed in disk.crashes(most=4):
        fake_disk(crashed)
        save(following)
        assert saved_step() == following
        names = {path.relative_to(RUN / "checkpoints").parts[0] for path in crashed.files()}
        assert len(names) == 2
        # The old checkpoint of a step whose replacement was lost keeps the name it was put aside under.
        assert {name.removeprefix(".replaced-") for name in names} <= {f"{step:09d}" for step in (1, 2, 3, 4)}


def test_files_are_synced_before_the_rename_and_the_folder_after_it(fake_disk):
    disk = fake_disk()
    save(1)
    disk.forget()
    save(2)
    calls = [call.split()[0] for call in disk.calls if call.split()[0] not in ("is_folder", "names", "write")]
    built = ["make_folder", *["create", "sync", "close"] * 3, "sync_folder"]
    assert calls == [*built, "replace", "sync_folder"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("calls", [1, 10**6])
def test_a_refusal_of_any_call_and_of_all_after_it_is_reported_and_harms_nothing(fake_disk, code, step, calls):
    disk = saved(fake_disk)
    save(step)
    total = len(disk.calls)
    assert total > 20
    for n in range(total):
        disk = saved(fake_disk)
        disk.failing, disk.code = range(n, n + calls), code
        with pytest.raises(StorageError) as refused:
            save(step)
        assert_one_line(refused.value)
        assert not disk.handles
        if calls == 1:
            assert not [path for path in disk.files() if ".building" in str(path)]
        disk.failing = range(0)
        assert saved_step() in (2, step)
        save(4)
        assert saved_step() == 4


@pytest.mark.parametrize("code", CODES)
def test_a_refusal_while_loading_never_hides_a_good_checkpoint(fake_disk, code):
    disk = saved(fake_disk)
    checkpoint.load_latest(RUN)
    for n in range(len(disk.calls)):
        disk.forget()
        disk.failing, disk.code = range(n, n + 1), code
        try:
            found = checkpoint.load_latest(RUN)
        except StorageError as error:
            assert_one_line(error)
        else:
            assert found is not None
            assert found.step == 1
            assert len(found.skipped) == 1
            assert code in (errno.ENOENT, errno.EIO)


def test_write_bytes_at_every_power_cut_and_every_refusal(fake_disk):
    disk = fake_disk()
    path = RUN / "file"
    atomic.write_bytes(path, b"old" * 100)
    disk.forget()
    atomic.write_bytes(path, b"new" * 100)
    for crashed in disk.crashes():
        assert bytes(crashed.files()[path]) in (b"old" * 100, b"new" * 100)
    for n in range(len(disk.calls)):
        disk = fake_disk()
        atomic.write_bytes(path, b"old" * 100)
        disk.forget()
        disk.failing, disk.code = range(n, n + 1), errno.ENOSPC
        with pytest.raises(StorageError, match=r"^/run/file: no space is left on the device; free some space"):
            atomic.write_bytes(path, b"new" * 100)
        assert bytes(disk.files()[path]) in (b"old" * 100, b"new" * 100)
        assert list(disk.files()) == [path]


def test_a_synced_row_survives_any_power_cut_after_it(fake_disk):
    disk = fake_disk()
    metrics.append(RUN / "metrics.jsonl", b"x" * 250)
    assert metrics.sync(RUN / "metrics.jsonl") == 250
    metrics.append(RUN / "metrics.jsonl", b"y" * 10)
    for crashed in disk.crashes(since=len(disk.log) - 1):
        assert crashed.files()[RUN / "metrics.jsonl"].startswith(b"x" * 250)


def test_a_keyboard_interrupt_in_a_write_leaves_no_temporary(fake_disk, monkeypatch):
    disk = fake_disk()
    monkeypatch.setattr(disk, "sync", lambda handle: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        atomic.write_bytes(RUN / "file", b"x")
    assert not disk.files()
    assert not disk.handles


def train(path, steps=5):
    """A trainer in small: a function of the step alone, checkpoints every second step."""
    try:
        run = RunFolder.open(path)
    except (StorageError, FormatError, IntegrityError):
        raise
    except ValueError:
        run = RunFolder.create(path, "steps = 5\n", {"python": "3.11"})
    with run.locked():
        if run.is_done:
            return
        found = run.load_checkpoint()
        done = found.step if found else 0
        weight = found.weights["w"] if found else torch.zeros(2)
        for step in range(done + 1, steps + 1):
            weight = weight * 0.5 + step
            run.append_metrics([{"step": step, "loss": float(weight.sum())}])
            if step % 2 == 0 or step == steps:
                run.save_checkpoint(step, {"w": weight}, {"m": weight / 3})
        run.write_weights({"w": weight}, {"d_model": 2})
        run.write_measures({"41": 512}, {"accuracy": {"values": {"41": 50.0}, "intervals": {"41": [45.0, 55.0]}}})
        run.write_summary({"score": 75.0})
        run.finish()


def finished(disk, path):
    return {file.relative_to(path): bytes(data) for file, data in disk.files().items() if file.parent == path}


@pytest.fixture
def no_lock(monkeypatch):
    """The lock is kept with calls of its own, which a fake disk does not know; test_lock.py has its tests."""
    monkeypatch.setattr(lock, "locked", lambda folder: contextlib.nullcontext())


@pytest.fixture
def whole(fake_disk, no_lock):
    """The disk on which a run was never disturbed, and its files."""
    disk = fake_disk()
    train(RUN / "parity")
    expected = finished(disk, RUN / "parity")
    assert len(expected) == 9
    return disk, expected


def test_a_run_resumed_after_any_power_cut_ends_with_the_same_bytes(fake_disk, whole):
    disk, expected = whole
    for crashed in disk.crashes(most=6):
        fake_disk(crashed)
        train(RUN / "parity")
        assert finished(crashed, RUN / "parity") == expected


def test_a_run_resumed_after_any_refusal_ends_with_the_same_bytes(fake_disk, whole):
    undisturbed, expected = whole
    for n in range(len(undisturbed.calls)):
        disk = fake_disk()
        disk.failing, disk.code = range(n, n + 1), CODES[n % len(CODES)]
        with pytest.raises(StorageError) as refused:
            train(RUN / "parity")
        assert_one_line(refused.value)
        train(RUN / "parity")
        assert finished(disk, RUN / "parity") == expected


def assert_one_line(error):
    message = str(error)
    assert message.count("\n") == 0
    assert message.startswith("/run")
    assert "; " in message
    assert error.__cause__ is not None
