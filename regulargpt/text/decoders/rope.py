"""The rotary positions of a config, `rope_parameters` of `transformers`, as ours. Never imports torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from languages.errors import UserError, one_of
from regulargpt.encodings.options import RotaryOptions

# What that library calls a scaling, and we.
SCALINGS: dict[Any, Any] = {
    "default": "none",
    "linear": "interpolation",
    "dynamic": "dynamic_ntk",
    "yarn": "yarn",
    "llama3": "llama3",
    "longrope": "longrope",
}


def rotary(given: Mapping[str, Any], longest: int, width: int) -> RotaryOptions:
    """The options of heads of this width, in a network of so many positions at most.

    A scaling of the config was there in training, or the network was made to work with it.

    Raises UserError for a scaling that ours has not.

    >>> rotary({"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}, 2048, 64).scaling
    'interpolation'
    """
    kind: Any = given.get("rope_type")
    if kind not in SCALINGS:
        raise UserError(f"rope_type = {kind!r:.40}; only {one_of(SCALINGS)} can be read")
    if not given.get("truncate", True):
        raise UserError("rope_parameters has truncate = false; only ramps between whole pairs can be read")
    fraction = given.get("partial_rotary_factor", 1.0)
    if int(fraction * width) % 2:
        raise UserError(f"{int(fraction * width)} of {width} entries of a head turn; they turn in pairs")
    plain = {"layout": "halves", "fraction": fraction, "base": given["rope_theta"]}
    if kind == "default":
        return RotaryOptions("rotary", **plain)
    trained = given.get("original_max_position_embeddings") or longest
    factor = given.get("factor") or longest / trained
    more = {key: given[key] for key in KEPT[kind] if given.get(key) is not None}
    if kind in ATTENTION_FACTORS:
        more["attention_factor"] = given.get("attention_factor") or ATTENTION_FACTORS[kind](given, factor, trained)
    return RotaryOptions(
        "rotary", **plain, scaling=SCALINGS[kind], factor=factor, **more, in_training=True, train_len=trained
    )


KEPT = {
    "linear": (),
    "dynamic": (),
    "yarn": ("beta_fast", "beta_slow"),
    "llama3": ("low_freq_factor", "high_freq_factor"),
    "longrope": ("short_factor", "long_factor"),
}
"""The options that have the same name there."""


def of_yarn(given: Mapping[str, Any], factor: float, trained: int) -> float:
    """The ratio of two 0.1 m ln f + 1 (as DeepSeek has it); 0, which is one with m = 1, where no m is given.

    >>> of_yarn({}, 4.0, 4096), of_yarn({"mscale": 1.0, "mscale_all_dim": 1.0}, 4.0, 4096)
    (0.0, 1.0)
    """

    def scale(m: float) -> float:
        return 0.1 * m * math.log(factor) + 1 if factor > 1 else 1.0

    m, of_all = given.get("mscale"), given.get("mscale_all_dim")
    return scale(m) / scale(of_all) if m and of_all else 0.0


def of_longrope(given: Mapping[str, Any], factor: float, trained: int) -> float:
    """sqrt(1 + ln f / ln L) (Ding et al. 2024, as Phi-3 has it).

    >>> of_longrope({}, 1.0, 4096), round(of_longrope({}, 32.0, 4096), 4)
    (1.0, 1.1902)
    """
    return math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0


ATTENTION_FACTORS = {"yarn": of_yarn, "longrope": of_longrope}
