"""No positional encoding."""

from regulargpt.encodings.base import Encoding


class NoEncoding(Encoding):
    """Nothing at all: a causal model can still tell positions apart (chapter 2), a bidirectional encoding cannot.

    >>> NoEncoding(d_model=8, n_heads=2)
    NoEncoding()
    """
