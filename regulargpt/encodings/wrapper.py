"""An encoding around another one: every hook does what the other does, unless a class derived from this says more."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries


class EncodingWrapper(Encoding):
    """All hooks and properties of the encoding `inner`."""

    inner: Encoding

    @property
    def span(self) -> int | None:
        return self.inner.span

    @property
    def changes_logits(self) -> bool:
        return self.inner.changes_logits

    @property
    def changes_score(self) -> bool:
        return self.inner.changes_score

    @property
    def changes_embedding(self) -> bool:
        return self.inner.changes_embedding

    @property
    def keys_turn_alone(self) -> bool:
        # What is done here is done to queries.
        return self.inner.keys_turn_alone

    @property
    def reach(self) -> int:
        return self.inner.reach

    @property
    def depends_on_length(self) -> bool:
        return self.inner.depends_on_length

    def project(self) -> None:
        self.inner.project()

    def embed(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"]
    ) -> Float[Tensor, "batch length d_model"]:
        return self.inner.embed(x, n)

    def prepare(self, x: Float[Tensor, "batch length d_model"], layer: int) -> Float[Tensor, "batch length *s"] | None:
        return self.inner.prepare(x, layer)

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        return self.inner.rotate(q, k, at)

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        return self.inner.score(logits, q, k, at)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "#batch n_heads queries keys"] | None:
        return self.inner.bias(q, k, at)
