"""One very long word through a model of the size that learns parity."""

from __future__ import annotations

from typing import Any

from regulargpt.bench.memory import peaks
from regulargpt.bench.subjects import answering, last, parity_sized, random_words
from regulargpt.bench.timing import Effort, compare, in_turn

METHOD = (
    "One forward pass of one word (d 64, 4 heads, C = 2), answer at the last position. Memory: rise of the largest "
    "resident size of a fresh process."
)
LENGTHS = {"smoke": 1000, "full": 1_000_000}
EFFORTS = {"smoke": Effort(1, 0, 0), "full": Effort(5, 0)}
WANTED = {"seconds": 2.0, "bytes": 2 << 30}


def measure(scale: str) -> dict[str, Any]:
    """The part `forward` of the bench."""
    T, model = LENGTHS[scale], parity_sized(2)
    words = [random_words(1, T)]
    passes = {name: answering(last(name), model, words) for name in ("tree", "plain-tree")}
    row = {"what": "inference", "C": 2, "T": T, "batch": 1, **compare(in_turn(passes, EFFORTS[scale]), *passes)}
    memory = {name: peaks(name, "inference", 2, [T])[0] for name in passes}
    return {"method": METHOD, "rows": [row], "bytes": memory, "wanted": WANTED}
