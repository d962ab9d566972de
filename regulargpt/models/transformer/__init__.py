"""The Transformer: attention with any encoding, its blocks, the model."""

from regulargpt.models.transformer.attention import Attention
from regulargpt.models.transformer.model import Transformer

__all__ = ["Attention", "Transformer"]
