"""What every encoding in the registry owes to the attention that calls it, whatever its formula."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt import encodings
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding, Positions
from regulargpt.encodings.distance import DistanceEncoding
from regulargpt.encodings.t5 import T5

H, D, LAYERS, TRAIN_LEN = 2, 4, 2, 16
OPTIONS = [
    *("learned:beyond=clamp", "rotary:layout=halves", "rotary:fraction=0.5", "rotary:scaling=interpolation,factor=4"),
    *("rotary:scaling=ntk,factor=4", "rotary:scaling=yarn,factor=4", "xpos:rotate=false", "xpos:zeta=scalar"),
    *("alibi:slopes=press", "alibi:slopes=equal,shift=4", "alibi:bias_dtype=bfloat16", "window:width=3"),
    *("kerple_log:bias_dtype=bfloat16", "t5:scale=mesh,drawn=normal", "sandwich:first_index=1"),
    *("sandwich_smooth:fit=nearest", "transformer_xl:clamp=3", "ssmax:inner=rotary"),
    *("path:gate=true", "log_n:inner=alibi", "log_n:inner=forgetting", "log_n:inner=window"),
]
WRITTEN = [*ENCODINGS, *OPTIONS]


def built(written: str, causal: bool = True, n_heads: int = H) -> Encoding:
    options = ENCODINGS.options(written, "encoding")
    values = {"train_len": TRAIN_LEN} if "train_len" in options.arguments() else {}
    options = type(options)(**{"name": options.name, **options.arguments(), **values})
    generator = torch.Generator().manual_seed(3)
    sizes = {"d_model": n_heads * D, "n_heads": n_heads, "n_layers": LAYERS, "causal": causal}
    made = encodings.build(options, **sizes, generator=generator).double().eval()
    with torch.no_grad():  # what starts at zero would hide mistakes
        for p in made.parameters():
            if not bool(p.any()):
                p.copy_(torch.randn(p.shape, generator=generator))
    return made


class Inputs:
    """What attention hands over: its input x, and the queries and keys made of it."""

    def __init__(self, length: int, batch: int = 2, dtype: torch.dtype = torch.float64):
        generator = torch.Generator().manual_seed(length)
        self.x = torch.randn(batch, length, H * D, generator=generator, dtype=torch.float64).to(dtype)
        q, k = torch.randn(2, batch, H, length, D, generator=generator, dtype=torch.float64).to(dtype)
        self.q, self.k = q, k
        self.n = torch.arange(length, dtype=torch.float64)


def turned(encoding: Encoding, inputs: Inputs, n: Tensor, layer: int = 1) -> tuple[Tensor, Tensor, Positions]:
    """Queries and keys with their positions in them, and where they stand."""
    at = Positions(n, n, layer, encoding.prepare(inputs.x, layer))
    return *encoding.rotate(inputs.q, inputs.k, at), at


def scores(encoding: Encoding, q: Tensor, k: Tensor, at: Positions) -> Tensor:
    """Logits with everything in them; where a causal model may not look, minus infinity."""
    logits = encoding.score(q @ k.mT / math.sqrt(D), q, k, at)
    bias = encoding.bias(q, k, at)
    logits = logits if bias is None else logits + bias
    return logits.masked_fill(at.distances < 0, -math.inf) if encoding.causal else logits


def logits(encoding: Encoding, inputs: Inputs, n: Tensor | None = None, layer: int = 1) -> Tensor:
    return scores(encoding, *turned(encoding, inputs, inputs.n if n is None else n, layer)).detach()


def same(one: Tensor, other: Tensor, atol: float = 1e-11) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=atol, rtol=1e-11)


@pytest.mark.parametrize("written", WRITTEN)
def test_a_change_at_t_alters_no_earlier_logit(written: str):
    encoding, inputs, t = built(written), Inputs(12), 7
    before = logits(encoding, inputs)
    for values, axis in ((inputs.x, 1), (inputs.q, 2), (inputs.k, 2)):
        values.select(axis, t).add_(1.0)
    after = logits(encoding, inputs)
    assert same(after[:, :, :t], before[:, :, :t])
    assert not same(after[:, :, t:], before[:, :, t:])


@pytest.mark.parametrize("written", WRITTEN)
def test_shift_invariance_is_as_declared(written: str):
    encoding, inputs = built(written), Inputs(9)
    moved = inputs.n + (TRAIN_LEN - 9 if written == "learned" else 1000)
    kept = same(logits(encoding, inputs, moved), logits(encoding, inputs))
    kept = kept and same(encoding.embed(inputs.x, moved).detach(), encoding.embed(inputs.x, inputs.n).detach())
    assert kept == encoding.shift_invariant


@pytest.mark.parametrize("written", WRITTEN)
def test_pieces_of_queries_and_keys_that_begin_late_are_pieces_of_the_whole(written: str):
    """As attention hands them over, from consecutive positions or any; decoding turns late ones alone."""
    encoding, inputs = built(written), Inputs(11)
    for apart in (1, 3):
        q, k, at = turned(encoding, inputs, inputs.n * apart)
        whole = scores(encoding, q, k, at)
        for queries, keys in ((slice(0, 4), slice(0, 4)), (slice(4, 9), slice(0, 9)), (slice(8, 11), slice(5, 11))):
            part = scores(encoding, q[:, :, queries], k[:, :, keys], at.piece(queries, keys))
            assert same(part, whole[:, :, queries, keys])
        last, keys = slice(10, 11), slice(4, 11)
        late = at.piece(last, keys)
        found = scores(encoding, *encoding.rotate(inputs.q[:, :, last], inputs.k[:, :, keys], late), late)
        assert same(found, whole[:, :, last, keys])


@pytest.mark.parametrize("written", WRITTEN)
def test_float32_is_float64_at_position_4096(written: str):
    """Patterns of the last queries; what a softmax does not see may be rounded."""
    found = []
    for dtype in (torch.float64, torch.float32):
        encoding, inputs = built(written).to(dtype), Inputs(4096, batch=1, dtype=dtype)
        q, k, at = turned(encoding, inputs, inputs.n)
        last = slice(-3, None)
        found.append(scores(encoding, q[:, :, last], k, at.piece(last, slice(None))).softmax(-1).double())
    assert torch.allclose(*found, atol=1e-5, rtol=0)


@pytest.mark.parametrize("written", WRITTEN)
def test_gradients_are_finite_near_and_far_and_at_the_ends_of_the_domain(written: str):
    for value, length, apart in product((None, 0.0, -100.0, 100.0), (1, 5), (1, 1 if written == "learned" else 2000)):
        encoding, inputs = built(written), Inputs(length)
        if value is not None:
            for p in encoding.parameters():
                p.data.fill_(value)
            encoding.project()
        n = inputs.n * apart
        found = scores(encoding, *turned(encoding, inputs, n)).softmax(-1)
        outputs = encoding.embed(inputs.x, n).sum() + (found * torch.arange(length)).sum()
        if outputs.requires_grad:
            outputs.backward()
        for p in encoding.parameters():
            assert p.grad is None or bool(p.grad.isfinite().all())


KERNELS = {"kerple_power": 2, "kerple_log": 2, "kerple_bias_wht": 4, "kerple_log3": 3,
           "gauss_bias2": 2, "gauss_bias3": 3, "gauss_wht1": 1, "gauss_wht2": 2}  # fmt: skip
GATES = {"weight": (LAYERS, H, H * D), "offset": (LAYERS, H)}
PARAMETERS = {
    **{name: {f"r{i + 1}": (H, 1, 1) for i in range(count)} for name, count in KERNELS.items()},
    "learned": {"weight": (TRAIN_LEN, H * D)},
    "t5": {"weight": (32, H)},
    "fire": {"c": (), "L": (), "w1": (32,), "b1": (32,), "w2": (H, 32), "b2": (H,)},
    "forgetting": GATES,
    "log_n:inner=forgetting": {f"inner.{name}": shape for name, shape in GATES.items()},
    "path": {"down": (LAYERS, 32, H * D), "up": (LAYERS, H * D, 32), "conv": (LAYERS, H * D, 3), **GATES},
    "path:gate=true": {
        **{"down": (LAYERS, 32, H * D), "up": (LAYERS, H * D, 32), "conv": (LAYERS, H * D, 3)},
        **{"weight": (LAYERS, 2 * H, H * D), "offset": (LAYERS, 2 * H)},
    },
    "cope": {"weight": (LAYERS, 16, D)},
    "ssmax": {"s": (LAYERS, H)},
    "transformer_xl": {"weight": (LAYERS, H * D, H * D), "u": (LAYERS, H, D), "v": (LAYERS, H, D)},
}


@pytest.mark.parametrize("written", WRITTEN)
def test_the_state_is_the_declared_parameters_drawn_from_the_generator_alone(written: str):
    before = torch.get_rng_state()
    encoding, again = built(written), built(written).state_dict()
    assert torch.equal(before, torch.get_rng_state())
    logits(encoding, Inputs(9))
    state = encoding.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in state.items())
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    assert shapes == PARAMETERS.get(written, PARAMETERS.get(written.partition(":")[0], {}))
    assert shapes.keys() == dict(encoding.named_parameters()).keys()
    # Whoever has parameters says how fast they learn.
    own = any("." not in name for name in shapes)
    assert ("learning_rate" in ENCODINGS.options(written, "").arguments()) == own


@pytest.mark.parametrize("written", WRITTEN)
def test_any_length_runs_or_is_refused(written: str):
    for length in (1, 2, 5 * TRAIN_LEN):
        encoding, inputs = built(written), Inputs(length)
        if written == "learned" and length > TRAIN_LEN:
            with pytest.raises(UserError, match=f"^learned positions end at length {TRAIN_LEN}, not {length};"):
                encoding.embed(inputs.x, inputs.n)
            continue
        assert bool(encoding.embed(inputs.x, inputs.n).isfinite().all())
        pattern = logits(encoding, inputs).softmax(-1)
        assert pattern.shape == (2, H, length, length)
        assert bool(pattern.isfinite().all())


@pytest.mark.parametrize("written", WRITTEN)
def test_without_a_mask_an_encoding_is_defined_or_refused(written: str):
    options = ENCODINGS.options(written, "encoding")
    if options.not_bidirectional():
        with pytest.raises(UserError) as refused:
            built(written, causal=False)
        assert str(refused.value) == f"{options.not_bidirectional()}; set model.causal = true"
        return
    encoding, inputs = built(written, causal=False), Inputs(9)
    found = logits(encoding, inputs)
    assert bool(found[..., 0, :2].isfinite().all())
    at, q = Positions(inputs.n, inputs.n, 0), inputs.q
    bias = encoding.bias(q, q, at)
    if isinstance(encoding, DistanceEncoding) and not isinstance(encoding, T5) and bias is not None:
        assert torch.equal(bias, bias.mT)


@pytest.mark.parametrize("written", WRITTEN)
def test_a_bias_is_float32_or_more_whatever_the_model_is(written: str):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        encoding, inputs = built(written).to(dtype), Inputs(6, dtype=dtype)
        q, k, at = turned(encoding, inputs, inputs.n)
        bias = encoding.bias(q, k, at)
        assert q.dtype == k.dtype == dtype
        assert encoding.score(q @ k.mT, q, k, at).dtype == dtype
        # That of Transformer-XL is a product with the queries, as precise as the other one.
        at_least = dtype if written.startswith("transformer_xl") else torch.promote_types(dtype, torch.float32)
        assert bias is None or bias.dtype == at_least


@pytest.mark.parametrize("written", WRITTEN)
def test_what_is_said_of_the_bias_holds(written: str):
    encoding, first, second = built(written), Inputs(9), Inputs(9, batch=1)
    second.q, second.k = second.q + 1, second.k - 1
    found = []
    for inputs, layer in ((first, 0), (first, 1), (second, 0)):
        q, k, at = turned(encoding, inputs, inputs.n, layer)
        bias = encoding.bias(q, k, at)
        found.append(None if bias is None else bias.detach().tril())
    here, other_layer, other_input = found
    if here is None or other_layer is None or other_input is None:
        assert not encoding.fixed_bias
        return
    assert same(here, other_layer) or not encoding.shared_bias
    if encoding.fixed_bias:
        assert not list(encoding.parameters())
        assert here.shape[0] == 1
        assert same(here, other_input)
    assert bool((here[..., 1, 0] != 0).any()) or isinstance(encoding.span, int)


@pytest.mark.parametrize("written", WRITTEN)
def test_no_key_counts_behind_the_span(written: str):
    encoding = built(written)
    if encoding.span is not None:
        found = logits(encoding, Inputs(50))[..., -1, :]
        assert bool((found[..., : 50 - encoding.span] == -math.inf).all())
        assert bool(found[..., 50 - encoding.span :].isfinite().all())
