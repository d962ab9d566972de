"""What the config.json of a T5 checkpoint says of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from languages.errors import UserError, one_of, shown
from regulargpt.encodings.options import T5Options
from regulargpt.storage import atomic

PREFIX = "hf:"
CONFIG, GENERATION = "config.json", "generation_config.json"
# Those whose every layer has the first one's bias: the others have a network of their own.
TYPES = ("t5", "mt5")
# What a file may leave out, as `transformers` fills it in; and more than this no machine holds.
SIZES = {
    "vocab_size": 32_128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 6,
    "num_heads": 8,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
}
LARGEST, MOST_LAYERS = 1 << 20, 1024
# Activation and whether it is gated; T5 1.1 says gelu and means its approximation.
FFNS = {
    "relu": ("relu", False),
    "gelu": ("gelu", False),
    "gelu_new": ("gelu_tanh", False),
    "gated-relu": ("relu", True),
    "gated-gelu": ("gelu_tanh", True),
    "gated-gelu_new": ("gelu_tanh", True),
}


@dataclass(frozen=True)
class Config:
    """The sizes under their names in the file, the FFN, and the tokens that begin and end an answer."""

    path: Path
    sizes: Mapping[str, int]
    decoder_layers: int
    ffn: str
    epsilon: float
    dropout: float
    scales_readout: bool
    start: int
    ends: tuple[int, ...]

    @property
    def inner(self) -> int:
        """The width of all heads together."""
        return self.sizes["num_heads"] * self.sizes["d_kv"]

    @property
    def gated(self) -> bool:
        """Whether the FFN is."""
        return FFNS[self.ffn][1]

    def options(self, tied: bool) -> dict[str, Any]:
        """What `EncoderDecoder` is given by name."""
        of, activation = self.sizes, FFNS[self.ffn][0]
        buckets, farthest = of["relative_attention_num_buckets"], of["relative_attention_max_distance"]
        return {
            "d_model": of["d_model"],
            "n_heads": of["num_heads"],
            "d_head": of["d_kv"],
            "d_ff": of["d_ff"],
            "n_layers": of["num_layers"],
            "decoder_layers": self.decoder_layers,
            "activation": activation,
            "gated": self.gated,
            "dropout": self.dropout,
            "encoding": T5Options("t5", buckets=buckets, max_distance=farthest, scale="mesh", drawn="mesh"),
            "tied": tied,
            "scale_readout": self.scales_readout,
            "norm_epsilon": self.epsilon,
        }


def folder_of(place: str | Path) -> Path:
    """The folder that is meant; UserError if there is none.

    >>> folder_of("hf:google/flan-t5-small")
    Traceback (most recent call last):
    languages.errors.UserError: google/flan-t5-small: no such folder; a checkpoint is read from disk: download it first
    """
    folder = Path(str(place).removeprefix(PREFIX))
    try:
        folder = folder.expanduser()
        is_there = folder.is_dir()
    except (OSError, RuntimeError):  # a name that is too long, the home of nobody
        is_there = False
    if not is_there:
        raise UserError(f"{shown(folder)}: no such folder; a checkpoint is read from disk: download it first")
    return folder


def read_config(folder: Path) -> Config:
    """The config of a checkpoint.

    Raises UserError for a folder without one, another architecture, or a value that is no such thing.
    """
    path = folder / CONFIG
    if not path.is_file():
        place = shown(folder)
        raise UserError(f"{place} has no {CONFIG}; give the folder of a T5 checkpoint, as `save_pretrained` writes it")
    values = atomic.parse_json(atomic.read_bytes(path), path)
    if (kind := values.get("model_type")) not in TYPES:
        raise UserError(f"{shown(path)}: model_type = {kind!r:.40}; only {one_of(TYPES)} can be read")
    sizes = {name: size(path, values, name, usual) for name, usual in SIZES.items()}
    decoder_layers = size(path, values, "num_decoder_layers", sizes["num_layers"])
    for name, layers in (("num_layers", sizes["num_layers"]), ("num_decoder_layers", decoder_layers)):
        if layers > MOST_LAYERS:
            raise UserError(f"{shown(path)}: {name} = {layers}; at most {MOST_LAYERS:,}")
    refuse_buckets(path, sizes["relative_attention_num_buckets"], sizes["relative_attention_max_distance"])
    ffn = values.get("feed_forward_proj", "relu")
    if not isinstance(ffn, str) or ffn not in FFNS:
        raise UserError(f"{shown(path)}: feed_forward_proj = {ffn!r:.40}; only {one_of(FFNS)} can be read")
    # Newer files say it; of older ones it followed from whether the readout was tied.
    scales = values.get("scale_decoder_outputs", values.get("tie_word_embeddings") is not False)
    epsilon, dropout = share(path, values, "layer_norm_epsilon", 1e-6), share(path, values, "dropout_rate", 0.1)
    start, ends = special_tokens(folder, values, sizes["vocab_size"])
    return Config(path, sizes, decoder_layers, ffn, epsilon, dropout, bool(scales), start, ends)


def refuse_buckets(path: Path, buckets: int, farthest: int) -> None:
    """UserError for buckets that are not half exact and half wide, on both sides."""
    if buckets % 4 or farthest <= buckets // 2:
        raise UserError(
            f"{shown(path)}: {buckets} buckets up to the distance {farthest}; only a multiple of 4 can be read, with "
            "more distances than half of it"
        )


def size(path: Path, values: Mapping[str, Any], name: str, usual: int) -> int:
    """A whole number from 1 on; what is absent, or null, is as usual."""
    found = values.get(name)
    found = usual if found is None else found
    if type(found) is not int or not 1 <= found <= LARGEST:
        raise UserError(f"{shown(path)}: {name} = {found!r:.40}; it is a whole number from 1 to {LARGEST:,}")
    return found


def share(path: Path, values: Mapping[str, Any], name: str, usual: float) -> float:
    """A number from 0 to below 1."""
    found = values.get(name, usual)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1:
        raise UserError(f"{shown(path)}: {name} = {found!r:.40}; it is a number from 0 to below 1")
    return float(found)


def special_tokens(folder: Path, values: Mapping[str, Any], vocabulary: int) -> tuple[int, tuple[int, ...]]:
    """The token that the decoder reads first, and those that end an answer; how answers are made has a file too."""
    path = folder / GENERATION
    made = atomic.parse_json(atomic.read_bytes(path), path) if path.is_file() else {}

    def said(name: str, usual: Any) -> Any:
        found = next((of[name] for of in (made, values) if of.get(name) is not None), usual)
        numbers = found if isinstance(found, list) else [found]
        for number in numbers:
            if type(number) is not int or not 0 <= number < vocabulary:
                raise UserError(f"{shown(folder)}: {name} = {found!r:.40}; a token is 0 to {vocabulary - 1:,}")
        return numbers

    (start, *more), ends = said("decoder_start_token_id", said("pad_token_id", 0)[0]), said("eos_token_id", 1)
    if more:
        raise UserError(f"{shown(folder)}: decoder_start_token_id has several tokens; an answer begins with one")
    return start, tuple(ends)
