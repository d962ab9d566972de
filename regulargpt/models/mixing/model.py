"""A network of mixers: embedding, pre-norm blocks, a norm, a linear readout."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout, embedding
from regulargpt.models.mixing.layers import Draw, RmsNorm, Swiglu
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.models.mixing.options import MixingOptions
from regulargpt.models.options import ModelOptions
from regulargpt.models.recurrent import Recurrent


class MixerBlock(Hooked):
    """x + mixer(norm(x)), then x + mlp(norm(x)). What mixers are given besides stands behind norm(x)."""

    def __init__(self, mixer: Mixer, d_model: int, mlp: str, draw: Draw):
        super().__init__()
        self.norm, self.mixer = RmsNorm(d_model), mixer
        self.mlp_norm = RmsNorm(d_model) if mlp == "swiglu" else None
        self.mlp = Swiglu(d_model, draw) if mlp == "swiglu" else None
        self.hook_mixed, self.hook_resid_post = HookPoint(), HookPoint()

    def forward(
        self, x: Float[Tensor, "batch length d_model"], carries: Any, readout: Readout, *also: Tensor
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        read = torch.cat([self.entered(x), *also], -1) if also else self.entered(x)
        mixed, carries = self.mixer(read, carries, readout)
        x = (x[:, -1:] if readout == "last" else x) + self.hook_mixed(mixed)
        if self.mlp is not None and self.mlp_norm is not None:
            x = x + self.mlp(self.mlp_norm(x))
        return self.hook_resid_post(x), carries

    def entered(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        return self.norm(x)


class Mixing(Recurrent):
    """Embedding, blocks with a mixer each, RMSNorm, a linear readout. It has no positions.

    What it carries is a list: of each block the mixer's state, and the old inputs of its convolutions.

    A network derives from it and gives `Options`, by whose names the constructor takes them, and `mixer`. Raises
    `ConfigError` where the options contradict each other.
    """

    Options: ClassVar[type[ModelOptions]] = MixingOptions
    block: ClassVar[Callable[[Mixer, int, str, Draw], nn.Module]] = MixerBlock

    def __init__(self, n_symbols: int, n_outputs: int, *, generator: torch.Generator | None = None, **options: Any):
        generator = generator or torch.Generator().manual_seed(0)
        given: Any = self.Options(type(self).__name__.lower(), **options)
        draw = Draw(given.init, generator)
        mixers = [self.mixer(given, layer, draw) for layer in range(given.n_layers)]
        super().__init__(given.d_model, n_outputs, generator)
        self.n_symbols = n_symbols
        std = 1.0 if given.init == "fan-in" else 0.02
        self.embedding = embedding(n_symbols, given.d_model, generator, std=std)
        self.blocks = nn.ModuleList(type(self).block(mixer, given.d_model, given.mlp, draw) for mixer in mixers)
        self.norm: nn.Module = RmsNorm(given.d_model)

    @abstractmethod
    def mixer(self, options: Any, layer: int, draw: Draw) -> Mixer:
        """The mixer of a layer, of these `Options`; its weights come from `draw` and `draw.generator`."""

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        """All positions in every block but the last, which computes only what is read."""
        x, before, after = self.hook_embed(self.embedding(piece)), state or [None] * len(self.blocks), []
        also = self.beside(x, before[0])
        for number, block in enumerate(self.blocks):
            x, carries = block(x, before[number], readout if number == len(self.blocks) - 1 else "all", *also)
            after.append(carries)
        return x, after

    def beside(self, x: Float[Tensor, "batch length d_model"], carries: Any) -> tuple[Tensor, ...]:
        """What each mixer is given besides its own input: here nothing. `carries` are those of the first block."""
        return ()

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return self.norm(x)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Weights that set how fast a state decays (those named in `undecayed`) are not pulled to zero."""
        kept = [p for name, p in self.named_parameters() if name.rpartition(".")[2] in UNDECAYED]
        own = {id(p) for p in kept}
        rest = [p for p in self.parameters() if id(p) not in own]
        return [{"params": rest}, {"params": kept, "weight_decay": 0.0}] if kept else [{"params": rest}]


UNDECAYED = ("a_log", "a_imag", "dt_log", "dt_bias", "d", "w_0")
"""Names of weights without weight decay, as all published codes have it."""
