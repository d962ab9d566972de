"""mLSTM and sLSTM beside the authors' package and beside the paper's equations.

The laws of all networks of mixers are in test_mixing.py. A gate in another place, a norm over all heads at once, a
scale that leaks into the answer and a block that is the other kind would be noticed here alone.

The package for the first test: pip install --no-deps xlstm==2.0.6, in a folder on PYTHONPATH; it is run on the CPU.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from regulargpt.certificate.checker import Rejected
from regulargpt.certificate.checker.boxes import ends, known
from regulargpt.certificate.checker.chain_network import Bounded
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.chain_steps import boxes_of
from regulargpt.finite.chain import Chain
from regulargpt.models.mixing.layers import Draw
from regulargpt.models.xlstm.mlstm import MlstmMixer
from regulargpt.models.xlstm.slstm import SlstmMixer
from regulargpt.options import ConfigError
from tests.regulargpt.cases import MODELS, assert_equal, built, fresh, slopes, words_of
from tests.regulargpt.test_checker_mixing import network, record

D, H = 16, 4
# Longer than a chunk.
LENGTH = 70
KINDS = {"m": MlstmMixer, "s": SlstmMixer}


def mixer(kind: type, conv: int) -> Any:
    """In float64, all its weights drawn; biases of gates far from 0, so that scales change along a word."""
    generator = torch.Generator().manual_seed(0)
    made = kind(D, H, conv, Draw("fan-in", generator)).double()
    with torch.no_grad():
        for p in made.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return made


def inputs(seed: int = 1) -> Tensor:
    """What comes into a block."""
    return 2 * torch.randn(2, LENGTH, D, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def theirs(kind: str, ours: Any, conv: int) -> Any:
    """Their layer with our weights, without the 10^-6 beside the scale: it is no 10^-6 of the number itself."""
    pytest.importorskip("xlstm", reason="pip install --no-deps xlstm==2.0.6 has the oracle")
    from xlstm.blocks.mlstm import cell  # pyright: ignore[reportMissingImports]
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig  # pyright: ignore[reportMissingImports]
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig  # pyright: ignore[reportMissingImports]

    sizes = {"embedding_dim": D, "num_heads": H, "conv1d_kernel_size": conv}
    if kind == "m":
        layer = mLSTMLayer(mLSTMLayerConfig(context_length=LENGTH, round_proj_up_to_multiple_of=1, **sizes)).double()
        exact = lambda **of: cell.parallel_stabilized_simple(**of, eps=0.0)  # noqa: E731
        layer.mlstm_cell.backend_fn = exact
        put = {"proj_up.weight": ours.up.weight, "proj_down.weight": ours.down.weight}
        put |= {f"{name}_proj.weight": getattr(ours, name).unflatten(0, (-1, 4)) for name in "qkv"}
        for i, name in enumerate(("igate", "fgate")):
            put |= {f"mlstm_cell.{name}.{part}": getattr(ours.gates, part).chunk(2)[i] for part in ("weight", "bias")}
        put |= {"learnable_skip": ours.skip, "mlstm_cell.outnorm.weight": ours.head_norm.weight - 1}
    else:
        config = sLSTMLayerConfig(backend="vanilla", dtype="float32", enable_automatic_mixed_precision=False, **sizes)
        layer = sLSTMLayer(config).double()
        P = D // H
        # Their gates read the numbers of their own head; the two first have each other's name.
        for name, rows in zip(("fgate", "igate", "zgate", "ogate"), ours.w.weight.chunk(4), strict=True):
            blocks = rows.unflatten(0, (H, P)).unflatten(2, (H, P))  # (H, P, H, P)
            getattr(layer, name).weight.data = blocks.diagonal(dim1=0, dim2=2).permute(2, 0, 1).contiguous()
        put = {"slstm_cell._recurrent_kernel_": ours.blocks().transpose(0, 1).flatten(1, 2)}  # (H, 4 * P, P)
        put |= {"slstm_cell._bias_": ours.w.bias, "group_norm.weight": ours.head_norm.weight - 1}
    if conv:
        put |= {"conv1d.conv.weight": ours.conv.weight[:, None], "conv1d.conv.bias": ours.conv.bias}
    own = dict(layer.named_parameters())
    for name, value in put.items():
        assert own[name].shape == value.shape
        own[name].data = value.detach().clone()
    return layer


@pytest.mark.parametrize(("kind", "conv"), [("m", 4), ("s", 0), ("s", 4)])  # their mLSTM has no layer without one
def test_it_is_the_package_s_layer(kind: str, conv: int):
    ours = mixer(KINDS[kind], conv)
    if kind == "s":
        # Ours reads all of x: what comes from other heads is left out.
        ours.w.weight.data *= torch.block_diag(*[torch.ones(D // H, D // H)] * H).repeat(4, 1)
    x = inputs()
    found, expected = ours(x, None, "all")[0], theirs(kind, ours, conv)(x)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def paper_mlstm(C, n, q, k, v, i, f):
    """Equations 19 to 25 of one head, without a scale."""
    C, n = f * C + i * np.outer(v, k), f * n + i * k
    return C, n, C @ q / max(abs(n @ q), 1.0)


def paper_slstm(c, n, z, i, f, o):
    """Equations 8 to 11 of one unit."""
    c, n = f * c + i * z, f * n + i
    return c, n, o * c / n


@torch.no_grad()
def test_a_head_of_mlstm_is_the_paper_s():
    ours, x = mixer(MlstmMixer, 4), inputs()
    at, _ = ours.inputs(x, ours.start(len(x))[1])
    q, k, v, i, log_f, *_ = (part[1, :, 2].numpy() for part in at[:5])  # of the second word and the third head
    C, n, expected = np.zeros((2 * D // H, 2 * D // H)), np.zeros(2 * D // H), []
    for t in range(LENGTH):
        C, n, h = paper_mlstm(C, n, q[t], k[t], v[t], math.exp(i[t]), math.exp(log_f[t]))
        expected.append(h)
    found = ours.along(at, ours.start(len(x))[0])[0][1, :, 2]
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-9, atol=1e-12)


@torch.no_grad()
def test_units_of_slstm_are_the_paper_s():
    ours, x = mixer(SlstmMixer, 0), inputs()
    W, b, R, P = ours.w.weight.numpy(), ours.w.bias.numpy(), ours.blocks().numpy(), D // H
    c, n, h, expected = np.zeros(D), np.zeros(D), np.zeros(D), []
    for step in x[1].numpy():
        sums = W @ step + b
        for gate, head in np.ndindex(4, H):
            rows = slice(gate * D + head * P, gate * D + (head + 1) * P)
            sums[rows] += R[gate, head] @ h[head * P : (head + 1) * P]
        i, f, z, o = sums.reshape(4, D)
        sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
        c, n, h = paper_slstm(c, n, np.tanh(z), np.exp(i), sigmoid(f), sigmoid(o))
        expected.append(h)
    (last, a, log_n), found = ours.along(ours.inputs(x, None)[0], ours.start(len(x))[0])[::-1]
    np.testing.assert_allclose(found[1], np.stack(expected), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(torch.stack([last, a, log_n])[:, 1], np.stack([h, c / n, np.log(n)]), rtol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("large", [300.0, -300.0])
def test_large_gates_overflow_nothing(large: float):
    """In float32, where exp(89) is infinite; the weights of all symbols stay what they are."""
    for kind in (MlstmMixer, SlstmMixer):
        ours, x = mixer(kind, 0).float(), inputs().float()
        bias = ours.gates.bias[:H] if kind is MlstmMixer else ours.w.bias[:D]
        bias += large
        y, (state, _) = ours(x, None, "all")
        assert all(bool(part.isfinite().all()) for part in (y, *state))


@pytest.mark.parametrize(
    ("written", "kinds", "title"),
    [
        ("mlstm:n_layers=3", "mmm", "mlstm"),
        ("mlstm:blocks=ms,n_layers=3", "msm", "mlstm-msm"),
        ("slstm:blocks=smm", "sm", "slstm-sm"),
        ("slstm:blocks=s,conv=4", "ss", "slstm-conv-4"),
    ],
)
def test_blocks_come_in_turn(written: str, kinds: str, title: str):
    options = MODELS.options(written, "model")
    assert options.title == title
    model = fresh(written, n_layers=options.n_layers)
    assert "".join("s" if isinstance(block.mixer, SlstmMixer) else "m" for block in model.blocks) == kinds


@pytest.mark.parametrize("written", ["slstm:conv=4", "mlstm:blocks=ms,n_layers=3,mlp=swiglu"])
def test_pieces_of_mixed_blocks_and_convolutions_agree(written: str):
    model, words = built(written, n_layers=3), words_of(2, 9)
    logits, state = model.read(words[:, :4], None, "all")
    found = torch.cat([logits, model.read(words[:, 4:], state, "all")[0]], 1)
    assert_equal(slopes(model, found), slopes(model, model(words, readout="all")), 1e-12)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("mlstm:blocks=mx", "blocks = 'mx'; write m for mLSTM and s for sLSTM, as ms"),
        ("mlstm:d_model=7,n_heads=1", "d_model = 7 is odd; q, k and v of mLSTM are made of 2 d_model numbers, four"),
        ("slstm:d_model=4", "n_heads = 4 leaves a head of sLSTM one number, of which its norm makes 0"),
        ("slstm:d_model=6", "d_model = 6 is not a multiple of model.n_heads = 4"),
        ("slstm:conv=-1", "conv = -1; give a number of symbols, 0 for none"),
    ],
)
def test_refused_sizes(written: str, message: str):
    with pytest.raises(ConfigError, match=re.escape(message)):
        MODELS.options(written, "model")


@pytest.mark.parametrize("written", ["slstm:mlp=none", "slstm"])
@torch.no_grad()
def test_the_checker_s_bounds_hold_what_states_of_a_box_become(written: str):
    """1,000 states of boxes of two sizes: no image and no answer is outside; small boxes stay small."""
    model, random = built(written, n_layers=1), np.random.default_rng(0)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    config = record(written)
    config["model"]["n_layers"] = 1
    chain, checked = Chain(model), network_of(weights, config, known)
    assert isinstance(checked, Bounded)
    point, symbols = chain.along(words_of(1, 5))[1][0, -1].numpy(), torch.ones(1000, dtype=torch.long)
    for width in (1e-3, 0.2):
        radii = width * random.uniform(0, 1, len(point))
        low, high = ends(checked.image(point, radii, 1))
        states = point + radii * random.choice([-1.0, 1.0, 0.5], (1000, len(point)))
        logits, after = (part.numpy() for part in chain.step(torch.from_numpy(states), symbols))
        assert ((after >= low) & (after <= high)).all()
        seen = after.max(0) - after.min(0)
        assert np.median((high - low) / seen) < 3
        # The answer is read of the state that the symbol led to.
        to, answer = checked.image(point, radii, 1), int(logits[0].argmax())
        least = checked.margin(to.middle, to.radius, answer, 1)
        assert np.isfinite(least) or width > 0.1  # nothing is known of an MLP behind so wide a box
        assert not (logits[:, [answer]] - np.delete(logits, answer, 1) < least).any()
    with pytest.raises(Rejected, match="one block of sLSTM without a convolution"):
        boxes_of({}, network("slstm:conv=4", built("slstm:conv=4")), point[None], cast(Any, None))
