"""The answer at the last position: the tree with each distinct sub-word once, the plain tree, dense attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regulargpt.bench.masked import bytes_needed
from regulargpt.bench.subjects import (
    MEMORY_LIMIT,
    Forward,
    answering,
    difference,
    last,
    masked_last,
    parity_sized,
    random_words,
    training,
)
from regulargpt.bench.timing import Effort, Row, compare, exponent, in_turn
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.depth import depth

METHOD = (
    "tree: each distinct sub-word once; plain-tree: every node; dense: (T, T) masks (dense.py); "
    "sdpa: scaled_dot_product_attention with the same masks. A training step is forward, backward and AdamW."
)
OWN: dict[str, Forward] = {name: last(name) for name in ("tree", "plain-tree", "dense")}
FORWARDS: dict[str, Forward] = {**OWN, "sdpa": masked_last}
# Wanted over dense attention; the plain tree only must not be faster.
WANTED = {"training": 5.0, "inference": 20.0}
# Below this length the calls cost more than the arithmetic, which grows.
LINEAR_FROM = 1 << 14
LARGE_ALPHABET = 64


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    effort: Effort
    batch: int
    train_lengths: tuple[int, ...]
    test: tuple[tuple[int, int], ...]  # (length, batch)
    curve: tuple[int, ...]


SIZES = {
    "smoke": Sizes(Effort(2, 0, 0), 8, (5, 12), ((60, 2),), (1 << 8, 1 << 10)),
    "full": Sizes(
        Effort(3, 6),
        128,
        (1, 3, 7, 8, 13, 18, 22, 25, 28, 31, 34, 36, 38, 39, 40),
        ((500, 8), (4096, 1), (10_000, 1)),
        tuple(1 << e for e in range(8, 21, 2)),
    ),
}


def measure(scale: str) -> dict[str, Any]:
    """The part `tree` of the bench."""
    sizes = SIZES[scale]
    rows, differences, left_out = [], [], []
    for C in (2, 3):
        model = parity_sized(C)
        batches = [random_words(sizes.batch, T, seed=T) for T in sizes.train_lengths]
        differences.append(difference(list(FORWARDS.values()), model, batches[-1][:8]))
        seconds = in_turn({n: training(f, parity_sized(C), batches) for n, f in FORWARDS.items()}, sizes.effort)
        rows += against(seconds, "training", C, f"<= {max(sizes.train_lengths)}", sizes.batch)
    for T, batch in sizes.test:
        model, words = parity_sized(2), random_words(batch, T)
        able = {name: f for name, f in FORWARDS.items() if fits(name, model, T, batch)}
        left_out += [f"{name} at T = {T}" for name in FORWARDS if name not in able]
        seconds = in_turn({n: answering(f, model, [words]) for n, f in able.items()}, sizes.effort)
        rows += against(seconds, "inference", 2, str(T), batch)
    rows += seldom_repeating(sizes)
    return {
        "method": METHOD,
        "equal": max(differences) < 1e-12,
        "difference": max(differences),
        "rows": rows,
        "left_out": left_out,
        "memory_limit": MEMORY_LIMIT,
        **curve(sizes),
    }


def against(seconds: dict[str, list[float]], what: str, C: int, T: str, batch: int) -> list[Row]:
    """The tree against each other computation."""
    return [
        {
            "what": what,
            "C": C,
            "T": T,
            "batch": batch,
            **compare(seconds, "tree", name),
            "wanted": WANTED[what] if name in ("dense", "sdpa") else 1.0,
        }
        for name in seconds
        if name != "tree"
    ]


def fits(name: str, model: RegularGPT, T: int, batch: int) -> bool:
    """Whether a computation is expected to stay within the memory limit."""
    if name == "sdpa":
        return batch * bytes_needed(model, T, training=False) <= MEMORY_LIMIT
    if name == "dense":
        # Keys in front of the word too; the mask once, then scores, their sum with the mask and the pattern.
        C, heads = model.chunk_size, model.layers(0)[0].attn.n_heads
        keys = T + (C - 1) * C ** (depth(T, C) - 1)
        return 4 * heads * T * keys * (1 + 3 * batch) <= MEMORY_LIMIT
    return True


def seldom_repeating(sizes: Sizes) -> list[Row]:
    """Uniform words over 64 symbols: hardly a sub-word repeats, and looking for repeats must cost nothing."""
    trees = {name: FORWARDS[name] for name in ("tree", "plain-tree")}
    batches = [random_words(sizes.batch, T, LARGE_ALPHABET, seed=T) for T in sizes.train_lengths]
    steps = {name: training(f, parity_sized(2, LARGE_ALPHABET), batches) for name, f in trees.items()}
    rows = against(in_turn(steps, sizes.effort), "training", 2, f"<= {max(sizes.train_lengths)}", sizes.batch)
    for T, batch in sizes.test:
        model, words = parity_sized(2, LARGE_ALPHABET), random_words(batch, T, LARGE_ALPHABET)
        passes = {name: answering(f, model, [words]) for name, f in trees.items()}
        rows += against(in_turn(passes, sizes.effort), "inference", 2, str(T), batch)
    return [{**row, "what": f"{row['what']}, {LARGE_ALPHABET} symbols"} for row in rows]


def curve(sizes: Sizes) -> dict[str, Any]:
    """Seconds of one word by its length, and the exponent of the power law behind the longer half."""
    model = parity_sized(2)
    trees = {name: FORWARDS[name] for name in ("tree", "plain-tree")}
    effort = Effort(sizes.effort.rounds, sizes.effort.seconds / 4)
    costs: dict[str, list[float]] = {name: [] for name in trees}
    for T in sizes.curve:
        words = random_words(1, T)
        seconds = in_turn({name: answering(f, model, [words]) for name, f in trees.items()}, effort)
        for name in trees:
            costs[name].append(min(seconds[name]))
    first = min(LINEAR_FROM, sizes.curve[-2])
    at = sizes.curve.index(first)
    return {
        "curve": [{"T": T, **{name: costs[name][i] for name in trees}} for i, T in enumerate(sizes.curve)],
        "exponent": {"from": first, **{name: exponent(sizes.curve[at:], costs[name][at:]) for name in trees}},
    }
