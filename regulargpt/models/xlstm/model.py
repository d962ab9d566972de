"""Networks of mLSTM and sLSTM blocks."""

from __future__ import annotations

from typing import ClassVar

import torch

from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.xlstm.mlstm import MlstmMixer
from regulargpt.models.xlstm.slstm import SlstmMixer


class Xlstm(Mixing):
    """Blocks of mLSTM and sLSTM: `blocks` has m or s for each in turn, over again where there are more blocks."""

    own: ClassVar[str]

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        n_layers: int = 2,
        n_heads: int = 4,
        conv: int = 0,
        blocks: str = "",
        mlp: str = "none",
        init: str = "fan-in",
        generator: torch.Generator | None = None,
    ):
        generator = generator or torch.Generator().manual_seed(0)
        draw, kinds = Draw(init, generator), blocks or self.own

        def mixer(layer: int) -> Mixer:
            if kinds[layer % len(kinds)] == "m":
                return MlstmMixer(d_model, n_heads, conv, draw)
            return SlstmMixer(d_model, n_heads, conv, draw, layer / max(1, n_layers - 1))

        super().__init__(n_symbols, n_outputs, d_model, [*map(mixer, range(n_layers))], mlp, init, generator)


class Mlstm(Xlstm):
    """mLSTM in each block, unless `blocks` says otherwise (Beck et al. 2024).

    >>> model, words = Mlstm(2, 3, d_model=8, n_heads=2), torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    own = "m"


class Slstm(Xlstm):
    """sLSTM in each block, unless `blocks` says otherwise (Beck et al. 2024).

    With `mlp=swiglu` that has 8/3 of the width, as in all networks here; theirs is a gated one of 4/3.

    >>> model, words = Slstm(2, 3, d_model=8, n_heads=2), torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    own = "s"
