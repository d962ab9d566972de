"""The options of the encodings, a class each. Never imports torch.

They stand apart from the classes that use them because help, lists and refusals must not wait for torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from regulargpt.options import Options, option, section

PUBLISHED = 512
"""The training length of the published models; an encoding built outside a run has it."""
# Of float32, a factor ten below where it ends: scores are sums of products.
LARGEST = 3e37
BY_LENGTH = ("dynamic_ntk", "longrope")
"""The scalings of rotary positions that have not one factor for words of all lengths."""


@dataclass(frozen=True)
class EncodingOptions(Options):
    """The options of an encoding. All but `name` are passed to its constructor by name."""

    name: str

    causal_only: ClassVar[str] = ""
    """Why a model that has it must be causal; empty if it need not, or if that depends on the options."""

    def not_bidirectional(self) -> str:
        """Why a model with these options must be causal; empty if it need not."""
        return self.causal_only

    def refuse_heads(self, d_model: int, n_heads: int, d_head: int = 0) -> Iterator[str]:
        """What is wrong with heads of this width, 0 for d_model / n_heads, in lines that begin with an option."""
        yield from ()

    def parameters(self, d_model: int) -> int:
        """The weights of what may be large."""
        return 0

    def scaled_in_training(self) -> str | None:
        """How positions were scaled in training already; None if they were not."""
        return None

    def refuse_scaling(self, scaling: str) -> str | None:
        """Why a scaling of positions cannot be set, or go on, in a test; None if it can."""
        return None

    def too_long(self, length: int) -> str | None:
        """Why words of this length are too long for it; None if they are not."""
        return None

    def too_short(self, length: int) -> str | None:
        """Why training on words of at most this length leaves parameters untrained; None if it does not."""
        return None


def train_len() -> Any:
    """The option of an encoding that needs the length of training."""
    help = "Length of training; 0: the run's."
    return option(0, help, least=0, most=1_048_576, why="a length is at least 1, 0: the run's", takes="data.train_len")


@dataclass(frozen=True)
class LearnedOptions(EncodingOptions):
    """What all encodings with parameters have."""

    learning_rate: float = option(
        1.0, "Learning rate of its parameters, as a multiple of the others'.", least=0, why="it is not negative"
    )


@dataclass(frozen=True)
class BiasOptions(EncodingOptions):
    """What all functions of the distance have."""

    bias_dtype: Literal["auto", "bfloat16"] = option(
        "auto", "Distances as they are, or rounded as in the published runs: 257 to 256, 8193 to 8192.", at_test=True
    )


@dataclass(frozen=True)
class KernelOptions(BiasOptions, LearnedOptions):
    """KERPLE and the Gaussian kernels."""


@dataclass(frozen=True)
class TableOptions(LearnedOptions):
    """Learned absolute positions."""

    beyond: Literal["refuse", "clamp"] = option(
        "refuse", "Positions behind the table: refused, or all given its last vector.", at_test=True
    )
    train_len: int = train_len()

    def parameters(self, d_model: int) -> int:
        return (self.train_len or PUBLISHED) * d_model

    def too_long(self, length: int) -> str | None:
        """The table ends at the length of training.

        >>> TableOptions("learned", train_len=40).too_long(80)
        "model.encoding.name = 'learned' has no vector behind position 40; set model.encoding.beyond = 'clamp'"
        """
        if self.beyond == "clamp" or not self.train_len or length <= self.train_len:
            return None
        return (
            f"model.encoding.name = '{self.name}' has no vector behind position {self.train_len}; "
            "set model.encoding.beyond = 'clamp'"
        )


@dataclass(frozen=True)
class AlibiOptions(BiasOptions):
    """ALiBi."""

    slopes: Literal["geometric", "press", "equal"] = option(
        "geometric",
        "One geometric sequence for any number of heads (Eq. 4.3), the published code's, or one slope for all.",
    )
    shift: float = option(0.0, "Added to every h: 2^-(h + shift).", least=-64, most=64, why="at least -64")


@dataclass(frozen=True)
class PairsOptions(EncodingOptions):
    """What all encodings have that turn pairs."""

    def refuse_heads(self, d_model: int, n_heads: int, d_head: int = 0) -> Iterator[str]:
        if (width := d_head or d_model // n_heads) % 2:
            given = "model.d_head" if d_head else "model.d_model / model.n_heads"
            yield f"encoding.name = '{self.name}' turns pairs: {given} = {width} must be even"


def turned_width(fraction: float, d_head: int) -> int:
    """How many entries of a head are turned: they come in pairs.

    >>> turned_width(0.25, 20)
    4
    """
    return int(fraction * d_head) // 2 * 2


def of_scaling(default: float, help: str, least: float, why: str) -> Any:
    """An option of one of the scalings."""
    return option(default, help, least=least, why=why, needs="scaling", at_test=True)


@dataclass(frozen=True)
class RotaryOptions(PairsOptions):
    """Rotary positions."""

    layout: Literal["pairs", "halves"] = option(
        "pairs", "What is turned: (2i, 2i + 1), or (i, i + D/2) as in GPT-NeoX."
    )
    fraction: float = option(1.0, "Share of a head that is turned.", least=0, most=1, why="it is a share, 0 to 1")
    base: float = option(
        10_000.0, "Pair i turns by theta_i = base^(-2i/D) a position.", least=1, why="a base is at least 1"
    )
    scaling: Literal["none", "interpolation", "ntk", "dynamic_ntk", "yarn", "llama3", "longrope"] = option(
        "none", "How angles are changed at test time, in words longer than the length of training.", at_test=True
    )
    factor: float = option(
        0.0,
        "By how much positions are squeezed; 0: test length / train_len.",
        least=0,
        most=1e6,
        why="it is not negative",
        needs="scaling",
        at_test=True,
    )
    beta_fast: float = of_scaling(
        32.0, "YaRN leaves pairs alone that turn more often in a training word.", 1e-5, "it is above beta_slow"
    )
    beta_slow: float = of_scaling(
        1.0, "YaRN interpolates pairs that turn less often in a training word.", 1e-6, "above 0"
    )
    attention_factor: float = of_scaling(
        0.0,
        "YaRN and LongRoPE multiply queries and keys by it; 0: 0.1 ln f + 1, f the factor; of LongRoPE 1.",
        0.0,
        "it is not negative",
    )
    low_freq_factor: float = of_scaling(
        1.0, "Llama 3 interpolates pairs that turn less often in a training word.", 1e-6, "it is above 0"
    )
    high_freq_factor: float = of_scaling(
        4.0, "Llama 3 leaves pairs alone that turn more often in a training word.", 1e-5, "it is above low_freq_factor"
    )
    short_factor: tuple[float, ...] = option(
        (), "LongRoPE divides the angles by it, pair by pair, up to train_len.", needs="scaling", at_test=True
    )
    long_factor: tuple[float, ...] = option(
        (), "LongRoPE divides the angles by it, pair by pair, in longer words.", needs="scaling", at_test=True
    )
    in_training: bool = option(False, "Whether angles are scaled in training, too.", needs="scaling")
    log_n: bool = option(
        False, "Whether, in a test, the query that sees n > L symbols is multiplied by ln n / ln L.", at_test=True
    )
    train_len: int = train_len()

    def refuse_heads(self, d_model: int, n_heads: int, d_head: int = 0) -> Iterator[str]:
        yield from super().refuse_heads(d_model, n_heads, d_head)
        pairs = turned_width(self.fraction, d_head or d_model // n_heads) // 2
        for key in ("short_factor", "long_factor") if self.scaling == "longrope" else ():
            if (count := len(getattr(self, key))) != pairs:
                yield f"encoding.{key} has {count} numbers; scaling = 'longrope' needs {pairs}, one a pair"

    def scaled_in_training(self) -> str | None:
        """The scaling and its factor.

        >>> RotaryOptions("rotary", scaling="yarn", factor=4.0, in_training=True).scaled_in_training()
        'yarn, factor 4'
        """
        if not self.in_training or self.scaling == "none":
            return None
        return f"{self.scaling}, factor {self.factor:g}" if self.factor else self.scaling

    def refuse_scaling(self, scaling: str) -> str | None:
        """Only a scaling that has one factor for all lengths goes on, and only as the kind that it is."""
        if (own := self.scaled_in_training()) is None:
            return None
        if scaling != self.scaling or scaling in BY_LENGTH or not self.factor:
            return f"its positions are scaled already ({own}); another scaling would undo that"
        if self.attention_factor:
            return f"its positions are scaled already ({own}), and its attention_factor is for that factor alone"
        return None

    def problems(self) -> Iterator[str]:
        if 0 < self.factor < 1:
            yield f"factor = {self.factor}; it is at least 1, or 0: test length / train_len"
        if self.beta_fast <= self.beta_slow:
            yield f"beta_fast = {self.beta_fast} is not above beta_slow = {self.beta_slow}"
        if self.scaling == "llama3" and self.high_freq_factor <= self.low_freq_factor:
            yield f"high_freq_factor = {self.high_freq_factor} is not above low_freq_factor = {self.low_freq_factor}"
        for key in ("short_factor", "long_factor"):
            if not all(0 < number < math.inf for number in getattr(self, key)):
                yield f"{key} = {list(getattr(self, key))}; each is above 0"
        if self.scaling == "yarn" and self.base == 1:
            yield "base = 1.0 lets all pairs turn alike; scaling = 'yarn' needs a larger one"


@dataclass(frozen=True)
class XposOptions(PairsOptions):
    """xPos."""

    gamma: float = option(
        0.4, "Pair i decays by zeta_i = (2i/D + gamma)/(1 + gamma).", least=0.001, why="zeta_0 must be above 0"
    )
    scale_base: float = option(
        512.0, "Distance over which a pair shrinks by zeta_i.", least=0.001, why="above 0", at_test=True
    )
    zeta: Literal["pairs", "scalar"] = option("pairs", "One zeta_i a pair, or gamma/(1 + gamma) for all.")
    rotate: bool = option(True, "Whether pairs are turned as in rotary, too.")

    causal_only: ClassVar[str] = "model.encoding.name = 'xpos' makes keys behind the query grow without bound"

    def too_long(self, length: int) -> str | None:
        """Where zeta^((m-n)/2B) is beyond what float32 holds.

        >>> XposOptions("xpos").too_long(16_384), XposOptions("xpos").too_long(100_000)
        (None, 'model.encoding.scale_base = 512.0 holds at most 70,536 positions in float32; choose a larger one')
        """
        most = 2 * self.scale_base * math.log(LARGEST) / math.log((1 + self.gamma) / self.gamma)
        if length <= most:
            return None
        return (
            f"model.encoding.scale_base = {self.scale_base} holds at most {int(most):,} positions in float32; "
            "choose a larger one"
        )


@dataclass(frozen=True)
class T5Options(KernelOptions):
    """The bias of T5."""

    buckets: int = option(32, "Buckets of distances.", least=4, most=65_536, why="at least 2 exact and 2 wide ones")
    max_distance: int = option(
        0,
        "Distances from here on share a bucket; 0: 128, or train_len where that is shorter.",
        least=0,
        most=1_048_576,
        why="a distance is not negative",
    )
    scale: Literal["neox", "mesh"] = option(
        "neox", "The bias times sqrt(D), as in GPT-NeoX and x-transformers, or as it is, as in Mesh TensorFlow."
    )
    drawn: Literal["xavier", "normal", "mesh"] = option(
        "xavier", "From N(0, 2/(buckets + H)) as in GPT-NeoX, N(0, 1) as in x-transformers, or N(0, 1/d_model) as T5."
    )
    train_len: int = train_len()

    def problems(self) -> Iterator[str]:
        if self.buckets % 4:
            yield f"buckets = {self.buckets} is not a multiple of 4"

    def too_short(self, length: int) -> str | None:
        """Where the last bucket begins behind the last distance that is trained.

        >>> T5Options("t5", max_distance=128).too_short(100)
        'its longest distance is 99, and the last bucket begins at 113; set model.encoding.max_distance to at most 111'
        >>> T5Options("t5").too_short(100)
        """
        if not self.max_distance or (last := bucket_starts(self.buckets, self.max_distance)[-1]) < length:
            return None
        return (
            f"its longest distance is {length - 1}, and the last bucket begins at {last}; "
            f"set model.encoding.max_distance to at most {reached(self.buckets, self.max_distance, length)}"
        )


def bucket_starts(buckets: int, max_distance: int) -> list[int]:
    """The distances at which buckets 1, 2, ... begin: half of them one by one, then in equal steps of ln x.

    >>> bucket_starts(32, 128)[14:20], bucket_starts(32, 128)[-3:]
    ([15, 16, 19, 21, 24, 27], [87, 99, 113])
    """
    exact = buckets // 2
    if max_distance <= exact:
        return list(range(1, max(2, max_distance)))
    ratio = max_distance / exact
    # What is a whole number but for rounding is that number.
    wide = [math.ceil(exact * ratio ** (k / (buckets - exact)) - 1e-9) for k in range(buckets - exact)]
    return [*range(1, exact), *wide]


def reached(buckets: int, most: int, length: int) -> int:
    """The largest max_distance up to `most` for which a word of this length reaches the last bucket.

    >>> reached(32, 128, 512), reached(32, 128, 40), reached(32, 128, 10)
    (128, 41, 10)
    """
    # In the worst case a word of this length ends where the last bucket of one twice as long begins.
    return next(m for m in range(min(most, 2 * length), 0, -1) if m == 1 or bucket_starts(buckets, m)[-1] < length)


@dataclass(frozen=True)
class SandwichOptions(BiasOptions):
    """Sandwich."""

    d_bar: int = option(128, "Width of the sinusoids.", least=2, most=65_536, why="there is at least one cosine")
    first_index: int = option(
        0, "The first i: 0 as in the listing, or 1 as in the text.", least=0, most=1, why="it is 0 or 1"
    )

    def problems(self) -> Iterator[str]:
        if self.d_bar % 2:
            yield f"d_bar = {self.d_bar} is odd; it counts pairs of a sine and a cosine"


@dataclass(frozen=True)
class SmoothOptions(BiasOptions):
    """The smoothed Sandwich."""

    fit: Literal["figure", "nearest"] = option(
        "figure",
        "Fitted to all distances (a figure: -0.825 ln(1+x)), or to the nearest 50 (its footnote: -1.024 ln(1+x)).",
    )


@dataclass(frozen=True)
class TransformerXLOptions(LearnedOptions):
    """Transformer-XL."""

    clamp: int = option(0, "Distances above it count as it; 0: never.", least=0, most=1_048_576, why="not negative")


@dataclass(frozen=True)
class WindowOptions(EncodingOptions):
    """A window."""

    width: int = option(
        40, "Keys that a query sees, its own among them.", least=1, most=1_048_576, why="a window has at least 1 key"
    )


@dataclass(frozen=True)
class FireOptions(LearnedOptions):
    """FIRE."""

    width: int = option(32, "Hidden units of its network.", least=1, most=65_536, why="there is at least one")
    train_len: int = train_len()


@dataclass(frozen=True)
class ForgettingOptions(LearnedOptions):
    """The Forgetting Transformer."""

    gate_bias: float = option(0.0, "Where b of its gates starts: with 0 a half is forgotten a symbol, with 5 0.7 %.")

    causal_only: ClassVar[str] = "model.encoding.name = 'forgetting' forgets what lies before the query"


@dataclass(frozen=True)
class PathOptions(LearnedOptions):
    """PaTH."""

    gate: bool = option(False, "Whether symbols fade, too, as in forgetting.")

    causal_only: ClassVar[str] = "model.encoding.name = 'path' moves keys by what was read up to the query"


@dataclass(frozen=True)
class CopeOptions(LearnedOptions):
    """CoPE."""

    p_max: int = option(
        16, "Vectors of counts: larger ones count as p_max - 1.", least=2, most=65_536, why="at least 2"
    )

    causal_only: ClassVar[str] = "model.encoding.name = 'cope' counts back from the query"


@dataclass(frozen=True)
class ScaledOptions(EncodingOptions):
    """What scales the queries of another encoding."""

    inner: EncodingOptions = section(
        "regulargpt.encodings:ENCODINGS", EncodingOptions("none"), "The encoding whose queries are scaled."
    )
    train_len: int = train_len()

    def not_bidirectional(self) -> str:
        return self.inner.not_bidirectional()

    def refuse_heads(self, d_model: int, n_heads: int, d_head: int = 0) -> Iterator[str]:
        yield from self.inner.refuse_heads(d_model, n_heads, d_head)

    def parameters(self, d_model: int) -> int:
        return self.inner.parameters(d_model)

    def too_long(self, length: int) -> str | None:
        return self.inner.too_long(length)

    def too_short(self, length: int) -> str | None:
        return self.inner.too_short(length)


@dataclass(frozen=True)
class SSMaxOptions(ScaledOptions, LearnedOptions):
    """Scalable softmax."""


ADDED: dict[str, dict[str, tuple[float, float, float]]] = {
    "kerple_log": {"r1": (0.0, 0.0, math.inf), "r2": (1.0, 0.01, math.inf)},
    "kerple_power": {"r1": (0.0, 0.0, math.inf), "r2": (0.5, 0.01, 2.0)},
    "kerple_log3": {"r1": (0.0, 0.0, math.inf), "r2": (1.0, 0.01, math.inf), "r3": (1.0, 0.01, 2.0)},
}
"""Kernels whose bias is added to a trained network: where each parameter starts, its least and its most."""
