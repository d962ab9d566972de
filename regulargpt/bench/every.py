"""The answers at all positions: shifted copies against dense masked attention, time and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regulargpt.bench.masked import bytes_needed
from regulargpt.bench.memory import peaks
from regulargpt.bench.subjects import (
    MEMORY_LIMIT,
    answering,
    difference,
    every_all,
    masked_all,
    parity_sized,
    random_words,
    training,
)
from regulargpt.bench.timing import Effort, Row, compare, exponent, in_turn
from regulargpt.models.tree.depth import depth

METHOD = (
    "every: C shifted copies a level; sdpa: scaled_dot_product_attention with a (T, T) mask a level, same parameters, "
    "same function; one word. Memory: rise of the largest resident size of a fresh process."
)
FORWARDS = {"every": every_all, "sdpa": masked_all}
WHATS: dict[str, Callable[..., Callable[[], None]]] = {"inference": answering, "training": training}
WANTED_AT, WANTED = 2048, 5.0


@dataclass(frozen=True)
class Sizes:
    """How much is measured: every chunk size at one length, every length for some chunk sizes."""

    effort: Effort
    lengths: tuple[int, ...]
    for_lengths: tuple[int, ...]  # values of C
    chunk_sizes: tuple[int, ...]
    at: int
    memory: tuple[tuple[str, int], ...]


SIZES = {
    "smoke": Sizes(Effort(1, 0, 0), (32, 64), (2,), (2, 8), 64, ()),
    "full": Sizes(
        Effort(3, 2),
        (512, 1024, 2048, 4096, 8192),
        (2, 8),
        (2, 3, 4, 5, 6, 7, 8),
        WANTED_AT,
        (("inference", 2), ("training", 2), ("inference", 8), ("training", 8)),
    ),
}


def measure(scale: str) -> dict[str, Any]:
    """The part `every` of the bench."""
    sizes = SIZES[scale]
    differences = [difference([masked_all, every_all], parity_sized(C), random_words(2, 40)) for C in sizes.chunk_sizes]
    rows, left_out = [], []
    for what in WHATS:
        for C, T in cases(sizes):
            row, omitted = compared(what, C, T, sizes)
            rows.append(row)
            left_out += omitted
    return {
        "method": METHOD,
        "equal": max(differences) < 1e-12,
        "difference": max(differences),
        "rows": rows,
        "left_out": left_out,
        "memory_limit": MEMORY_LIMIT,
        "exponents": exponents(rows, sizes),
        "memory": [used(what, C, sizes) for what, C in sizes.memory],
    }


def cases(sizes: Sizes) -> list[tuple[int, int]]:
    """The pairs (C, T)."""
    return sorted(
        {(C, T) for C in sizes.for_lengths for T in sizes.lengths} | {(C, sizes.at) for C in sizes.chunk_sizes}
    )


def fits(what: str, C: int, T: int) -> bool:
    """Whether dense attention is expected to stay within the memory limit."""
    return bytes_needed(parity_sized(C), T, what == "training") <= MEMORY_LIMIT


def compared(what: str, C: int, T: int, sizes: Sizes) -> tuple[Row, list[str]]:
    """One row, and what of it was left out for want of memory."""
    names = ["every", "sdpa"] if fits(what, C, T) else ["every"]
    words = [random_words(1, T)]
    seconds = in_turn({name: WHATS[what](FORWARDS[name], parity_sized(C), words) for name in names}, sizes.effort)
    case = {"what": what, "C": C, "T": T, "batch": 1}
    if "sdpa" in names:
        wanted = WANTED if T >= WANTED_AT else None
        return {**case, **compare(seconds, "every", "sdpa"), "wanted": wanted}, []
    alone = {**compare(seconds, "every", "every"), "over": None, "ratio": None, "low": None, "high": None}
    return {**case, **alone, "seconds_over": None, "wanted": None}, [f"sdpa, {what}, C = {C}, T = {T}"]


def exponents(rows: list[Row], sizes: Sizes) -> list[Row]:
    """Of the cost of a level (there are log_C T of them) as a power of T."""
    found = []
    for what in WHATS:
        for C in sizes.for_lengths:
            some = [row for row in rows if (row["what"], row["C"]) == (what, C) and row["T"] in sizes.lengths]
            both = [row for row in some if row["seconds_over"] is not None]
            every = exponent([r["T"] for r in some], [r["seconds"] / depth(r["T"], C) for r in some])
            sdpa = exponent([r["T"] for r in both], [r["seconds_over"] / depth(r["T"], C) for r in both])
            found.append({"what": what, "C": C, "every": every, "sdpa": sdpa})
    return found


def used(what: str, C: int, sizes: Sizes) -> Row:
    """Peak bytes by length; where dense attention would not fit, None."""
    able = [T for T in sizes.lengths if fits(what, C, T)]
    every, sdpa = peaks("every", what, C, sizes.lengths), peaks("sdpa", what, C, able)
    by_length = {
        str(T): {"every": a, "sdpa": b}
        for T, a, b in zip(sizes.lengths, every, [*sdpa, *[None] * (len(every) - len(sdpa))], strict=True)
    }
    return {"what": what, "C": C, "bytes": by_length}
