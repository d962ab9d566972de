"""Retrieval: documents with something to find in them, and questions behind them. Never imports torch.

retrieval:line            lines `key value`; the value of a key (LongEval's lines)
retrieval:needles         a few such lines in noise, two values a key (RULER's multi-key, multi-value needles)
retrieval:passkey         one key in noise, and its five digits
retrieval:documents       documents with a key at their head and a value in them (multi-document question answering)
retrieval:code-key        functions, of which one returns a value
retrieval:topic           a conversation in topics; the first of them

The tasks are those of chapter 5 of the thesis with vocabularies so small that a network learns them in minutes.
"""

from regulargpt.text.corpora.retrieval.base import Retrieval
from regulargpt.text.corpora.retrieval.registry import listing, retrieval

__all__ = ["Retrieval", "listing", "retrieval"]
