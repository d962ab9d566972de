"""T5 checkpoints of `transformers` as an `EncoderDecoder`: T5, T5 1.1, Flan-T5, mT5, CodeT5, CodeT5+ up to 770M.

A folder on disk is read, never the network, and no code in it is run: JSON and safetensors.
"""

from regulargpt.models.transformer.encoder_decoder.checkpoint.load import load
from regulargpt.models.transformer.encoder_decoder.checkpoint.pretrained import Pretrained

__all__ = ["Pretrained", "load"]
