"""What the tensors of a T5 checkpoint are called there, and what they are here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regulargpt.models.transformer.encoder_decoder.checkpoint.config import Config

EMBEDDING, READOUT = "shared.weight", "lm_head.weight"
# Older files have the embedding again, under the names of those who use it.
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
# Some published files have it; no network reads it.
UNUSED = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",)


@dataclass(frozen=True)
class Named:
    """A parameter: its name here, the tensors there whose rows it has one after the other, the shape of each."""

    name: str
    parts: tuple[str, ...]
    shape: tuple[int, ...]


def named(config: Config, tied: bool) -> Iterator[Named]:
    """Every parameter of the network."""
    d_model, vocabulary = config.sizes["d_model"], config.sizes["vocab_size"]
    yield Named("embedding.weight", (EMBEDDING,), (vocabulary, d_model))
    if not tied:
        yield Named("readout.weight", (READOUT,), (vocabulary, d_model))
    yield from of_stack(config, "encoder", config.sizes["num_layers"])
    yield from of_stack(config, "decoder", config.decoder_layers)


def of_stack(config: Config, side: str, layers: int) -> Iterator[Named]:
    """Those of the encoder or the decoder."""
    sizes = config.sizes
    bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    heads = (sizes["relative_attention_num_buckets"], sizes["num_heads"])
    yield Named(f"{side}_stack.encoding.weight", (bias,), heads)
    yield Named(f"{side}_stack.ln_final.weight", (f"{side}.final_layer_norm.weight",), (sizes["d_model"],))
    for layer in range(layers):
        here, there = f"{side}_stack.blocks.{layer}", f"{side}.block.{layer}.layer"
        yield from of_attention(config, f"{here}.ln1", f"{here}.attn", f"{there}.0", "SelfAttention")
        if side == "decoder":
            yield from of_attention(config, f"{here}.ln_cross", f"{here}.cross_attn", f"{there}.1", "EncDecAttention")
        yield from of_ffn(config, here, f"{there}.{2 if side == 'decoder' else 1}")


def of_attention(config: Config, norm: str, attn: str, there: str, kind: str) -> Iterator[Named]:
    """Queries, keys and values in one matrix, the output's, and the norm before them."""
    d_model = config.sizes["d_model"]
    yield Named(f"{norm}.weight", (f"{there}.layer_norm.weight",), (d_model,))
    parts = tuple(f"{there}.{kind}.{part}.weight" for part in "qkv")
    yield Named(f"{attn}.qkv.weight", parts, (config.inner, d_model))
    yield Named(f"{attn}.out.weight", (f"{there}.{kind}.o.weight",), (d_model, config.inner))


def of_ffn(config: Config, here: str, there: str) -> Iterator[Named]:
    """The FFN: of a gated one `wi_0` is activated, `wi_1` is not."""
    d_model, d_ff = config.sizes["d_model"], config.sizes["d_ff"]
    yield Named(f"{here}.ln2.weight", (f"{there}.layer_norm.weight",), (d_model,))
    if config.gated:
        yield Named(f"{here}.mlp.ff_gate.weight", (f"{there}.DenseReluDense.wi_0.weight",), (d_ff, d_model))
    wi = "wi_1" if config.gated else "wi"
    yield Named(f"{here}.mlp.ff_in.weight", (f"{there}.DenseReluDense.{wi}.weight",), (d_ff, d_model))
    yield Named(f"{here}.mlp.ff_out.weight", (f"{there}.DenseReluDense.wo.weight",), (d_model, d_ff))
