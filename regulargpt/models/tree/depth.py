"""Adaptive depth (section 6.2.2), from integers: floating-point logarithms are wrong at T = 125, C = 5."""


def depth(length: int, chunk_size: int) -> int:
    """The number of levels max(1, ceil(log_C T)): the smallest L >= 1 with C**L >= T.

    >>> [depth(T, 2) for T in (1, 2, 3, 4, 5, 500)]
    [1, 1, 2, 2, 3, 9]
    >>> depth(125, 5)
    3
    """
    levels, reach = 1, chunk_size
    while reach < length:
        levels, reach = levels + 1, reach * chunk_size
    return levels
