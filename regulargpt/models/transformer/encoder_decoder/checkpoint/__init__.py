"""T5 checkpoints of `transformers` as an `EncoderDecoder`: T5, T5 1.1, Flan-T5, mT5, CodeT5, CodeT5+ up to 770M.

A folder on disk is read, never the network, and no code in it is run: JSON and safetensors.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regulargpt.models.transformer.encoder_decoder.checkpoint.loading import load
    from regulargpt.models.transformer.encoder_decoder.checkpoint.pretrained import Pretrained

__all__ = ["Pretrained", "load"]


def __getattr__(name: str) -> object:
    # What a folder says of itself must not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regulargpt.models.transformer.encoder_decoder.checkpoint.loading import load
    from regulargpt.models.transformer.encoder_decoder.checkpoint.pretrained import Pretrained

    return {"Pretrained": Pretrained, "load": load}[name]
