"""The options of RegularGPT, and which of them keep it one map of C children at every length. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.tree.options import Shape, TreeOptions, noise_growth, noise_loss, state_noise, tree_shape
from regulargpt.options import option

# Longer words are refused where attention holds a number for each pair of positions.
LONGEST_PAIRED = 4096
# A number this close to 0 is none to the network: all its embeddings would be equal.
SMALLEST_EMBEDDING = 1e-6
FLAT = f"at least {SMALLEST_EMBEDDING:g}: with 0 all symbols look the same"


@dataclass(frozen=True)
class RegularGPTOptions(TreeOptions):
    """RegularGPT, the thesis's or with gates. `distinct_levels`, `levels`, `pad` and `attention` each take one thing
    away from it (section 6.2): weight sharing, the adaptive depth, the learned pad, the sliding-dilated mask.

    >>> RegularGPTOptions("regulargpt", chunk_size=3).label, RegularGPTOptions("regulargpt", gates=True).label
    ('regulargpt-C3', 'gated-regulargpt-C2')
    """

    chunk_size: int = option(
        2, "Chunk size C.", least=2, most=1024, why="a chunk has at least 2 symbols", flag="--chunk-size"
    )
    gates: bool = option(
        False,
        "Whether each child is multiplied by gates computed from all children of its node.",
        flag="--gates/--no-gates",
    )
    thickness: int = option(1, "Layers K of a level.", least=1, most=1024, why="a level has at least 1 layer")
    d_model: int = option(
        64, "Width of a state.", least=1, most=65_536, why="a state has at least 1 number", flag="--d-model"
    )
    n_heads: int = option(4, "Heads of attention.", least=1, most=65_536, why="attention has at least 1 head")
    d_ff: int = option(256, "Units of the FFN.", least=1, most=1_048_576, why="the FFN has at least 1 unit")
    norm: Literal["pre", "post"] = option("pre", "LayerNorm before attention and FFN, or after.")
    activation: Literal["relu", "gelu"] = option("gelu", "Activation of the FFN.")
    attention_bias: bool = option(True, "Whether the maps of attention have biases.")
    embedding_std: float = option(
        1.0, "Standard deviation of the embeddings.", least=SMALLEST_EMBEDDING, most=1_000_000, why=FLAT
    )
    embedding_scale: float = option(
        1.0, "What the embeddings are multiplied by.", least=SMALLEST_EMBEDDING, most=1_000_000, why=FLAT
    )
    state_norm: bool = option(True, "Whether a LayerNorm holds the states of all levels on one scale.")
    state_noise: float = state_noise()
    noise_loss: float = noise_loss()
    noise_growth: float = noise_growth()
    distinct_levels: int = option(
        1,
        "Levels with weights of their own; 1 shares them all.",
        least=1,
        most=1024,
        why="1 shares the weights across depth, more are levels with weights of their own",
    )
    levels: int = option(
        0,
        "Levels for words of all lengths; 0: as deep as the word needs.",
        least=0,
        most=1024,
        why="0 is a depth that grows with the word, more is the depth for every word",
    )
    pad: Literal["learned", "masked"] = option("learned", "What stands before the word: a learned pad, or nothing.")
    attention: Literal["dilated", "full"] = option(
        "dilated", "Sliding-dilated, or Eq. (6.1) with 0 for minus infinity."
    )

    tied: bool = option(False, "Whether the readout is the embedding's transpose, without a bias.")
    tree: Shape = tree_shape()

    @property
    def title(self) -> str:
        return f"gated-{self.name}" if self.gates else self.name

    @property
    def label(self) -> str:
        return f"{self.title}-C{self.chunk_size}"

    @property
    def quadratic(self) -> bool:
        return self.attention == "full"

    @property
    def shortest(self) -> int:
        return self.chunk_size

    def parameters(self) -> int:
        gates = self.gates * (6 * self.chunk_size + 8) * self.d_model
        return self.thickness * self.distinct_levels * self.d_model * (4 * self.d_model + 2 * self.d_ff + gates)

    def why_no_certificate(self) -> str | None:
        """It is one layer, a node of which is one map of C children or pads, in a tree as deep as its word is long.

        >>> RegularGPTOptions("regulargpt", attention="full").why_no_certificate()
        "model.attention = 'full' makes a state depend on every earlier one; needed is 'dilated'"
        """
        if self.thickness > 1 or self.distinct_levels > 1:
            return "only one weight-shared layer, thickness = 1 and distinct_levels = 1, is one map"
        if self.levels:
            return f"model.levels = {self.levels} fixes the depth; needed is 0, a depth that grows with the word"
        if self.pad != "learned":
            return f"model.pad = '{self.pad}' composes fewer than C states where the word begins; needed is 'learned'"
        if self.attention != "dilated":
            return (
                f"model.attention = '{self.attention}' makes a state depend on every earlier one; needed is 'dilated'"
            )
        return None

    def why_no_words(self) -> str | None:
        return "model.tied = true answers with symbols; set it to false" if self.tied else None

    def too_long(self, length: int) -> str | None:
        """Full attention holds a number for each pair of positions.

        >>> RegularGPTOptions("regulargpt", attention="full").too_long(10_000)
        "at most 4,096 with model.attention = 'full'; choose a shorter length"
        """
        if self.attention != "full" or length <= LONGEST_PAIRED:
            return None
        return f"at most {LONGEST_PAIRED:,} with model.attention = 'full'; choose a shorter length"

    def contradiction(self) -> str | None:
        """Gates read every place of a chunk.

        >>> RegularGPTOptions("regulargpt", gates=True, pad="masked").contradiction()
        "model.pad = 'masked': gates need 'learned'; set it, or model.gates = false"
        """
        if self.follows_brackets and (reason := self.why_no_certificate()) is not None:
            return f"model.tree = 'nested' needs one map for every node: {reason}"
        for name, usual in (("pad", "learned"), ("attention", "dilated")):
            if self.gates and getattr(self, name) != usual:
                return f"model.{name} = {getattr(self, name)!r}: gates need {usual!r}; set it, or model.gates = false"
        return None

    def problems(self) -> Iterator[str]:
        if self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}"
        if 0 < self.levels < self.distinct_levels:
            yield (
                f"distinct_levels = {self.distinct_levels}: with model.levels = {self.levels} the last are never used; "
                f"set it to at most {self.levels}"
            )
        yield from super().problems()
