"""The Transformer baseline against a reference that loops over positions and heads, in float64."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.transformer import Attention, Transformer
from tests.pairwise import pairwise
from tests.regulargpt.cases import assert_equal, built, slopes, words_of

D_MODEL, N_HEADS = 8, 2
REFERENCE = ["none", "sinusoidal", "rotary", "alibi", "transformer_xl"]  # those that the reference below knows


def turned(x: Tensor, m: int) -> Tensor:
    """R_m x of RoFormer, through complex numbers."""
    pairs = torch.view_as_complex(x.reshape(-1, 2))
    theta = torch.tensor([10000 ** (-2 * i / len(x)) for i in range(len(pairs))], dtype=torch.float64)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(theta), m * theta)).flatten()


def naive_logit(model: Any, layer: int, head: int, q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
    name, scale = type(model.encoding).__name__, math.sqrt(len(q))
    if name == "Rotary":
        return turned(q, m) @ turned(k, n) / scale
    if name == "Alibi":
        return q @ k / scale - abs(m - n) / 2 ** ((head + 1) * 8 / N_HEADS)
    if name == "TransformerXL":
        angles = [(m - n) / 10000 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
        r = torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=torch.float64)
        r = (r @ model.encoding.weight[layer])[head * len(q) : (head + 1) * len(q)]
        return ((q + model.encoding.u[layer, head]) @ k + (q + model.encoding.v[layer, head]) @ r) / scale
    return q @ k / scale


def naive_attention(model: Any, layer: int, x: Tensor) -> Tensor:
    """Attention of one word, x (length, d_model)."""
    attn, length, width = model.blocks[layer].attn, len(x), D_MODEL // N_HEADS
    q, k, v = (x @ w.T for w in attn.qkv.weight.split(D_MODEL))
    rows = []
    for m in range(length):
        heads = []
        for head in range(N_HEADS):
            part = slice(head * width, (head + 1) * width)
            seen = range(m + 1 if model.causal else length)
            logits = [naive_logit(model, layer, head, q[m, part], k[n, part], m, n) for n in seen]
            heads.append(torch.stack(logits).softmax(0) @ v[seen.start : seen.stop, part])
        rows.append(torch.cat(heads) @ attn.out.weight.T)
    return torch.stack(rows)


def layer_norm(ln: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * ln.weight + ln.bias


def naive(model: Any, words: Tensor, activation: str) -> Tensor:
    """All outputs, word by word."""
    f = torch.relu if activation == "relu" else (lambda x: x / 2 * (1 + torch.erf(x / math.sqrt(2))))
    outputs = []
    for word in words:
        x = model.embedding.weight[word] * math.sqrt(D_MODEL)
        if type(model.encoding).__name__ == "Sinusoidal":
            for m in range(len(word)):
                angles = [m / 10000 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
                p = torch.tensor([g(a) for a in angles for g in (math.sin, math.cos)], dtype=torch.float64)
                x = torch.cat([x[:m], x[m : m + 1] + p, x[m + 1 :]])
        for layer, block in enumerate(model.blocks):
            mlp = lambda y, b=block.mlp: b.ff_out(f(b.ff_in(y)))  # noqa: E731
            if block.pre:
                x = x + naive_attention(model, layer, layer_norm(block.ln1, x))
                x = x + mlp(layer_norm(block.ln2, x))
            else:
                x = layer_norm(block.ln1, x + naive_attention(model, layer, x))
                x = layer_norm(block.ln2, x + mlp(x))
        x = layer_norm(model.ln_final, x) if isinstance(model.ln_final, nn.LayerNorm) else x
        outputs.append(x @ model.readout.weight.T + model.readout.bias)
    return torch.stack(outputs)


CASES = pairwise(list(REFERENCE), [True, False], [("pre", "gelu"), ("post", "relu")], [1, 2, 5, 7])


@pytest.mark.parametrize(("encoding", "causal", "kind", "length"), CASES)
def test_outputs_and_gradients_equal_the_reference(encoding: str, causal: bool, kind: tuple[str, str], length: int):
    model = built(f"transformer:encoding={encoding}", causal=causal, norm=kind[0], activation=kind[1])
    words = words_of(2, length, seed=length)
    assert_equal(slopes(model, model(words, readout="all")), slopes(model, naive(model, words, kind[1])))


@pytest.mark.parametrize("part", ["hook_resid_post", "attn.hook_pattern", "mlp", ""])
def test_who_listens_to_the_last_block_hears_every_position(part: str):
    model, words, heard = built("transformer:encoding=transformer_xl"), words_of(2, 5), []
    alone = model(words)
    with model.blocks[-1].get_submodule(part).register_forward_hook(lambda *passed: heard.append(passed[-1].shape)):
        assert torch.allclose(model(words), alone, atol=1e-12, rtol=1e-12)
    assert heard == [(2, N_HEADS, 5, 5) if part == "attn.hook_pattern" else (2, 5, D_MODEL)]


def test_without_encoding_and_mask_the_order_of_the_symbols_does_not_matter():
    model, words = built("transformer:causal=false"), words_of(2, 8)
    order = torch.tensor([3, 1, 7, 0, 2, 6, 4, 5])
    permuted = model(words[:, order], readout="all")
    assert torch.allclose(permuted, model(words, readout="all")[:, order], atol=1e-13, rtol=0)


@pytest.mark.parametrize("encoding", ["rotary", "alibi", "transformer_xl"])
def test_under_relative_encodings_a_repeated_word_answers_as_its_letter(encoding: str):
    """All symbols equal: every value is the same vector, so every position of every length answers alike."""
    model = built(f"transformer:encoding={encoding}")
    outputs = model(torch.zeros(1, 13, dtype=torch.long), readout="all")
    alone = model(torch.zeros(1, 1, dtype=torch.long))
    assert torch.allclose(outputs, alone.expand(1, 13, 4), atol=1e-12, rtol=0)


def test_the_published_baseline_has_the_size_of_its_blocks():
    model = Transformer(2, 2, encoding="sinusoidal", dropout=0.1, causal=False)
    assert sum(p.numel() for p in model.blocks.parameters()) == 5 * (12 * 64**2 + 5 * 64 + 4 * 64)


def test_a_replaced_pattern_is_used():
    model, words = built("transformer", n_layers=1), words_of(1, 4)
    itself = torch.eye(4, dtype=torch.float64).expand(1, N_HEADS, 4, 4)
    with model.blocks[0].attn.hook_pattern.register_forward_hook(lambda *passed: itself):
        outputs = model(words, readout="all")
    alone = torch.cat([model(words[:, t : t + 1]) for t in range(4)])
    assert torch.allclose(outputs[0], alone, atol=1e-13)


class Window(Encoding):
    """-inf outside a window of two."""

    def bias(self, q, k, at):
        far = at.distances.abs() >= 2
        return torch.zeros(far.shape, dtype=q.dtype).masked_fill(far, -math.inf).expand(1, self.n_heads, -1, -1)


class LearnedDecay(Encoding):
    """-r_1 log(1 + |m - n|), r_1 learned: one of the KERPLE family."""

    def draw(self, generator):
        self.r = nn.Parameter(torch.rand(self.n_heads, 1, 1, generator=generator))

    def bias(self, q, k, at):
        return (-self.r * at.distances.abs().to(q).log1p())[None]


@pytest.mark.parametrize("kind", [Window, LearnedDecay])
@pytest.mark.parametrize("causal", [True, False])
def test_an_encoding_of_ones_own_needs_only_the_protocol(kind: type[Encoding], causal: bool):
    generator = torch.Generator().manual_seed(0)
    encoding = kind(d_model=D_MODEL, n_heads=N_HEADS, causal=causal, generator=generator).double()
    attention = Attention(D_MODEL, N_HEADS, generator=generator).double()
    x = torch.randn(2, 7, D_MODEL, generator=generator, dtype=torch.float64)
    n = torch.arange(7, dtype=torch.float64)
    fused = attention(x, encoding, n, 0)
    patterned, cache = run_with_cache(attention, x, encoding, n, 0)
    assert torch.allclose(fused, patterned, atol=1e-13)
    if kind is Window:
        near = ((n[:, None] - n).abs() < 2).tril(0 if causal else 7)
        assert torch.equal(cache["hook_pattern"] > 0, near.expand(2, 2, 7, 7))
    else:
        (gradient,) = torch.autograd.grad(fused.square().sum(), list(encoding.parameters()))
        assert bool((gradient != 0).all())
