"""What is measured of trained language models, against closed forms and slow references."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Positions
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.segments import NLL
from regulargpt.measurements import receptive_field
from regulargpt.measurements.measuring import measured
from regulargpt.measurements.sample import Sample, segments_of
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.transformer import Transformer, attention
from regulargpt.runs import load
from regulargpt.runs.again import evaluate
from regulargpt.runs.load import load_drawn
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.measurements import attention_logits
from regulargpt.text.measurements.attention_logits import mean_logits
from regulargpt.text.measurements.positions import bins, cost_beyond_training, edges, sentence
from regulargpt.text.measurements.resolution import mean_by_distance, resolution
from regulargpt.text.measurements.variance_by_position import output_variance
from tests.regulargpt.attending import visible
from tests.regulargpt.texts import TRAIN_LEN, text_run

# Every encoding as it is, and one of each kind through windows and blocks.
SEEN = [(encoding, "full") for encoding in ENCODINGS]
SEEN += product(("alibi", "rotary", "forgetting", "window:width=3"), ("sliding:4", "bca"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    return text_run(tmp_path_factory.mktemp("trained"), model__encoding__name="kerple_log", training__lr=0.1)


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> RunFolder:
    return text_run(tmp_path_factory.mktemp("without"), model__encoding__name="none")


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory) -> RunFolder:
    return text_run(tmp_path_factory.mktemp("recurrent"), "gru")


def of(name: str, folder: RunFolder, **options: Any) -> dict[str, Any]:
    """What a measurement reports of a run."""
    return measured(name, folder.path, **options).report


def sample(folder: RunFolder, length: int | None = None, count: int = 2, seed: int | None = None) -> Sample:
    """Test segments of a run."""
    return segments_of(open_run(folder, scoring="position"), length, count, seed)


def words(length: int, count: int = 3) -> np.ndarray:
    return rng(0, "test").integers(0, 5, (count, length))


def small(encoding: str, **options: Any) -> Transformer:
    return Transformer(5, 5, d_model=8, n_heads=2, d_ff=8, n_layers=2, encoding=encoding, **options).eval()


# Attention logits and resolution.


@pytest.mark.parametrize(("encoding", "view"), SEEN)
def test_mean_logits_in_pieces_are_those_of_the_whole_pattern(encoding: str, view: str, monkeypatch):
    model, some = small(encoding).double(), words(11)
    model.set_attention(view, train_len=6)
    direct = whole(model, some, visible(11, "bca:6" if view == "bca" else view))
    for layer, pattern in enumerate(patterns(model, some)):
        assert torch.allclose(direct[layer].softmax(-1), pattern, atol=1e-12)
    monkeypatch.setattr(attention, "CPU_AT_ONCE", 1)
    monkeypatch.setattr(attention, "MIN_QUERIES", 3)
    before = model(torch.from_numpy(some))
    found = mean_logits(model, some)
    assert torch.equal(model(torch.from_numpy(some)), before)
    assert not model.blocks[0].attn._forward_pre_hooks  # type: ignore[union-attr]
    finite = direct[0, 0, 0].isfinite().numpy()
    expected = mean_by_distance(direct.numpy(), finite).mean(1)  # over words
    assert np.allclose(found, expected, equal_nan=True, atol=1e-12)
    if encoding.startswith("window:"):
        assert np.isnan(found[..., 3:]).all()


def patterns(model: Transformer, some: np.ndarray) -> list[torch.Tensor]:
    """The attention of each layer."""
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(len(model.blocks))]
    _, cache = run_with_cache(model, torch.from_numpy(some), readout="all", names_filter=names)
    return [cache[name] for name in names]


@torch.no_grad()
def whole(model: Transformer, some: np.ndarray, seen: torch.Tensor) -> torch.Tensor:
    """(layers, batch, n_heads, length, length): the logits of all queries and keys at once."""
    found: list[torch.Tensor] = []

    def hear(attn: Any, inputs: Any) -> None:
        x, encoding, n, layer, *_ = inputs
        at = Positions(n, n, layer, encoding.prepare(x, layer))
        q, k = encoding.rotate(*attn.heads(x, "all")[:2], at)
        logits = encoding.score(q @ k.mT / math.sqrt(q.shape[-1]), q, k, at)
        bias = encoding.bias(q, k, at)
        logits = logits if bias is None else logits + bias
        found.append(logits.expand(len(x), attn.n_heads, -1, -1).masked_fill(~seen, -math.inf))

    handles = [block.attn.register_forward_pre_hook(hear) for block in model.blocks]  # type: ignore[union-attr]
    model(torch.from_numpy(some), readout="all")
    for handle in handles:
        handle.remove()
    return torch.stack(found)


def test_no_piece_is_as_large_as_the_pattern_of_a_long_word(monkeypatch):
    monkeypatch.setattr(attention, "CPU_AT_ONCE", 1 << 10)
    sizes: list[int] = []
    original = attention_logits.Gathering.hear

    def hear(self: Any, layer: int, piece: Any) -> None:
        sizes.append(math.prod(piece.shape))
        original(self, layer, piece)

    monkeypatch.setattr(attention_logits.Gathering, "hear", hear)
    T = 512
    assert mean_logits(small("alibi"), words(T, 1)).shape == (2, 2, T)
    assert max(sizes) <= 32 * T


def test_alibi_alone_has_the_resolution_of_its_slopes():
    model = small("alibi").double()
    with torch.no_grad():
        for block in model.blocks:
            block.attn.qkv.weight.zero_()  # type: ignore[union-attr]
    found = mean_logits(model, words(20))
    slopes = np.array([2.0**-4, 2.0**-8])
    assert np.allclose(found, -slopes[:, None] * np.arange(20))
    p = np.exp(-slopes[0] * np.arange(20))
    p /= p.sum()
    assert resolution(found)[0, 0] == pytest.approx((p[:-1] * (p[:-1] - p[1:])).sum())


def test_resolution_of_a_run(trained: RunFolder, tmp_path: Path):
    report = of("resolution", trained, words=4, out=tmp_path / "r")
    assert list(report["by_length"]) == ["8", "16", "32", "64"]
    assert all(0 < row["mean"] <= 1 for row in report["by_length"].values())
    assert np.shape(report["by_length"]["8"]["by_head"]) == (2, 2)
    assert report["by_length"]["8"]["distances"] == 8
    assert "never above 1" in report["note"]
    windows = of("resolution", trained, words=4, attention="sliding:5", out=tmp_path / "w")
    assert {row["distances"] for row in windows["by_length"].values()} == {5}


# Positions.


def test_bins_hold_every_position_once():
    for length in (1, 2, 3, 7, 64, 1000):
        ends = edges(length)
        assert ends == sorted(set(ends))
        assert ends[-1] == length
    nats = rng(0, "nats").random((5, 100))
    found = bins(nats)
    assert sum((part.last - part.first + 1) * part.nats.value for part in found) == pytest.approx(nats.mean(0).sum())


def test_a_constant_difference_has_no_width_and_none_is_there_within_the_training_length():
    nats = rng(0, "nats").random((5, 10))
    assert cost_beyond_training(nats, nats, 10) is None
    found = cost_beyond_training(nats, nats - 0.25, 4)
    assert found is not None
    assert (found.value, found.high - found.low) == (pytest.approx(0.25), pytest.approx(0.0, abs=1e-12))


def test_the_last_position_is_what_the_protocol_last_scores(trained: RunFolder, tmp_path: Path):
    T, config = 24, sample(trained).run.config
    report = of("positions", trained, length=T, words=6, out=tmp_path / "p")
    for scoring, nats in (("last", report["nll"][-1]), ("position", np.mean(report["nll"]))):
        scored = config.replaced({"data.scoring": scoring, "evaluation.samples": 6})
        found = evaluate(trained, scored, [T], config.seed)["measures"][NLL]["values"][str(T)]
        assert nats == pytest.approx(found, abs=1e-5)


def test_the_reference_is_the_same_up_to_the_training_length(trained: RunFolder, tmp_path: Path):
    report = of("positions", trained, length=20, words=6, out=tmp_path / "p")
    full, reference = (np.array(part["nll"]) for part in (report, report["reference"]))
    assert report["reference"]["attention"] == f"sliding:{TRAIN_LEN}"
    assert np.allclose(full[:TRAIN_LEN], reference[:TRAIN_LEN], atol=1e-5)
    assert not np.allclose(full[TRAIN_LEN:], reference[TRAIN_LEN:], atol=1e-5)
    beyond_it = (full - reference)[TRAIN_LEN:].mean()
    assert report["beyond"]["value"] == pytest.approx(beyond_it, abs=1e-5)


class Unigram(nn.Module):
    """The same logits whatever was read."""

    def forward(self, symbols: torch.Tensor, readout: str = "last") -> torch.Tensor:
        logits = torch.linspace(0, 1, 256).expand(*symbols.shape, 256)
        return logits if readout == "all" else logits[:, -1]


def test_a_model_that_ignores_context_costs_the_same_at_every_length(recurrent: RunFolder, monkeypatch):
    monkeypatch.setattr(load, "load_reader", lambda *arguments: Unigram())
    run = sample(recurrent).run
    for scoring in ("last", "last_k"):
        found = []
        for T in (8, 16, 32, 64):
            config = run.config.replaced({"data.scoring": scoring, "data.last": 4, "evaluation.samples": 6})
            found.append(evaluate(recurrent, config, [T], 0)["measures"][NLL]["values"][str(T)])
        assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Interval(0.5, 0.4, 0.6), "hurts by 0.5000 nats"),
        (Interval(-0.5, -0.6, -0.4), "helps by 0.5000 nats"),
        (Interval(0.1, -0.1, 0.3), "changes nothing that can be told: +0.1000 nats"),
        (None, "no position lies beyond the training length 8"),
    ],
)
def test_the_sentence_of_positions(trained: RunFolder, value: Interval | None, words: str):
    assert words in sentence(value, sample(trained).run, "sliding:8")


# The receptive field of a run.


@pytest.mark.parametrize("name", ["trained", "recurrent"])
def test_the_receptive_field_of_a_language_model(name: str, request, tmp_path: Path):
    report = of("receptive-field", request.getfixturevalue(name), words=4, out=tmp_path / "r")
    assert (report["target"], report["length"], report["segments"]) == ("true", 8 * TRAIN_LEN, 4)
    assert len(report["c"]) == 8 * TRAIN_LEN
    assert report["share_in_train_len"] == report["c"][TRAIN_LEN - 1]
    shares = report["erf_by_share"]
    assert shares["0.5"] <= shares["0.9"] <= shares["0.99"] == report["erf"]
    assert report["theoretical"] is None


def test_windows_bound_the_receptive_field_of_a_run(trained: RunFolder, tmp_path: Path):
    report = of("receptive-field", trained, words=4, attention="sliding:4", out=tmp_path / "r")
    assert (report["theoretical"], report["attention"]) == (7, "sliding:4")
    assert report["c"][6] == 1.0
    assert report["c"][5] < 1.0
    assert report["erf"] <= 7


def test_regulargpt_has_a_receptive_field_on_text(tmp_path: Path):
    folder = text_run(tmp_path, "regulargpt")
    report = of("receptive-field", folder, length=20, words=3)
    assert report["c"][-1] == 1.0
    assert (tmp_path / "run" / "receptive-field" / "receptive-field.png").exists()


def test_a_language_model_that_depends_on_nothing_is_refused(recurrent: RunFolder, monkeypatch, tmp_path: Path):
    nothing = receptive_field.ReceptiveField(np.zeros(0), np.zeros(0), np.zeros(0), None, None, None, 2)
    monkeypatch.setattr(receptive_field, "receptive_field", lambda *arguments, **more: nothing)
    with pytest.raises(UserError, match=r"depends on no symbol .* there is nothing to measure"):
        of("receptive-field", recurrent, words=2, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


# Learned kernels.


def test_kernels_before_and_after_training(trained: RunFolder, tmp_path: Path):
    report = of("kernels", trained, length=40, out=tmp_path / "k")
    (layer,) = report["layers"]
    before, after = (np.array(layer["bias"][when]) for when in ("before", "after"))
    assert before.shape == after.shape == (2, 41)
    assert layer["largest_change"] > 0
    # What the run's seed drew is kerple's own: -r1 ln(1 + r2 x), for the parameters of a model made anew.
    encoding = load_drawn(trained, 0).encoding
    x, values = np.arange(41), [p.detach().double().flatten().numpy() for p in encoding.parameters()]
    drawn = [-r1 * np.log1p(r2 * x) for r1, r2 in zip(*values, strict=True)]
    assert np.allclose(before - before[:, :1], drawn, atol=1e-4)
    assert [head["definiteness"]["is_cpd"] for head in layer["heads"]] == [True, True]
    assert all(head["effective_length_after"]["range"] == 20_481 for head in layer["heads"])


# Positions in the variance.


def test_the_variance_around_the_mean_at_each_position():
    model, some = small("none"), words(7, 40)
    _, cache = run_with_cache(model, torch.from_numpy(some), readout="all", names_filter=["blocks.1.hook_attn_out"])
    expected = cache["blocks.1.hook_attn_out"].detach().double().numpy().var(0).mean(-1)
    assert np.allclose(output_variance(model, some)[1], expected, rtol=1e-5)


def test_values_of_independent_symbols_under_even_attention_fall_as_one_over_m():
    model = small("none")
    with torch.no_grad():
        for block in model.blocks:
            block.attn.qkv.weight[:8] = 0  # type: ignore[union-attr]
    variance = output_variance(model, rng(1, "words").integers(0, 5, (4000, 16)))[0]
    assert np.allclose(variance * np.arange(1, 17), variance[0], rtol=0.1)


def test_position_variance_of_a_run(without: RunFolder, tmp_path: Path):
    seen: list[tuple[int, int]] = []
    report = of("position-variance", without, updates=2, out=tmp_path / "v", progress=lambda *at: seen.append(at))
    assert np.shape(report["variance"]["after"]) == np.shape(report["variance"]["before"]) == (2, TRAIN_LEN)
    assert (len(report["slopes"]["after"]), seen) == (2, [(1, 2), (2, 2)])
    assert [row["layer"] for row in report["probe"]["layers"]] == [0, 1, 2]
    assert of("position-variance", without, updates=0, out=tmp_path / "w")["probe"] is None


def test_one_position_has_no_variance_by_position(without: RunFolder, tmp_path: Path):
    with pytest.raises(UserError, match="length = 1; at least 2"):
        of("position-variance", without, out=tmp_path / "v", length=1)
    assert not (tmp_path / "v").exists()


# Which segments.


def test_segments_end_where_those_of_the_test_do(trained: RunFolder):
    drawn = sample(trained, 20, 4)
    own = drawn.run.data.test(drawn.run.config.seed, 9, 4)
    assert np.array_equal(drawn.words[:, -10:], own)
    assert not np.array_equal(drawn.words, sample(trained, 20, 4, seed=7).words)


def test_a_learned_table_is_looked_at_as_far_as_it_goes(tmp_path: Path):
    folder = text_run(tmp_path, model__encoding__name="learned", evaluation__test_len=TRAIN_LEN)
    assert sample(folder).length == TRAIN_LEN
    with pytest.raises(UserError, match=f"--length 9: .* has no vector behind position {TRAIN_LEN}"):
        sample(folder, 9)
