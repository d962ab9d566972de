"""What can be done to a trained decoder in a test, so that it reads longer texts: each method, its source, its flags.

Nothing here is trained; a bias is before, by `lengthen`. Each is an option of a test that stands elsewhere; this lists
them, says who published them, and sets them for a training length and a length. Never imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from regulargpt.options import shown

SINKS = 4
"""The first symbols that StreamingLLM keeps."""
SCALING, FACTOR = "encoding.scaling", "encoding.factor"
Settings = Callable[[int, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Method:
    """A method, who published it, and how a test is asked for it.

    `options` is what is written on the command line. `settings` gives the options of the network, by their keys within
    `model`, and `attention` the view, for a training length and a tested length. `needs` says what they are not enough
    without.
    """

    summary: str
    source: str
    options: str = ""
    settings: Settings = field(default=lambda train_len, length: {})
    attention: Callable[[int, int], str] = field(default=lambda train_len, length: "full")
    needs: str = ""


def scaling(name: str, *, by_length: bool = False) -> Settings:
    """The rotary angles scaled so, for a length; or for each word by its own length."""

    def settings(train_len: int, length: int) -> Mapping[str, Any]:
        factor = 1.0 if by_length else max(1.0, length / train_len)
        return {SCALING: name, FACTOR: factor}

    return settings


def settings_on(encoding: Any, name: str, train_len: int, length: int) -> Mapping[str, Any]:
    """What a method sets on a trained encoding: where that was scaled in training, its own factor goes on by T / L.

    >>> from regulargpt.encodings.options import RotaryOptions
    >>> encoding = RotaryOptions("rotary", scaling="llama3", factor=8.0, in_training=True, train_len=8192)
    >>> settings_on(encoding, "llama3", 65_536, 131_072)
    {'encoding.scaling': 'llama3', 'encoding.factor': 16.0}
    """
    settings = METHODS[name].settings(train_len, length)
    is_scaled = FACTOR in settings and encoding.scaled_in_training() is not None
    return {**settings, FACTOR: encoding.factor * settings[FACTOR]} if is_scaled else settings


def misfit(encoding: Any, name: str, train_len: int) -> str | None:
    """Why what a method sets does not go with a trained encoding; None if it does."""
    settings = METHODS[name].settings(train_len, train_len)
    if not all(hasattr(encoding, key.removeprefix("encoding.")) for key in settings):
        return f"its encoding of positions is '{getattr(encoding, 'name', 'none')}', not 'rotary'"
    if name == "log_n" and encoding.train_len not in (0, train_len):
        return f"it would count from {encoding.train_len:,} symbols, as the scaled positions do, not from {train_len:,}"
    return encoding.refuse_scaling(settings[SCALING]) if SCALING in settings else None


def flags(name: str, changes: Mapping[str, Any], attention: str) -> str:
    """What `evaluate` is given for a test by a method; a dash for nothing.

    >>> flags("yarn", {"encoding.scaling": "yarn", "encoding.factor": 2.0}, "full")
    '--set scaling=yarn,factor=2.0'
    """
    if (options := METHODS[name].options).endswith(" FILE"):
        return options
    if attention != "full":
        return f"--attention {attention}"
    settings = ",".join(f"{key.removeprefix('encoding.')}={shown(value)}" for key, value in changes.items())
    return f"--set {settings}" if settings else "-"


def self_extend(train_len: int, length: int) -> str:
    """A quarter of the training length as it is, and groups as small as let the farthest key be at a trained distance.

    >>> self_extend(4096, 16_384)
    'self-extend:6:1024'
    """
    window = max(1, train_len // 4)
    group = next(G for G in count(1) if (length - 1) // G + window - window // G < train_len)
    return f"self-extend:{group}:{window}"


METHODS: dict[str, Method] = {
    "trained": Method("as it was trained", "-"),
    "interpolation": Method(
        "positions divided by f", "Chen et al. 2023", "--set scaling=interpolation,factor=4", scaling("interpolation")
    ),
    "ntk": Method(
        "a larger base: slow pairs interpolated, fast ones not",
        "bloc97 2023",
        "--set scaling=ntk,factor=4",
        scaling("ntk"),
    ),
    "dynamic_ntk": Method(
        "the same, by as much as the text is too long",
        "emozilla 2023; transformers",
        "--set scaling=dynamic_ntk,factor=1",
        scaling("dynamic_ntk", by_length=True),
    ),
    "yarn": Method(
        "slow pairs interpolated, fast ones not, a ramp between; logits sharpened",
        "Peng et al. 2023; transformers",
        "--set scaling=yarn,factor=4",
        scaling("yarn"),
    ),
    "llama3": Method(
        "the same with a ramp over the turns of a pair",
        "Llama team 2024; transformers",
        "--set scaling=llama3,factor=4",
        scaling("llama3"),
    ),
    "longrope": Method(
        "each pair divided by a number that was searched for",
        "Ding et al. 2024; transformers",
        "--set scaling=longrope",
        lambda train_len, length: {SCALING: "longrope"},
        needs="short_factor and long_factor, which a config brings",
    ),
    "log_n": Method(
        "queries times ln n / ln L where they see n > L symbols",
        "Su 2021; Qwen 2023",
        "--set log_n=true",
        lambda train_len, length: {"encoding.log_n": True},
    ),
    "sliding": Method(
        "the last W symbols in every layer",
        "Jiang et al. 2023; transformers",
        "--attention sliding:W",
        attention=lambda train_len, length: f"sliding:{train_len}",
    ),
    "bca": Method(
        "the block of half a training length, and the one before",
        "Sun et al. 2023",
        "--attention bca",
        attention=lambda train_len, length: "bca",
    ),
    "sinks": Method(
        "the first S symbols and the last W, at their positions in a cache (StreamingLLM)",
        "Xiao et al. 2024; mit-han-lab/streaming-llm",
        "--attention sinks:S:W",
        attention=lambda train_len, length: f"sinks:{SINKS}:{max(1, train_len - SINKS)}",
    ),
    "self-extend": Method(
        "the last W symbols as they are, the others at positions shared by G",
        "Jin et al. 2024; datamllab/LongLM",
        "--attention self-extend:G:W",
        attention=self_extend,
    ),
    "alignment": Method(
        "one temperature a model, layer or head, that makes attention as sharp as at the training length",
        "Chi 2024, chapter 5",
        "--temperature FILE",
        needs="the file, which `regulargpt align` writes",
    ),
    "kerple": Method(
        "a bias of few numbers a head beside the network's own positions, trained on longer segments",
        "Chi 2024, section 7.4",
        "--bias FILE",
        needs="the file, which `regulargpt lengthen` writes",
    ),
}


def rows() -> list[dict[str, str]]:
    """One row a method.

    >>> rows()[1]["flags"]
    '--set scaling=interpolation,factor=4'
    """
    return [
        {"name": name, "summary": method.summary, "flags": method.options or "-", "source": method.source}
        for name, method in METHODS.items()
    ]
