"""Networks of mLSTM and sLSTM blocks."""

from __future__ import annotations

from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.xlstm.mlstm import MlstmMixer
from regulargpt.models.xlstm.options import MlstmOptions, SlstmOptions, XlstmOptions
from regulargpt.models.xlstm.slstm import SlstmMixer


class Xlstm(Mixing):
    """Blocks of mLSTM and sLSTM: `blocks` has m or s for each in turn, over again where there are more blocks."""

    def mixer(self, options: XlstmOptions, layer: int, draw: Draw) -> MlstmMixer | SlstmMixer:
        sizes = (options.d_model, options.n_heads, options.conv)
        if options.kinds[layer] == "m":
            return MlstmMixer(*sizes, draw)
        return SlstmMixer(*sizes, draw, layer / max(1, options.n_layers - 1))


class Mlstm(Xlstm):
    """mLSTM in each block, unless `blocks` says otherwise (Beck et al. 2024).

    >>> import torch
    >>> model, words = Mlstm(2, 3, d_model=8, n_heads=2), torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = MlstmOptions


class Slstm(Xlstm):
    """sLSTM in each block, unless `blocks` says otherwise (Beck et al. 2024).

    With `mlp=swiglu` that has 8/3 of the width, as in all networks here; theirs is a gated MLP of 4/3.

    >>> import torch
    >>> model, words = Slstm(2, 3, d_model=8, n_heads=2), torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = SlstmOptions
