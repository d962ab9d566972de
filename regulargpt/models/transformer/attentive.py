"""What the models of attention share: an encoding a text, attention that can be heard, and a temperature."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from regulargpt.encodings.base import Encoding
from regulargpt.models.base import Model
from regulargpt.models.transformer.attention import Attention


class Attentive(Model):
    """A model whose attention over a text is looked at, and sharpened by `set_temperature`.

    `attentions` are those of its layers, and `causal` says whether their queries see only what stands before them.
    `encodings` are all that it has, whose parameters are projected, and trained at a rate of their own.
    """

    causal: bool

    @property
    @abstractmethod
    def attentions(self) -> Sequence[Attention]:
        """The attention of every layer over the text that is read."""

    @property
    @abstractmethod
    def encodings(self) -> Sequence[Encoding]:
        """Its encodings."""

    @property
    def quadratic(self) -> bool:
        return True

    def project(self) -> None:
        for encoding in self.encodings:
            encoding.project()

    def parameter_groups(self) -> list[dict[str, Any]]:
        of_encodings = [p for encoding in self.encodings for p in encoding.parameters()]
        if not of_encodings:
            return super().parameter_groups()
        apart = {id(p) for p in of_encodings}
        rest, times = [p for p in self.parameters() if id(p) not in apart], self.encodings[0].learning_rate
        return [{"params": rest}, {"params": of_encodings, "times": times, "weight_decay": 0.0}]
