"""The page of a GPU, tried out on the CPU."""

import json
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from experiments import gpu

CPU = torch.device("cpu")


def test_the_command_measures_trains_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(gpu, "NETWORKS", (("parity", "ldru"),))
    monkeypatch.setattr(gpu, "SPEEDS", (("parity", "rnn"), ("parity", "gru")))
    monkeypatch.setattr(gpu, "TRAININGS", (("parity", "rnn"), ("parity", "no-such-model"), ("parity", "gru")))
    gpu.main([str(tmp_path / "page"), "--device", "cpu", "--scale", "smoke", "--seconds", "600"])
    record = json.loads((tmp_path / "page" / "gpu.json").read_text("utf-8"))
    assert record["environment"]["device"] == "cpu"
    assert record["equal"] == [{"language": "parity", "model": "ldru", "apart": 0.0}]
    assert [row["model"] for row in record["speed"]] == ["rnn", "gru"]
    assert all(row["cpu"] > 0 and row["device"] > 0 for row in record["speed"])
    trained = {row["model"]: row for row in record["trained"]}
    assert trained["rnn"]["steps"] == 20
    assert trained["rnn"]["checked"] is False
    assert "unknown model 'no-such-model'" in trained["no-such-model"]["why_not"]
    assert "| parity | ldru | 0 |" in (tmp_path / "page" / "page.md").read_text("utf-8")
    assert capsys.readouterr().out.strip() == str(tmp_path / "page" / "page.md")


def test_another_function_is_noticed(monkeypatch: pytest.MonkeyPatch):
    first = gpu.first_model
    made: list[nn.Module] = []

    def other(*args):
        model = first(*args)
        if made:
            with torch.no_grad():
                model.readout.weight.add_(1e-6)
        made.append(model)
        return model

    monkeypatch.setattr(gpu, "first_model", other)
    assert 1e-9 < gpu.apart("parity", "rnn", CPU) < 1e-3


def test_what_has_no_time_left_says_so_and_what_fails_why():
    def fails(case: tuple[str, str], _: gpu.Deadline) -> gpu.Line:
        raise RuntimeError("CUDA out of memory. Tried to allocate")

    late, now = gpu.Deadline(10, time.monotonic() - 11), gpu.Deadline(1e6, time.monotonic())
    assert [*gpu.measured([("a", "b")], fails, late, 1.0)] == [{"language": "a", "model": "b", "why_not": gpu.LATE}]
    assert [row["why_not"] for row in gpu.measured([("a", "b")], fails, now, 1.0)] == ["out of memory"]
    with pytest.raises(TimeoutError):
        gpu.asking(["--version"], -1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{full}", "--device", "cpu"], "is not empty; name a new folder"),
        (["{new}", "--device", "cpu", "--seconds", "nan"], "--seconds nan: give 1 to 86,400"),
        pytest.param(
            ["{new}"],
            "torch finds no GPU; --device cpu tries the command out",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(tmp_path: Path, capsys, arguments, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    places = {"full": str(tmp_path / "full"), "new": str(tmp_path / "new")}
    with pytest.raises(SystemExit) as stopped:
        gpu.main([argument.format(**places) for argument in arguments])
    assert stopped.value.code == 2
    assert not (tmp_path / "new").exists()
    found = capsys.readouterr().err
    assert found.startswith("error: ")
    assert said in found
    assert found.count("\n") == 1
