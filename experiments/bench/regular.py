"""RegularGPT: the tree with each distinct sub-word once, the plain tree, shifted copies, and dense masked attention.

tree: each distinct sub-word once; plain-tree: every node; dense: (T, T) masks (dense.py); sdpa:
`scaled_dot_product_attention` with the same masks; every: C shifted copies a level, for the answers at all positions.
The model is that of the recipe for parity. A step of training is forward, backward and AdamW.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from experiments.bench.masked import bytes_needed
from experiments.bench.memory import peaks
from experiments.bench.subjects import (
    MEMORY_LIMIT,
    Forward,
    Words,
    answering,
    difference,
    every_all,
    last,
    masked_all,
    masked_last,
    parity_sized,
    random_words,
    training,
)
from experiments.bench.timing import BenchRow, Effort, Seconds, exponent, in_turn, quartiles, ratio, seconds_at
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.depth import depth

TREES: dict[str, Forward] = {name: last(name) for name in ("tree", "plain-tree")}
LAST: dict[str, Forward] = {**TREES, "dense": last("dense"), "sdpa": masked_last}
ALL: dict[str, Forward] = {"every": every_all, "sdpa": masked_all}
DOING: dict[str, Callable[..., Callable[[], None]]] = {"inference": answering, "training": training}
# Wanted over dense attention; the plain tree only must not be faster.
WANTED = {"training": 5.0, "inference": 20.0}
EVERY_WANTED, EVERY_WANTED_FROM = 5.0, 2048
# Below this length the calls cost more than the arithmetic, which grows.
LINEAR_FROM = 1 << 14
LARGE_ALPHABET = 64
TRAIN_LENGTHS = {"smoke": (5, 12), "full": (1, 3, 7, 8, 13, 18, 22, 25, 28, 31, 34, 36, 38, 39, 40)}
BATCH = {"smoke": 8, "full": 128}
TESTS = {"smoke": ((60, 2),), "full": ((500, 8), (4096, 1), (10_000, 1))}  # (length, batch)
CURVE = {"smoke": (1 << 8, 1 << 10), "full": tuple(1 << e for e in range(8, 21, 2))}
EVERY_LENGTHS = {"smoke": (32, 64), "full": (512, 1024, 2048, 4096, 8192)}
EVERY_CHUNKS = {"smoke": (2, 8), "full": (2, 3, 4, 5, 6, 7, 8)}
LONGEST = {"smoke": 1000, "full": 1_000_000}


def tree(scale: str) -> Iterator[BenchRow]:
    """The answer at the last position, against dense attention and the plain tree."""
    effort = Effort(2, 0, 0) if scale == "smoke" else Effort(3, 6)
    batches = [random_words(BATCH[scale], T, seed=T) for T in TRAIN_LENGTHS[scale]]
    for C in (2, 3):
        yield equal(list(LAST.values()), C, batches[-1][:8])
        seconds = in_turn({n: training(f, parity_sized(C), batches) for n, f in LAST.items()}, effort)
        yield from against("training", f"C = {C}, T <= {TRAIN_LENGTHS[scale][-1]}, batch {BATCH[scale]}", seconds)
    for T, batch in TESTS[scale]:
        model, words = parity_sized(2), random_words(batch, T)
        able = {name: f for name, f in LAST.items() if fits_last(name, model, T, batch)}
        case = f"C = 2, T = {T:,}, batch {batch}"
        yield from against("inference", case, in_turn(timed(able, model, words), effort))
        yield from (BenchRow(f"inference, {case}", f"tree over {name}", None) for name in LAST if name not in able)
    yield from seldom_repeating(scale, effort)
    yield from by_length(CURVE[scale], Effort(effort.rounds, effort.seconds / 4))


def seldom_repeating(scale: str, effort: Effort) -> Iterator[BenchRow]:
    """Uniform words over 64 symbols: hardly a sub-word repeats, and looking for repeats must cost nothing."""
    batches = [random_words(BATCH[scale], T, LARGE_ALPHABET, seed=T) for T in TRAIN_LENGTHS[scale]]
    steps = {name: training(f, parity_sized(2, LARGE_ALPHABET), batches) for name, f in TREES.items()}
    symbols = f"{LARGE_ALPHABET} symbols"
    yield from against("training", f"{symbols}, T <= {TRAIN_LENGTHS[scale][-1]}", in_turn(steps, effort))
    for T, batch in TESTS[scale]:
        words = random_words(batch, T, LARGE_ALPHABET)
        seconds = in_turn(timed(TREES, parity_sized(2, LARGE_ALPHABET), words), effort)
        yield from against("inference", f"{symbols}, T = {T:,}, batch {batch}", seconds)


def timed(forwards: Mapping[str, Forward], model: RegularGPT, words: Words) -> dict[str, Callable[[], None]]:
    """An inference pass of each."""
    return {name: answering(forward, model, [words]) for name, forward in forwards.items()}


def against(doing: str, case: str, seconds: Seconds) -> Iterator[BenchRow]:
    """The tree against each other computation."""
    for name in seconds:
        if name != "tree":
            wanted = WANTED[doing] if name in ("dense", "sdpa") else 1.0
            yield ratio(f"{doing}, {case}", seconds, "tree", name, wanted)


def equal(forwards: Sequence[Forward], C: int, words: Words) -> BenchRow:
    """What is compared is one function: the largest difference of outputs and gradients in float64."""
    return BenchRow(f"C = {C}", "largest difference", difference(forwards, parity_sized(C), words), "", wanted=1e-12)


def by_length(lengths: Sequence[int], effort: Effort) -> Iterator[BenchRow]:
    """Seconds of a word by its length, and the exponent of the power law behind the longer half."""
    model, costs = parity_sized(2), {}
    for T in lengths:
        for name, each in in_turn(timed(TREES, model, random_words(1, T)), effort).items():
            costs.setdefault(name, []).append(min(each))
            yield seconds_at(T, name, min(each))
    at = lengths.index(min(LINEAR_FROM, lengths[-2]))
    for name, each in costs.items():
        yield BenchRow(f"T from {lengths[at]:,} on", name, exponent(lengths[at:], each[at:]), "power of T")


def fits_last(name: str, model: RegularGPT, T: int, batch: int) -> bool:
    """Whether a computation is expected to stay within the memory limit."""
    if name == "sdpa":
        return batch * bytes_needed(model, T, training=False) <= MEMORY_LIMIT
    if name == "dense":
        # Keys in front of the word too; the mask once, then scores, their sum with the mask and the pattern.
        C, heads = model.chunk_size, model.layers(0)[0].attn.n_heads
        keys = T + (C - 1) * C ** (depth(T, C) - 1)
        return 4 * heads * T * keys * (1 + 3 * batch) <= MEMORY_LIMIT
    return True


def every(scale: str) -> Iterator[BenchRow]:
    """The answers at all positions of a word by shifted copies, against dense attention: time and memory."""
    effort, lengths = (Effort(1, 0, 0) if scale == "smoke" else Effort(3, 2)), EVERY_LENGTHS[scale]
    chunks = EVERY_CHUNKS[scale]
    yield from (equal([masked_all, every_all], C, random_words(2, 40)) for C in chunks)
    at = EVERY_WANTED_FROM if scale == "full" else lengths[-1]
    for doing in DOING:
        for C in chunks:
            # Every chunk size at one length, and every length of the smallest and the largest.
            yield from every_at(doing, C, lengths if C in (chunks[0], chunks[-1]) else [at], effort)
    for doing, C in [(doing, C) for doing in DOING for C in (2, 8)] * (scale == "full"):
        able = [T for T in lengths if fits_all(doing, C, T)]
        yield from used(f"{doing}, C = {C}", "every", (doing, f"C{C}"), lengths)
        yield from used(f"{doing}, C = {C}", "sdpa", (doing, f"C{C}"), able)


def every_at(doing: str, C: int, lengths: Sequence[int], effort: Effort) -> Iterator[BenchRow]:
    """The ratio at each length, and of the cost of a level (there are log_C T of them) the power of T."""
    costs: dict[str, dict[int, float]] = {}
    for T in lengths:
        case, words = f"{doing}, C = {C}, T = {T:,}", [random_words(1, T)]
        able = {name: f for name, f in ALL.items() if name == "every" or fits_all(doing, C, T)}
        seconds = in_turn({name: DOING[doing](f, parity_sized(C), words) for name, f in able.items()}, effort)
        for name, each in seconds.items():
            costs.setdefault(name, {})[T] = quartiles(each)[1] / depth(T, C)
        wanted = EVERY_WANTED if T >= EVERY_WANTED_FROM else None
        yield (
            ratio(case, seconds, "every", "sdpa", wanted) if "sdpa" in able else BenchRow(case, "every over sdpa", None)
        )
    for name, known in costs.items():
        if len(known) > 1:
            value = exponent(list(known), list(known.values()))
            yield BenchRow(f"{doing}, C = {C}, a level", name, value, "power of T")


def fits_all(doing: str, C: int, T: int) -> bool:
    """Whether dense attention is expected to stay within the memory limit."""
    return bytes_needed(parity_sized(C), T, doing == "training") <= MEMORY_LIMIT


def forward(scale: str) -> Iterator[BenchRow]:
    """One very long word through a model of the size that learns parity: time and memory."""
    T, effort = LONGEST[scale], Effort(1, 0, 0) if scale == "smoke" else Effort(5, 0)
    seconds = in_turn(timed(TREES, parity_sized(2), random_words(1, T)), effort)
    yield ratio(f"inference, C = 2, T = {T:,}", seconds, "tree", "plain-tree", 1.0)
    for name in TREES:
        yield from used("inference, C = 2", name, ("inference", "C2"), [T])


def used(what: str, name: str, arguments: Sequence[str], lengths: Sequence[int]) -> Iterator[BenchRow]:
    """The rise of the largest resident size of a fresh process, by length."""
    for T, size in zip(lengths, peaks(__name__, [name, *arguments], lengths), strict=True):
        yield BenchRow(f"{what}, T = {T:,}", name, size / 2**20, "MiB")


def working(name: str, doing: str, chunks: str) -> Callable[[int], None]:
    """What a process does whose memory is measured: one word of a length."""
    by_name = {**LAST, **ALL} if name in ALL else LAST
    model = parity_sized(int(chunks[1:]))
    return lambda length: DOING[doing](by_name[name], model, [random_words(1, length)])()
