"""A bias of few numbers beside the encoding that a trained network has (Chi 2024, section 7.4).

KERPLE is trained here after the network, not with it: the network's own rotation or table of positions stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings import build
from regulargpt.encodings.base import Encoding, Keys, Positions, Queries
from regulargpt.encodings.distance import Kernel
from regulargpt.encodings.options import ADDED
from regulargpt.encodings.wrapper import EncodingWrapper

Numbers = Mapping[str, Sequence[Sequence[float]]]


class Added(EncodingWrapper):
    """Another encoding, to whose bias that of a kernel is added: KERPLE with numbers for each set of layers and head.

    `numbers` has a table (sets, n_heads) for each parameter of the kernel; one set is for all layers, or each has its
    own. Where r_1 is 0 the bias is 0, so that training begins with the network as it is: r_1 may be 0 here, where the
    published code clamps it at 0.01.

    >>> inner = Encoding(d_model=4, n_heads=1)
    >>> from regulargpt.encodings.base import consecutive
    >>> added, q = Added(inner, "kerple_power", {"r1": [[2.0]], "r2": [[1.0]]}), torch.zeros(1, 1, 3, 4)
    >>> added.bias(q, q, consecutive(q, q))[0, 0, 2].tolist()
    [-4.0, -2.0, -0.0]
    """

    def __init__(self, inner: Encoding, kernel: str, numbers: Numbers):
        nn.Module.__init__(self)
        self.inner, self.kernel = inner, kernel
        self.d_model, self.n_heads, self.d_head = inner.d_model, inner.n_heads, inner.d_head
        self.n_layers, self.causal, self.learning_rate = inner.n_layers, inner.causal, inner.learning_rate
        sizes = {"d_model": inner.d_model, "n_heads": inner.n_heads, "d_head": inner.d_head, "causal": inner.causal}
        sets = len(next(iter(numbers.values())))
        self.kernels = nn.ModuleList(build(kernel, **sizes) for _ in range(sets))
        with torch.no_grad():
            for name, table in numbers.items():
                for of_set, row in zip(self.kernels, table, strict=True):
                    of_set.get_parameter(name).copy_(torch.tensor(row)[:, None, None])

    @property
    def numbers(self) -> dict[str, list[list[float]]]:
        """Those that the kernels have now, as the constructor takes them."""
        return {
            name: [of_set.get_parameter(name).flatten().tolist() for of_set in self.kernels]
            for name in ADDED[self.kernel]
        }

    @property
    def changes_logits(self) -> bool:
        return True

    @property
    def shared_bias(self) -> bool:  # type: ignore[override]  # here it depends on how many sets there are
        return len(self.kernels) == 1 and (self.inner.shared_bias or not self.inner.changes_logits)

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        return self.inner.shift_invariant

    @torch.no_grad()
    def project(self) -> None:
        """Put the kernels' numbers back where they may be; the other encoding is not trained."""
        for name, (_, least, most) in ADDED[self.kernel].items():
            for of_set in self.kernels:
                of_set.get_parameter(name).clamp_(least, most)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "#batch n_heads queries keys"]:
        of_set = self.kernels[at.layer if len(self.kernels) > 1 else 0]
        assert isinstance(of_set, Kernel)
        bias, own = of_set.bias(q, k, at), self.inner.bias(q, k, at)
        assert bias is not None
        return bias if own is None else own + bias
