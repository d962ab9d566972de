"""A bias beside a trained network's own positions: against transformers with the bias in its mask; its training."""

import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.encodings import build
from regulargpt.encodings.added import Added
from regulargpt.encodings.base import consecutive
from regulargpt.encodings.options import ADDED
from regulargpt.evaluation import bias as files
from regulargpt.evaluation.bias import Bias
from regulargpt.models.transformer import attention
from regulargpt.models.transformer.model import Transformer
from regulargpt.runs.run import Watch
from regulargpt.text import lengthening as training
from regulargpt.text.decoders.checkpoint import DecoderCheckpoint
from regulargpt.text.lengthening import FILE, Lengthening, lengthen
from regulargpt.text.opened import OpenedCheckpoint, open_checkpoint
from regulargpt.training.trainer import Interrupted
from tests.regulargpt.checkpoint_folders import refused
from tests.regulargpt.pretend_gpu import pretended
from tests.regulargpt.tiny_decoders import byte_tokenizer, made

HEADS, LAYERS, LENGTH = 4, 2, 40
NUMBERS: dict[str, dict[str, list[float]]] = {
    "kerple_log": {"r1": [0.5, 1.5, 0.0, 3.0], "r2": [1.0, 0.2, 4.0, 0.01]},
    "kerple_power": {"r1": [0.1, 0.0, 0.3, 1.0], "r2": [1.0, 0.5, 1.5, 0.01]},
    "kerple_log3": {"r1": [0.5, 1.5, 0.2, 3.0], "r2": [1.0, 0.2, 4.0, 0.1], "r3": [0.5, 1.0, 2.0, 0.3]},
}


def table(kernel: str, sets: int = 1) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Numbers of each head; of a further set, in another order."""
    return {name: tuple(tuple(np.roll(row, s).tolist()) for s in range(sets)) for name, row in NUMBERS[kernel].items()}


def by_hand(kernel: str, numbers: Mapping[str, Any], of_set: int, length: int) -> np.ndarray:
    """The bias (n_heads, length, length) by the equations of KERPLE, with -inf above the diagonal."""
    m, n = np.arange(length)[:, None], np.arange(length)[None, :]
    x = np.maximum(m - n, 0).astype(float)
    r = {name: np.array(rows[of_set])[:, None, None] for name, rows in numbers.items()}
    if kernel == "kerple_power":
        found = -r["r1"] * np.where(x > 0, x, 0) ** r["r2"]
    else:
        found = -r["r1"] * np.log(1 + r["r2"] * x ** r.get("r3", 1.0))
    return np.where(n > m, -np.inf, found)


def words(batch: int, length: int) -> Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(2))


def biased(folder: Path, kernel: str = "kerple_log", sets: int = 1) -> Transformer:
    model = DecoderCheckpoint.open(folder).load()
    Bias(kernel, table(kernel, sets)).set_on(model)
    return model


@torch.no_grad()
@pytest.mark.parametrize("kernel", ADDED)
@pytest.mark.parametrize("kind", ["llama", "pythia", "gpt2"])
def test_logits_are_those_of_transformers_with_the_bias_in_its_mask(kind: str, kernel: str, tmp_path: Path):
    theirs = made(tmp_path / kind, kind)
    mask = torch.from_numpy(by_hand(kernel, table(kernel), 0, LENGTH)).float()[None]
    mask = mask.clamp(min=torch.finfo(torch.float32).min)
    expected = theirs(input_ids=words(2, LENGTH), attention_mask=mask).logits
    assert not torch.allclose(expected, theirs(input_ids=words(2, LENGTH)).logits, atol=1e-3)
    found = biased(tmp_path / kind, kernel)(words(2, LENGTH), readout="all")
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_layers_may_have_numbers_of_their_own(tmp_path: Path):
    theirs = made(tmp_path / "llama", "llama")
    for layer, block in enumerate(theirs.model.layers):
        mask = torch.from_numpy(by_hand("kerple_log", table("kerple_log", LAYERS), layer, LENGTH)).float()[None]
        block.register_forward_pre_hook(
            lambda block, args, given, mask=mask: (args, given | {"attention_mask": mask.clamp(min=-1e30)}),
            with_kwargs=True,
        )
    found = biased(tmp_path / "llama", sets=LAYERS)(words(1, LENGTH), readout="all")
    torch.testing.assert_close(found, theirs(input_ids=words(1, LENGTH)).logits, atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("sets", [1, LAYERS])
@pytest.mark.parametrize(("kind", "view"), [
    ("llama", "full"), ("llama", "bca"), ("llama", "sinks:2:6"), ("llama", "self-extend:3:7"), ("gpt2", "full"),
    ("gpt2", "sliding:5"), ("mistral", "full"),
])  # fmt: skip
def test_pieces_and_caches(kind: str, view: str, sets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Under a view, and with a temperature: in pieces as at once, and symbol by symbol as at once."""
    made(tmp_path / kind, kind)
    model = biased(tmp_path / kind, sets=sets)
    model.set_attention(view, train_len=8)
    model.set_temperature(torch.full((LAYERS, HEADS), 0.8))
    whole = model(words(2, LENGTH), readout="all")
    for name in ("CPU_AT_ONCE", "MIN_QUERIES", "MOST_AT_ONCE"):
        monkeypatch.setattr(attention, name, 3)
    torch.testing.assert_close(model(words(2, LENGTH), readout="all"), whole, atol=1e-5, rtol=1e-4)
    reader = model.decoder()
    logits = [reader.feed(some) for some in words(2, LENGTH).split([17, 1, 22], 1)]
    torch.testing.assert_close(logits[-1], whole[:, -1], atol=1e-4, rtol=1e-4)


def test_self_extend_moves_the_bias_with_the_keys():
    """The bias of a far pair is that of its moved distance; positions in the embeddings are refused as without it."""
    from regulargpt.encodings.regrouped import regrouped
    from regulargpt.options.views import SelfExtend

    inner = build("rotary", d_model=8, n_heads=1)
    moved = regrouped(Added(inner, "kerple_power", {"r1": [[2.0]], "r2": [[1.0]]}), SelfExtend(2, 4))
    q = torch.zeros(1, 1, 10, 8)
    bias = moved.bias(q, q, consecutive(q, q))
    assert bias is not None
    assert (bias[0, 0, -1] / -2).tolist() == [6, 6, 5, 5, 4, 4, 3, 2, 1, 0]
    learned = Added(build("learned", d_model=8, n_heads=1), "kerple_power", {"r1": [[2.0]], "r2": [[1.0]]})
    with pytest.raises(UserError, match="positions in the embeddings cannot stand elsewhere"):
        regrouped(learned, SelfExtend(2, 4))


def test_gradients_in_pieces_are_those_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made(tmp_path / "llama", "llama")
    found = []
    for at_once in (1 << 20, 3):
        for name in ("CPU_AT_ONCE", "MIN_QUERIES", "MOST_AT_ONCE"):
            monkeypatch.setattr(attention, name, at_once)
        model = biased(tmp_path / "llama", "kerple_log3").double().requires_grad_(False)
        parameters = list(model.encoding.kernels.requires_grad_(True).parameters())  # type: ignore[union-attr]
        model(words(2, LENGTH), readout="all").logsumexp(-1).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]))
        assert len(found[-1]) == 3 * HEADS
    torch.testing.assert_close(*found, atol=1e-9, rtol=1e-9)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints, and a text in which a symbol is most often that of 3 before: near keys are worth more."""
    home = tmp_path_factory.mktemp("home")
    for kind in ("llama", "pythia", "gpt2"):
        made(home / kind, kind, **({"max_position_embeddings": 16} if kind != "gpt2" else {"n_positions": 16}))
        byte_tokenizer().save(str(home / kind / "tokenizer.json"))
    random, text = np.random.default_rng(0), list("abc")
    for _ in range(6000):
        text.append(text[-3] if random.random() < 0.9 else str(random.choice(list("abcdefgh"))))
    (home / "text.txt").write_text("".join(text))
    return home


def opened(home: Path, kind: str = "llama") -> OpenedCheckpoint:
    return open_checkpoint(f"hf:{home / kind}", str(home / "text.txt"))


ASKED = Lengthening(length=32, steps=12, lr=0.05, batch_size=4, changes={})


def test_training_moves_the_bias_alone_and_lowers_the_loss(home: Path, tmp_path: Path):
    run, rows = opened(home), []
    before = {name: value.clone() for name, value in run.parameters.items()}
    file = (home / "llama" / "model.safetensors").read_bytes()
    bias = lengthen(run, replace(ASKED, steps=60), tmp_path / "out", Watch(on_row=rows.append))
    assert all(torch.equal(value, before[name]) for name, value in run.parameters.items())
    assert (home / "llama" / "model.safetensors").read_bytes() == file
    assert all(value.grad is None for value in run.parameters.values())
    assert max(bias.numbers["r1"][0]) > 0.3
    assert min(bias.numbers["r1"][0]) >= 0
    assert files.read(tmp_path / "out" / FILE, run.config, run.weights) == bias
    first, last = (float(np.mean([row["loss"] for row in some])) for some in (rows[:8], rows[-8:]))
    assert last < first
    found = list((tmp_path / "out").rglob("*.safetensors"))
    assert found
    assert all(path.stat().st_size < 1000 for path in found)


def test_the_first_step_is_of_the_network_as_it_is(home: Path, tmp_path: Path):
    run, rows = opened(home), []
    lengthen(run, replace(ASKED, steps=1), tmp_path / "out", Watch(on_row=rows.append))
    segments = run.data.batch(0, "train", 0, [32], 4).astype(np.int64)
    logits = run.network()(torch.from_numpy(segments[:, :-1]), readout="all")
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(segments[:, 1:]).flatten())
    assert rows[0]["loss"] == pytest.approx(float(expected.detach()), abs=1e-5)


def test_a_batch_in_parts_is_the_same_number_of_segments(home: Path, monkeypatch: pytest.MonkeyPatch):
    run = opened(home)
    assert ASKED.config(run).training.lengths_per_step == 1
    monkeypatch.setattr(training, "PATTERNS_AT_ONCE", LAYERS * HEADS * 32**2 * 2)
    assert ASKED.config(run).training.lengths_per_step == 2
    monkeypatch.setattr(training, "LOGITS_AT_ONCE", 1)
    assert ASKED.config(run).training.lengths_per_step == 4


def test_equal_calls_give_equal_bytes_stopped_or_not(home: Path, tmp_path: Path):
    run, asked = opened(home), replace(ASKED, per="layer", changes={"encoding.scaling": "interpolation"})
    lengthen(run, asked, tmp_path / "whole")

    def stop(trainer: Any) -> None:
        if trainer.step_count == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped by SIGINT after step"):
        lengthen(opened(home), asked, tmp_path / "parts", Watch(on_step=stop))
    assert not (tmp_path / "parts" / FILE).exists()
    for more, said in [
        ({"lr": 0.1}, f"training.lr = {ASKED.lr} there, 0.1 here"),
        ({"seed": 7}, "seed = 0 there, 7 here"),
        ({"kernel": "kerple_power"}, "lengthen.bias = 'kerple_log' there, 'kerple_power' here"),
        ({"per": "model"}, f"lengthen.sets = {LAYERS} there, 1 here"),
        ({"changes": {}}, "model.encoding.scaling = 'interpolation' there, 'none' here"),
    ]:
        line = re.escape(f"parts holds another training: {said}; choose another --out")
        with pytest.raises(UserError, match=f"{line}$"):
            lengthen(run, replace(asked, **more), tmp_path / "parts")
    # It goes on where only the test is another.
    again = opened(home)
    other = replace(again, config=again.config.replaced({"evaluation.samples": 77, "evaluation.extra_lengths": (16,)}))
    lengthen(other, asked, tmp_path / "parts")
    for name in (FILE, "metrics.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    assert len(json.loads((tmp_path / "whole" / FILE).read_text())["numbers"]["r1"]) == LAYERS


def test_learned_positions_end_unless_somebody_says_how_they_go_on(home: Path, tmp_path: Path):
    run = opened(home, "gpt2")
    with pytest.raises(UserError, match=r"--length 32: .* has no vector behind position 16"):
        lengthen(run, ASKED, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    lengthen(run, replace(ASKED, steps=1, length=16), tmp_path / "short")
    lengthen(run, replace(ASKED, steps=1, changes={"encoding.beyond": "clamp"}), tmp_path / "clamped")


SPOILT: list[tuple[dict[str, Any], str]] = [
    ({"kernel": "kerple_pwer"}, "holds no bias; `regulargpt lengthen RUN` writes such a file"),
    ({"numbers": {}}, "holds no bias"),
    ({"numbers": {"r1": [[0.0] * 4]}}, "holds no bias"),
    ({"numbers": {"r1": [[0.0] * 4], "r2": [[1.0] * 3]}}, "holds no bias"),
    ({"numbers": {"r1": [[0.0] * 4], "r2": [[1.0] * 4] * 2}}, "holds no bias"),
    ({"numbers": {"r1": [[-1.0] * 4], "r2": [[1.0] * 4]}}, "holds no bias"),
    ({"numbers": {"r1": [[float("nan")] * 4], "r2": [[1.0] * 4]}}, "holds no bias"),
    ({"numbers": {"r1": [["1"] * 4], "r2": [[1.0] * 4]}}, "holds no bias"),
    ({"numbers": 3}, "holds no bias"),
    ({"more": 3}, "holds no bias"),
    ({"weights": "0" * 64}, "was made for another network; run `regulargpt lengthen` on this one"),
    ({"changes": {"d_ff": 3}}, "model.d_ff: a trained run can be tested under other data"),
    ({"changes": {"encoding.facto": 3}}, "unknown key 'model.encoding.facto'"),
]


@pytest.mark.parametrize(("spoilt", "reason"), SPOILT)
def test_a_spoilt_file_is_refused_in_one_line(home: Path, tmp_path: Path, spoilt: dict[str, Any], reason: str):
    run = opened(home)
    good = Bias.start("kerple_log", 1, HEADS, weights=run.weights)
    files.write(tmp_path / FILE, good)
    assert files.read(tmp_path / FILE, run.config, run.weights) == good
    (tmp_path / FILE).write_text(json.dumps(json.loads((tmp_path / FILE).read_text()) | spoilt))
    refused(lambda path: files.read(path, run.config, run.weights), tmp_path / FILE, reason)


def test_a_file_that_is_none_is_refused(home: Path, tmp_path: Path):
    run = opened(home)
    refused(
        lambda path: files.read(path, run.config, run.weights),
        tmp_path / FILE,
        "no such file; `regulargpt lengthen RUN` writes one",
    )
    (tmp_path / FILE).write_text("[]")
    refused(lambda path: files.read(path, run.config, run.weights), tmp_path / FILE, "is not a JSON object")


def test_it_trains_where_the_network_is(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    adam = sys.modules[torch.optim.Adam.__module__]
    monkeypatch.setattr(adam, "_device_dtype_check_for_fused", lambda *given: None)  # it knows real ones alone
    here = lengthen(opened(home), ASKED, tmp_path / "here")
    with pretended():
        there = lengthen(opened(home), ASKED, tmp_path / "there")
    for name, rows in here.numbers.items():
        assert np.allclose(there.numbers[name], rows, atol=1e-5), name
