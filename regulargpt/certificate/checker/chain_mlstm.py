"""mLSTM without its scale: the same function, of a state that moves number by number.

With C~ = C e^m and n~ = n e^m of chain_xlstm.py, whose m says how C and n are scaled and nothing else:

    C~' = s(g) C~ + e^i k v^T / sqrt(K),  n~' as C~' with k alone;  o = C~'^T q / max(|n~'.q|, 1)

A block carries C~ with n~ as another column (H, K, K + 1), then the old u of the convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from regulargpt.certificate.checker.balls import constant, exp, highest, joined, positive
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import halves, outer, read_by
from regulargpt.certificate.checker.chain_xlstm import Xlstm
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.network import sigmoid, silu


class Mlstm(Diagonal, Xlstm):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Blocks of mLSTM alone."""

    def measure(self) -> None:
        super().measure()
        if any(self.kind(layer) != "m" for layer in range(self.layers)):
            raise Rejected("blocks of sLSTM do not move number by number")

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.H, self.K, self.K + 1), *self.conv_parts(2 * self.d)]

    def into(self, name: str, x: Any) -> Any:
        return self.linear(f"{name}up", x)

    def kept(self, own: Any) -> Any:
        return halves(own)[0]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        u, z = halves(own)
        reached = self.convolution(f"{name}conv", u, old) if old else u
        q, k, v = (self.blockwise(name + of, u if of == "v" else reached) for of in "qkv")
        i, g = halves(self.linear(f"{name}gates", joined([q, k, v], -1)))  # (n, H) each
        q, k, v = (part.reshape(len(own), self.H, self.K) for part in (q, k, v))  # (n, H, K)
        v = joined([v, constant(np.ones((len(own), self.H, 1)), v)], -1)  # (n, H, K + 1)
        added = outer(exp(i)[..., None] * k / arb(self.K).sqrt(), v)  # (n, H, K, K + 1)
        return self.left(g), added, (q, reached, z, g)

    def left(self, g: Any) -> Any:
        """a (n, H, 1, 1)."""
        return sigmoid(g)[..., None, None]

    def sizes(self, name: str, rest: Any) -> Any:
        return self.left(highest(rest[3]))

    def made(self, name: str, S: Any, rest: Any) -> Any:
        q, reached, z, _ = rest
        both = read_by(S, q)  # (n, H, K + 1)
        size = 1 + positive(abs(both[..., -1:]) - 1)  # (n, H, 1)
        o = self.head_norm(name, both[..., :-1] / size)
        return self.linear(f"{name}down", (o + self.w[f"{name}skip"] * reached) * silu(z))
