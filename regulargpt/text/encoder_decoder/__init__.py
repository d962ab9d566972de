"""The encoder-decoder of T5 (Raffel et al. 2020): the encoder reads a text both ways, the decoder answers it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regulargpt.text.encoder_decoder.model import EncoderDecoder

__all__ = ["EncoderDecoder"]


def __getattr__(name: str) -> object:
    # The options beside the network must not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regulargpt.text.encoder_decoder.model import EncoderDecoder

    return EncoderDecoder
