"""The Transformer baseline against a reference that loops over positions and heads, in float64."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import hook_names, run_with_cache
from regulargpt.models.layers import Dropout, seed_counted
from regulargpt.models.transformer import Attention, Transformer, attention
from tests.pairwise import pairwise

D_MODEL, N_HEADS, D_FF = 8, 2, 12
REFERENCE = ["none", "sinusoidal", "rotary", "alibi", "transformer_xl"]  # those that the reference below knows
DIRECTIONS = [(e, c) for e in ENCODINGS for c in (True, False) if c or not ENCODINGS[e].options.causal_only]


def built(encoding: str = "none", seed: int = 0, **options) -> Transformer:
    settings = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "n_layers": 2, "encoding": encoding}
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(3, 4, **(settings | options), generator=generator).double()
    with torch.no_grad():  # embeddings start small: larger ones make wrong attention visible
        model.embedding.weight.mul_(20.0)
    return model


def some_words(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 3, (batch, length), generator=torch.Generator().manual_seed(seed))


def turned(x: Tensor, m: int) -> Tensor:
    """R_m x of RoFormer, through complex numbers."""
    pairs = torch.view_as_complex(x.reshape(-1, 2))
    theta = torch.tensor([10000 ** (-2 * i / len(x)) for i in range(len(pairs))], dtype=torch.float64)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(theta), m * theta)).flatten()


def naive_logit(model: Transformer, layer: int, head: int, q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
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


def naive_attention(model: Transformer, layer: int, x: Tensor) -> Tensor:
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


def naive(model: Transformer, words: Tensor, activation: str) -> Tensor:
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


@pytest.mark.parametrize(
    ("encoding", "causal", "kind", "length"),
    pairwise(list(REFERENCE), [True, False], [("pre", "gelu"), ("post", "relu")], [1, 2, 5, 7]),
)
def test_outputs_and_gradients_equal_the_reference(encoding, causal, kind, length):
    norm, activation = kind
    model = built(encoding, causal=causal, norm=norm, activation=activation)
    words = some_words(2, length, seed=length)
    results = []
    for compute in (lambda: model(words, readout="all"), lambda: naive(model, words, activation)):
        outputs = compute()
        weights = torch.linspace(-1, 1, outputs.numel(), dtype=torch.float64).reshape(outputs.shape)
        gradients = torch.autograd.grad((outputs * weights).sum(), list(model.parameters()), materialize_grads=True)
        results.append([outputs, *gradients])
    for fast, slow in zip(*results, strict=True):
        assert torch.allclose(fast, slow, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize(("direction", "length", "norm"), pairwise(DIRECTIONS, [1, 2, 7], ["pre", "post"]))
def test_the_last_position_alone_is_the_last_of_all(direction: tuple[str, bool], length: int, norm: str):
    encoding, causal = direction
    model = built(encoding, causal=causal, norm=norm, dropout=0.4).train()
    words = some_words(3, length, seed=length)
    results = []
    for readout in ("last", "all"):
        seed_counted(model, seed=0, step=1)
        outputs = model(words, readout=readout)
        outputs = outputs if readout == "last" else outputs[:, -1]
        weights = torch.linspace(-1, 1, outputs.numel(), dtype=torch.float64).reshape(outputs.shape)
        gradients = torch.autograd.grad((outputs * weights).sum(), list(model.parameters()), materialize_grads=True)
        results.append([outputs, *gradients])
    for alone, among_all in zip(*results, strict=True):
        assert torch.allclose(alone, among_all, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("part", ["hook_resid_post", "attn.hook_pattern", "mlp", ""])
def test_who_listens_to_the_last_block_hears_every_position(part: str):
    model, words, heard = built("transformer_xl"), some_words(2, 5), []
    alone = model(words)
    with model.blocks[-1].get_submodule(part).register_forward_hook(lambda *passed: heard.append(passed[-1].shape)):
        assert torch.allclose(model(words), alone, atol=1e-12, rtol=1e-12)
    assert heard == [(2, N_HEADS, 5, 5) if part == "attn.hook_pattern" else (2, 5, D_MODEL)]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("encoding", ["alibi", "transformer_xl"])
def test_a_pattern_in_pieces_is_the_whole_pattern(encoding: str, causal: bool, monkeypatch: pytest.MonkeyPatch):
    model, words, results = built(encoding, causal=causal), some_words(2, 13), []
    for rows in (32, 1, 5):
        monkeypatch.setattr(attention, "CPU_AT_ONCE", 1)
        monkeypatch.setattr(attention, "MIN_QUERIES", rows)
        outputs = model(words, readout="all")
        results.append([outputs, *torch.autograd.grad(outputs.square().sum(), list(model.parameters()))])
    for pieces in results[1:]:
        for one, whole in zip(pieces, results[0], strict=True):
            assert torch.allclose(one, whole, atol=1e-11, rtol=1e-12)


@pytest.mark.parametrize("encoding", list(ENCODINGS))
@pytest.mark.parametrize("length", [2, 9, 33])
def test_a_change_at_t_alters_no_earlier_output(encoding: str, length: int):
    model = built(encoding, causal=True)
    words = some_words(1, length)
    before = model(words, readout="all")
    for t in range(length):
        changed = words.clone()
        changed[0, t] = (changed[0, t] + 1) % 3
        after = model(changed, readout="all")
        assert torch.allclose(after[:, :t], before[:, :t], atol=1e-13, rtol=0)
        assert not torch.allclose(after[:, t:], before[:, t:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("encoding", [e for e, causal in DIRECTIONS if not causal])
def test_a_bidirectional_model_sees_the_future(encoding: str):
    model = built(encoding, causal=False)
    words = some_words(1, 9)
    changed = words.clone()
    changed[0, -1] = (changed[0, -1] + 1) % 3
    assert not torch.allclose(model(words, "all")[:, 0], model(changed, "all")[:, 0], atol=1e-8, rtol=0)


@pytest.mark.parametrize("encoding", list(ENCODINGS))
def test_rows_of_a_batch_do_not_see_each_other(encoding: str):
    model, words = built(encoding), some_words(5, 11)
    whole = model(words, readout="all")
    alone = torch.cat([model(word[None], readout="all") for word in words])
    assert torch.allclose(whole, alone, atol=1e-13, rtol=0)


def test_without_encoding_and_mask_the_order_of_the_symbols_does_not_matter():
    model, words = built("none", causal=False), some_words(2, 8)
    order = torch.tensor([3, 1, 7, 0, 2, 6, 4, 5])
    permuted = model(words[:, order], readout="all")
    assert torch.allclose(permuted, model(words, readout="all")[:, order], atol=1e-13, rtol=0)


@pytest.mark.parametrize("encoding", ["rotary", "alibi", "transformer_xl"])
def test_under_relative_encodings_a_repeated_word_answers_as_its_letter(encoding: str):
    """All symbols equal: every value is the same vector, so every position of every length answers alike."""
    model = built(encoding)
    outputs = model(torch.zeros(1, 13, dtype=torch.long), readout="all")
    alone = model(torch.zeros(1, 1, dtype=torch.long))
    assert torch.allclose(outputs, alone.expand(1, 13, 4), atol=1e-12, rtol=0)


def test_parameter_counts():
    per_block = 4 * D_MODEL**2 + (2 * D_MODEL * D_FF + D_FF + D_MODEL) + 4 * D_MODEL
    plain = 3 * D_MODEL + 2 * per_block + 4 * D_MODEL + 4
    for encoding in REFERENCE:
        extra = 2 * (D_MODEL**2 + 2 * D_MODEL) if encoding == "transformer_xl" else 0
        assert sum(p.numel() for p in built(encoding, norm="post").parameters()) == plain + extra
    assert sum(p.numel() for p in built("none", norm="pre").parameters()) == plain + 2 * D_MODEL


def test_the_published_baseline_has_the_size_of_its_blocks():
    model = Transformer(2, 2, encoding="sinusoidal", dropout=0.1, causal=False)
    assert sum(p.numel() for p in model.blocks.parameters()) == 5 * (12 * 64**2 + 5 * 64 + 4 * 64)


@pytest.mark.parametrize("encoding", list(ENCODINGS))
def test_building_is_a_function_of_the_generator(encoding: str):
    before = torch.get_rng_state()
    first, again, other = (built(encoding, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    for p, q, r in zip(first.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)
        assert not torch.equal(p, r) or len(set(p.flatten().tolist())) == 1  # gains and biases


def test_no_two_entries_of_the_state_share_memory():
    state = built("transformer_xl").state_dict()
    assert len({value.data_ptr() for value in state.values()}) == len(state)


def test_dropout_is_a_function_of_seed_and_step_and_leaves_the_global_state():
    model, words = built("rotary", dropout=0.3), some_words(4, 6)
    before = torch.get_rng_state()
    seed_counted(model, seed=1, step=7)
    first = model(words)
    assert not torch.equal(model(words), first)
    seed_counted(model, seed=1, step=7)
    assert torch.equal(model(words), first)
    seed_counted(model, seed=1, step=8)
    assert not torch.equal(model(words), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(model.eval()(words), built("rotary").eval()(words))


def test_dropout_keeps_the_mean_and_drops_the_stated_fraction():
    layer = Dropout(0.25)
    out = layer(torch.ones(200_000))
    assert float((out == 0).double().mean()) == pytest.approx(0.25, abs=0.005)
    assert out.unique().tolist() == [0.0, pytest.approx(4 / 3)]


@pytest.mark.parametrize(("encoding", "causal"), DIRECTIONS)
def test_the_pattern_is_what_attention_uses(encoding: str, causal: bool):
    model, words = built(encoding, causal=causal), some_words(2, 6)
    output, cache = run_with_cache(model, words, readout="all")
    assert torch.allclose(output, model(words, readout="all"), atol=1e-13, rtol=0)
    assert sorted(cache) == sorted(hook_names(model))
    pattern = cache["blocks.1.attn.hook_pattern"]
    assert pattern.shape == (2, N_HEADS, 6, 6)
    assert torch.allclose(pattern.sum(-1), torch.ones(()).double(), atol=1e-13)
    assert bool((pattern.triu(1) == 0).all()) == causal
    assert torch.allclose(model.readout(cache["blocks.1.hook_resid_post"]), output, atol=1e-13)


def test_a_replaced_pattern_is_used():
    model, words = built("none", n_layers=1, causal=True), some_words(1, 4)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "psot"}, "unknown norm 'psot'; did you mean 'post'?"),
        ({"activation": "swish"}, "unknown activation 'swish'; known are 'relu', 'gelu'"),
        ({"encoding": "alibbi"}, "unknown encoding 'alibbi'; did you mean 'alibi'?"),
        ({"n_heads": 3}, "n_heads = 3 does not divide d_model = 8; choose one that does"),
        ({"dropout": 1.0}, "dropout = 1.0; it must be at least 0 and below 1"),
    ],
)
def test_refused_settings(options: dict, message: str):
    with pytest.raises(UserError) as refused:
        built(**options)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("shape", "readout", "message"),
    [
        ((2, 0), "last", "words of shape (2, 0); a batch is (batch, length) with length >= 1"),
        ((3,), "last", "words of shape (3,); a batch is (batch, length) with length >= 1"),
        ((2, 3), "lst", "unknown readout 'lst'; did you mean 'last'?"),
    ],
)
def test_refused_words(shape: tuple[int, ...], readout: str, message: str):
    with pytest.raises(UserError) as refused:
        built()(torch.zeros(shape, dtype=torch.long), readout)
    assert str(refused.value) == message


def test_float32_stays_finite_and_close_to_float64_at_length_500():
    words = some_words(1, 500)
    for encoding in ENCODINGS:
        model = built(encoding)
        exact = model(words, readout="all")
        assert torch.allclose(model.float()(words, readout="all").double(), exact, atol=2e-4)
        assert torch.isfinite(F.log_softmax(exact, -1)).all()
