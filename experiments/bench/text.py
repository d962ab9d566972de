"""Language models on bytes: width 128, 4 heads, FFN 512; Transformers have two blocks and a tied readout.

Steps of training have 2,048 symbols, against a Transformer written out with `scaled_dot_product_attention`, of which
`learned` is the same function. One more symbol by cached decoding stands against computing all again, RegularGPT at all
positions against the Transformer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.bench.memory import peaks
from experiments.bench.subjects import random_words
from experiments.bench.timing import BenchRow, Effort, exponent, in_turn, quartiles, ratio, seconds_at
from regulargpt.models.base import Model
from regulargpt.models.layers import Readout
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer

SYMBOLS, D_MODEL, N_HEADS, D_FF, N_LAYERS = 256, 128, 4, 512, 2
AT_A_STEP = 2048
TRAIN_LEN, LONGEST = 128, 512
VIEWS = {"sliding:128": "alibi", "bca": "rotary"}
CHUNK_SIZES = (2, 8, 32)
AT_TEST = ("alibi", "kerple_log", "cope", "regulargpt")


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    effort: Effort
    train: tuple[int, ...]
    encodings: tuple[str, ...]
    views: tuple[int, ...]
    decode: int
    every: int
    memory: tuple[int, ...]


SIZES = {
    "smoke": Sizes(Effort(1, 0, 0), (16,), ("learned", "kerple_log"), (64, 128), 32, 64, ()),
    "full": Sizes(
        Effort(3, 2),
        (128, 512),
        ("learned", "none", "rotary", "alibi", "sandwich", "kerple_log", "t5"),
        (1024, 4096, 16_384, 65_536),
        4096,
        8192,
        (128, 512),
    ),
}


class Plain(nn.Module):
    """A causal Transformer written out, as in nanoGPT: learned positions, pre-LN, GELU, the embedding as readout.

    Its weights carry the names that ours have, so that both can hold the same.
    """

    def __init__(self, longest: int):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, D_MODEL)
        self.encoding = nn.ParameterDict({"weight": nn.Parameter(torch.zeros(longest, D_MODEL))})
        self.blocks = nn.ModuleList(PlainBlock() for _ in range(N_LAYERS))
        self.ln_final = nn.LayerNorm(D_MODEL)

    def forward(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length n_symbols"]:
        """Logits at every position."""
        x = self.embedding(words) + self.encoding["weight"][: words.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_final(x), self.embedding.weight)


class PlainBlock(nn.Module):
    """Attention and MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        qkv, out = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False), nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.attn = nn.ModuleDict({"qkv": qkv, "out": out})
        self.mlp = nn.ModuleDict({"ff_in": nn.Linear(D_MODEL, D_FF), "ff_out": nn.Linear(D_FF, D_MODEL)})

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """The residual stream after the block."""
        B, T, _ = x.shape
        q, k, v = self.attn["qkv"](self.ln1(x)).split(D_MODEL, dim=2)
        q, k, v = (y.view(B, T, N_HEADS, -1).transpose(1, 2) for y in (q, k, v))  # (batch, n_heads, length, d_head)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn["out"](y.transpose(1, 2).reshape(B, T, D_MODEL))  # (batch, length, d_model)
        return x + self.mlp["ff_out"](F.gelu(self.mlp["ff_in"](self.ln2(x))))


def transformer(encoding: str) -> Transformer:
    """Ours of that size."""
    generator = torch.Generator().manual_seed(0)
    sizes: dict[str, Any] = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "n_layers": N_LAYERS}
    form: dict[str, Any] = {"norm": "pre", "activation": "gelu", "tied": True, "scale_embedding": False}
    return Transformer(SYMBOLS, SYMBOLS, **sizes, **form, encoding=encoding, generator=generator)


def words(batch: int, length: int) -> Int[Tensor, "batch length"]:
    """Random bytes: what they say does not change the speed."""
    return random_words(batch, length, SYMBOLS)


def texts(scale: str) -> Iterator[BenchRow]:
    """Language models: training, decoding, long texts, memory."""
    sizes = SIZES[scale]
    for length in sizes.train:
        yield BenchRow(f"T = {length}", "largest difference", difference(length), "", wanted=1e-10)
        yield from trained(length, sizes)
    yield from decoded(sizes)
    yield from read(sizes)
    for view, encoding in VIEWS.items():
        yield from by_length(view, encoding, sizes)
    for name in AT_TEST if sizes.memory else ():
        lengths = [16 * train_len for train_len in sizes.memory]
        for length, size in zip(lengths, peaks(__name__, [name], lengths), strict=True):
            yield BenchRow(f"test at 16 x, T = {length:,}", name, size / 2**20, "MiB")


@torch.no_grad()
def difference(length: int) -> float:
    """Between the logits of `learned` and those of what is written out, in float64."""
    ours, plain = transformer("learned").double(), Plain(LONGEST).double()
    plain.load_state_dict(ours.state_dict())
    text = words(2, length)
    return float((ours(text, readout="all") - plain(text)).abs().max())


def trained(length: int, sizes: Sizes) -> list[BenchRow]:
    """Steps of each encoding against those of the plain model."""
    text = words(max(1, AT_A_STEP // length), length + 1)
    plain = Plain(LONGEST)
    plain.load_state_dict(transformer("learned").state_dict())
    steps = {"plain": step(plain, plain, text)}
    for name in sizes.encodings:
        ours = transformer(name).train()
        steps[name] = step(ours, lambda seen, ours=ours: ours(seen, readout="all"), text)
    seconds, wanted = in_turn(steps, sizes.effort), {"learned": 1.0}
    what = f"training, T = {length}, batch {len(text)}"
    return [ratio(what, seconds, name, "plain", wanted.get(name)) for name in sizes.encodings]


def step(model: nn.Module, logits: Callable[[Tensor], Tensor], text: Int[Tensor, "batch length"]) -> Callable[[], None]:
    """One step of training: loss, backward, clipping, AdamW."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def take() -> None:
        optimiser.zero_grad(set_to_none=True)
        rows = logits(text[:, :-1]).flatten(0, 1)  # (batch * length, symbols)
        loss = F.cross_entropy(rows, text[:, 1:].flatten())  # targets (batch * length,)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return take


def decoded(sizes: Sizes) -> list[BenchRow]:
    """One more symbol of a text: from what is kept, and from nothing."""
    rows = []
    for name in ("alibi", "rotary"):
        model, text = transformer(name).eval(), words(1, sizes.decode)
        # With a window of that length, what is kept stays as long however often it is measured.
        decoder = model.decoder(window=sizes.decode)
        decoder.feed(text)
        recompute = {"cached": partial(decoder.feed, text[:, :1]), "all again": forward_call(model, text)}
        seconds = in_turn(recompute, sizes.effort)
        rows.append(ratio(f"one more symbol, {name}, T = {sizes.decode:,}", seconds, "cached", "all again", 20.0))
    return rows


def read(sizes: Sizes) -> list[BenchRow]:
    """RegularGPT at all positions against the Transformer."""
    text, ours = words(1, sizes.every), transformer("alibi").eval()
    models = {f"C = {chunk_size}": regulargpt(chunk_size) for chunk_size in CHUNK_SIZES}
    both = {"transformer": ours, **models}
    seconds = in_turn({name: forward_call(model, text, "all") for name, model in both.items()}, sizes.effort)
    what = f"every position, T = {sizes.every:,}"
    return [ratio(what, seconds, name, "transformer", 10.0) for name in models]


def regulargpt(chunk_size: int) -> RegularGPT:
    """RegularGPT of that width: one thick layer, as many levels as the length needs."""
    generator = torch.Generator().manual_seed(0)
    sizes: dict[str, Any] = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF}
    return RegularGPT(SYMBOLS, SYMBOLS, chunk_size=chunk_size, **sizes, generator=generator).eval()


def forward_call(model: Model, text: Int[Tensor, "batch length"], readout: Readout = "last") -> Callable[[], None]:
    """An answer without gradients."""

    def answer() -> None:
        with torch.inference_mode():
            model(text, readout=readout)

    return answer


def by_length(view: str, encoding: str, sizes: Sizes) -> Iterator[BenchRow]:
    """Seconds of a word of each length under a view, and the power of the length that they grow with."""
    model = transformer(encoding).eval()
    model.set_attention(view, train_len=TRAIN_LEN)
    seconds = in_turn({str(T): forward_call(model, words(1, T), "all") for T in sizes.views}, sizes.effort)
    medians = {T: quartiles(seconds[str(T)])[1] for T in sizes.views}
    yield from (seconds_at(T, f"{encoding}, {view}", each) for T, each in medians.items())
    yield BenchRow("every length", f"{encoding}, {view}", exponent(list(medians), list(medians.values())), "power of T")


def working(name: str) -> Callable[[int], None]:
    """What a process does whose memory is measured: one word of a length, as a test has it."""
    model = regulargpt(2) if name == "regulargpt" else transformer(name).eval()
    return lambda length: forward_call(model, words(1, length), "all")()
