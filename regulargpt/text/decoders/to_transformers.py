"""From a `DecoderOnly` to a folder that `transformers` reads as a Llama, with the same logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from languages.errors import UserError, shown
from regulargpt.encodings.options import RotaryOptions
from regulargpt.storage import atomic, tensors
from regulargpt.text.decoders.from_transformers import LLAMA, places
from regulargpt.text.decoders.model import DecoderOnly
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.pretrained import CONFIG, WEIGHTS

# What every Llama has.
ALWAYS = {"norm": "rms", "gated": True, "parallel": False, "qk_norm": False, "window": 0}


def save(folder: Path, model: DecoderOnly, options: DecoderOnlyOptions, train_len: int) -> None:
    """Write config.json and the weights of a network with these options, trained on `train_len` symbols.

    Raises UserError for what no Llama has, and for a folder that is there.
    """
    if folder.exists():
        raise UserError(f"{shown(folder)} exists; choose another folder")
    values = config(options, model.embedding.num_embeddings, train_len)
    weights: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        names = places(name, LLAMA)
        attention = model.attentions[0]
        rows = [attention.inner, attention.kv_inner, attention.kv_inner] if len(names) > 1 else [len(value)]
        weights.update(zip(names, value.split(rows), strict=True))
    atomic.make_folder(folder)
    atomic.write_bytes(folder / WEIGHTS, tensors.render_weights({key: x.contiguous() for key, x in weights.items()}))
    atomic.write_json(folder / CONFIG, values)


def config(options: DecoderOnlyOptions, symbols: int, train_len: int) -> dict[str, Any]:
    """The config.json. UserError for what no Llama has.

    >>> config(DecoderOnlyOptions("decoder-only", parallel=True), 256, 64)
    Traceback (most recent call last):
    languages.errors.UserError: model.parallel = True; a Llama has False
    """
    for key, usual in ALWAYS.items():
        if (value := getattr(options, key)) != usual:
            raise UserError(f"model.{key} = {value!r}; a Llama has {usual!r}")
    if options.activation not in ("silu", "gelu", "relu"):
        raise UserError(f"model.activation = '{options.activation}'; a Llama is written with silu, gelu or relu")
    if options.qkv_bias != options.out_bias:
        raise UserError(f"model.qkv_bias = {options.qkv_bias}; of a Llama it is as model.out_bias")
    positions = options.encoding
    plain = RotaryOptions("rotary", layout="halves", base=getattr(positions, "base", 0.0) or 1.0)
    if not isinstance(positions, RotaryOptions) or positions.arguments() | {"train_len": 0} != plain.arguments():
        raise UserError(f"model.encoding = '{positions.name}'; a Llama is written with rotary:layout=halves, unscaled")
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": symbols,
        "hidden_size": options.d_model,
        "intermediate_size": options.d_ff,
        "num_hidden_layers": options.n_layers,
        "num_attention_heads": options.n_heads,
        "num_key_value_heads": options.n_kv_heads or options.n_heads,
        "head_dim": options.head_width,
        "hidden_act": options.activation,
        "max_position_embeddings": train_len,
        "rms_norm_eps": options.norm_epsilon,
        "attention_bias": options.qkv_bias,
        "mlp_bias": options.mlp_bias,
        "tie_word_embeddings": options.tied,
        "rope_theta": positions.base,
        "rope_parameters": {"rope_type": "default", "rope_theta": positions.base},
        "bos_token_id": None,
        "eos_token_id": None,
        "dtype": "float32",
    }
