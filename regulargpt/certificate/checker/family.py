"""The words of a refutation, and the answer that a network is said to give to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.certificate.checker.files import Malformed, integers
from regulargpt.certificate.checker.machine import MAX_STATES
from regulargpt.certificate.checker.network import Kinds

FIELDS: Kinds = {"u": list, "v": list, "w": list, "from": int, "period": int, "residue": int, "answer": int}
MAX_SYMBOLS = 64  # of each of u, v and w
MAX_FROM = 1 << 62


@dataclass(frozen=True)
class CheckedFamily:
    """The words u v^n w with n >= `start` and n = `residue` mod `period`, and the network's `answer` to them."""

    u: list[int]
    v: list[int]
    w: list[int]
    start: int
    period: int
    residue: int
    answer: int

    @classmethod
    def from_record(cls, record: Mapping[str, Any], n_symbols: int, n_outputs: int) -> CheckedFamily:
        """As the certificate has it. Raises Malformed for a record that is no such family."""
        u, v, w = (integers(record[name], f"{name!r}", n_symbols - 1).tolist() for name in "uvw")
        if max(map(len, (u, v, w))) > MAX_SYMBOLS or not v:
            raise Malformed(f"'v' has at least 1 symbol, and 'u', 'v' and 'w' have at most {MAX_SYMBOLS}")
        start, period, residue, answer = (record[name] for name in ("from", "period", "residue", "answer"))
        if not 1 <= start <= MAX_FROM:
            raise Malformed(f"'from' is {start}; it is from 1 to 2^62")
        if not 1 <= period <= MAX_STATES or not 0 <= residue < period:
            raise Malformed(f"'residue' is from 0 to below 'period', and 'period' from 1 to {MAX_STATES}")
        if not 0 <= answer < n_outputs:
            raise Malformed(f"'answer' is {answer}; there are {n_outputs} answers")
        return cls(u, v, w, start, period, residue, answer)

    def first(self) -> int:
        """The least n of the family."""
        return self.start + (self.residue - self.start) % self.period
