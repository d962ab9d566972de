"""The options of the models, and what the rest may ask of a model before it is built. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from regulargpt.encodings.options import EncodingOptions
from regulargpt.models.tree.shape import Side
from regulargpt.options import Options, as_mapping, option, section

MOST_PARAMETERS = 1_000_000_000


@dataclass(frozen=True)
class Noise:
    """Noise that a model is trained under, raised as the running loss allows: how strong at the end, from which loss on
    it grows (0: it is there at once), by which factor a step."""

    full: float
    loss: float
    growth: float


@dataclass(frozen=True)
class ModelOptions(Options):
    """The options of a model. What `arguments` gives is passed to its constructor by name.

    A model outside this package derives its options from this class; what it does not say of itself has the defaults.
    """

    name: str

    most_parameters: ClassVar[int] = MOST_PARAMETERS
    """What the blocks may have."""

    @property
    def title(self) -> str:
        """What lines and tables call the network: the model, and what makes it another network."""
        return self.name

    @property
    def label(self) -> str:
        """The network in the name of a run."""
        return self.title

    @property
    def quadratic(self) -> bool:
        """Whether attention holds a number for each pair of positions."""
        return False

    @property
    def aligned(self) -> Side:
        """Of a tree, the side from which words are cut into windows."""
        return "right"

    @property
    def noise(self) -> Noise | None:
        """The noise it is trained under, if it can be."""
        return None

    @property
    def shortest(self) -> int:
        """The length that the longest training word needs to have at least."""
        return 1

    def parameters(self) -> int:
        """About how many weights the model has, or a few times fewer: those of its blocks."""
        return 0

    @property
    def follows_brackets(self) -> bool:
        """Of a tree, whether it follows the brackets of its words."""
        return False

    def record(self) -> dict[str, Any]:
        """What config.json says of it: all that the function depends on."""
        return as_mapping(self)

    def why_no_certificate(self) -> str | None:
        """Why the levels are not one and the same map at every length; None if they are."""
        return f"{self.name} does not use one map at every level of a tree"

    @property
    def has_stacks(self) -> bool:
        """Whether it is a network with stacks, proven by the product with a machine."""
        return False

    @property
    def carries_state(self) -> bool:
        """Whether it reads a word symbol by symbol and carries a state of fixed size, that of a machine."""
        return False

    def why_no_stack_proof(self) -> str | None:
        """Of a network with stacks, why it is no machine of finitely many states and one stack; None if it is."""
        return f"{self.name} has no stack"

    def too_long(self, length: int) -> str | None:
        """Why words of this length are too long for the model; None if they are not."""
        return None

    def too_short(self, length: int) -> str | None:
        """Why words of at most this length train only a part of the model; None if they train all of it."""
        return None

    def why_no_prefixes(self) -> str | None:
        """Why it cannot be queried at every position; None if it can."""
        return None

    def why_no_words(self) -> str | None:
        """Why it cannot be queried about words of a language, only about a text; None if it can."""
        return None

    def why_no_texts(self) -> str | None:
        """Why it cannot be queried for the next symbol of a text; None if it can."""
        return None

    def contradiction(self) -> str | None:
        """What its options say together that cannot be, once all of them are chosen; None if there is nothing."""
        return None

    def why_no_views(self) -> str | None:
        """Why its attention cannot be restricted to a window or to blocks in evaluation; None if it can."""
        return f"{self.name} has no attention that could be restricted"

    def problems(self) -> Iterator[str]:
        """More weights than any machine here holds."""
        if (n := self.parameters()) > self.most_parameters:
            sizes = ("d_model", "d_ff", "n_layers", "thickness", "distinct_levels")
            given = ", model.".join(f"{name} = {getattr(self, name)}" for name in sizes if hasattr(self, name))
            yield f"{given} make about {n:,} parameters; at most {self.most_parameters:,}"


@dataclass(frozen=True)
class RecurrentOptions(ModelOptions):
    """lstm, gru and linear-rnn, and what rnn has of them."""

    d_model: int = option(
        64, "Width of the state.", least=1, most=65_536, why="a state has at least 1 number", flag="--d-model"
    )
    n_layers: int = option(1, "Layers.", least=1, most=1024, why="a model has at least 1 layer", flag="--n-layers")

    @property
    def carries_state(self) -> bool:
        return True

    def parameters(self) -> int:
        return self.n_layers * 4 * self.d_model**2


@dataclass(frozen=True)
class RnnOptions(RecurrentOptions):
    """rnn.

    >>> RnnOptions("rnn").title, RnnOptions("rnn", activation="tanh").title
    ('rnn', 'tanh-rnn')
    """

    activation: Literal["relu", "tanh"] = option("relu", "What makes the state of its sums; tanh bounds it.")

    @property
    def title(self) -> str:
        return self.name if self.activation == "relu" else f"{self.activation}-{self.name}"


@dataclass(frozen=True)
class TransformerOptions(ModelOptions):
    """The Transformer."""

    d_model: int = option(
        64, "Width of the residual stream.", least=1, most=65_536, why="it has at least 1 number", flag="--d-model"
    )
    n_heads: int = option(4, "Heads of attention.", least=1, most=65_536, why="attention has at least 1 head")
    d_ff: int = option(256, "Units of the FFN.", least=1, most=1_048_576, why="the FFN has at least 1 unit")
    n_layers: int = option(1, "Blocks.", least=1, most=1024, why="a model has at least 1 layer", flag="--n-layers")
    norm: Literal["pre", "post"] = option("pre", "LayerNorm before attention and FFN, or after.")
    activation: Literal["relu", "gelu"] = option("gelu", "Activation of the FFN.")
    dropout: float = option(
        0.0, "Share of entries dropped in training.", least=0, below=1, why="it is a share, 0 to below 1"
    )
    causal: bool = option(True, "Whether a position sees only what lies before it.")
    encoding: EncodingOptions = section(
        "regulargpt.encodings:ENCODINGS", EncodingOptions("none"), "Positional encoding of a transformer.", "--encoding"
    )

    tied: bool = option(False, "Whether the readout is the embedding's transpose, without a bias.")
    scale_embedding: bool = option(True, "Whether embeddings are multiplied by sqrt(d_model).")
    random_positions: int = option(
        0,
        "Positions of a batch are drawn from so many; 0: they are 0, 1, 2, ...",
        least=0,
        most=16_777_216,
        why="give a number of positions, 0 for consecutive ones",
    )

    def parameters(self) -> int:
        return self.n_layers * self.d_model * (4 * self.d_model + 2 * self.d_ff) + self.encoding.parameters(
            self.d_model
        )

    @property
    def quadratic(self) -> bool:
        return True

    def why_no_words(self) -> str | None:
        return "model.tied = true answers with symbols; set it to false" if self.tied else None

    def why_no_prefixes(self) -> str | None:
        return None if self.causal else "set model.causal = true"

    def contradiction(self) -> str | None:
        """An encoding that needs the mask.

        >>> from regulargpt.encodings.options import XposOptions
        >>> TransformerOptions("transformer", causal=False, encoding=XposOptions("xpos")).contradiction()
        "model.encoding.name = 'xpos' makes keys behind the query grow without bound; set model.causal = true"
        """
        reason = "" if self.causal else self.encoding.not_bidirectional()
        return f"{reason}; set model.causal = true" if reason else None

    def why_no_views(self) -> str | None:
        return None if self.causal else "set model.causal = true"

    def too_long(self, length: int) -> str | None:
        among = self.random_positions
        if 0 < among < length:
            return f"model.random_positions = {among} has fewer positions"
        return self.encoding.too_long(max(length, among))

    def too_short(self, length: int) -> str | None:
        return self.encoding.too_short(length)

    def problems(self) -> Iterator[str]:
        if self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}"
        yield from self.encoding.refuse_heads(self.d_model, self.n_heads)
        yield from super().problems()
