"""Which files the networks are tested on: about a tenth, chosen by their names."""

from collections.abc import Sequence
from hashlib import sha256

PARTS = 10
LOW, HIGH = 0.05, 0.2  # shares of the bytes between which the choice by names stands


def is_test(name: str | bytes) -> bool:
    """Whether the hash of a name, or of a row, puts it into the test part.

    >>> [name for name in "abcdefghij" if is_test(name)]
    ['a', 'c', 'i']
    """
    data = name if isinstance(name, bytes) else name.encode(errors="surrogateescape")
    return int.from_bytes(sha256(data).digest()[:8], "big") % PARTS == 0


def tested(names: Sequence[str], sizes: Sequence[int]) -> list[bool]:
    """For each of two or more files whether it is tested on; neither part is empty.

    A file is in the test part if the hash of its name is 0 modulo 10. If these files hold less than a twentieth or more
    than a fifth of the bytes, the one file whose size is nearest to a tenth takes their place, if that is nearer.

    >>> tested(["a", "b", "c"], [80, 900, 9000])
    [False, True, False]
    """
    by_name = [is_test(name) for name in names]
    total = sum(sizes)
    share = sum(size for size, test in zip(sizes, by_name, strict=True) if test) / total
    if LOW <= share <= HIGH:
        return by_name
    best = min(range(len(sizes)), key=lambda at: (abs(sizes[at] / total - 1 / PARTS), names[at]))
    if any(by_name) and not all(by_name) and abs(share - 1 / PARTS) <= abs(sizes[best] / total - 1 / PARTS):
        return by_name
    return [at == best for at in range(len(sizes))]
