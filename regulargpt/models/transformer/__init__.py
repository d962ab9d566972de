"""The Transformer: attention with any encoding, its blocks, the model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regulargpt.models.transformer.attention import Attention
    from regulargpt.models.transformer.model import Transformer

__all__ = ["Attention", "Transformer"]


def __getattr__(name: str) -> object:
    # The views beside the network must not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regulargpt.models.transformer.attention import Attention
    from regulargpt.models.transformer.model import Transformer

    return {"Attention": Attention, "Transformer": Transformer}[name]
