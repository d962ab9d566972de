"""The options of state noise, which every weight-shared tree has. Never imports torch.

They are functions, not fields of a base class: a base's fields would stand before all others in config.toml.
"""

from __future__ import annotations

from typing import Any, Literal

from regulargpt.models.options import ModelOptions, Noise
from regulargpt.options import option


def state_noise() -> Any:
    return option(
        0.0,
        "Noise on the states in training, in units of their RMS.",
        least=0,
        most=1_000_000,
        why="a size is not negative",
    )


def noise_loss() -> Any:
    return option(
        0.0,
        "The noise grows while the running loss is below; 0: at once.",
        least=0,
        why="a loss is not negative",
        needs="state_noise",
    )


def noise_growth() -> Any:
    return option(
        1.01,
        "Factor a step by which it grows.",
        least=1,
        most=1_000_000,
        needs="noise_loss",
        why="the noise is multiplied by it as it grows: give 1 or more",
    )


def tree_shape() -> Any:
    return option("flat", "Whether the tree is cut from the word's end alone, or follows its brackets.")


Shape = Literal["flat", "nested"]


class TreeOptions(ModelOptions):
    """Options of a weight-shared tree: those above are fields of its own."""

    state_noise: float
    noise_loss: float
    noise_growth: float
    tree: Shape

    def arguments(self) -> dict[str, Any]:
        """How strong the noise is, the training decides, and where brackets are, the language says."""
        # `set_noise` and `follow` give them later; the constructor needs none of it.
        return {key: value for key, value in super().arguments().items() if "noise" not in key and key != "tree"}

    @property
    def follows_brackets(self) -> bool:
        return self.tree == "nested"

    def why_no_prefixes(self) -> str | None:
        """Along brackets its root stands over the whole word."""
        return "a tree that follows brackets answers at the end; choose 'last'" if self.follows_brackets else None

    @property
    def noise(self) -> Noise:
        return Noise(self.state_noise, self.noise_loss, self.noise_growth)
