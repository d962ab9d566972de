"""Where things stand: blocks of symbols at random places of a document."""

import numpy as np
import numpy.typing as npt


def places(random: np.random.Generator, count: int, length: int, blocks: int, width: int) -> npt.NDArray[np.int64]:
    """(count, blocks): where so many blocks of symbols begin, in order, every arrangement equally likely.

    A lone block is stratified over the rows: of 100 documents a single document has it in each hundredth.

    >>> from languages.randomness import rng
    >>> places(rng(0, "example"), 2, length=10, blocks=3, width=2).tolist()
    [[1, 5, 8], [3, 6, 8]]
    """
    # Of the noise and the blocks in a row, which are blocks.
    items = length - blocks * (width - 1)
    if blocks == 1:
        return stratified(random, count, items)[:, None]
    chosen = np.sort(random.random((count, items)).argsort(1)[:, :blocks], 1)  # (count, blocks)
    return chosen + (width - 1) * np.arange(blocks)


def stratified(random: np.random.Generator, count: int, items: int) -> npt.NDArray[np.int64]:
    """(count,): one of the items for each row, such that the rows share them evenly, in a random order.

    >>> from languages.randomness import rng
    >>> sorted((stratified(rng(0, "example"), 4, items=8) // 2).tolist())
    [0, 1, 2, 3]
    """
    drawn = ((random.permutation(count) + random.random(count)) * items / count).astype(np.int64)
    return np.minimum(drawn, items - 1)  # rounding may bring the last up to `items`


def one_and_others(
    random: np.random.Generator, count: int, length: int, others: int, width: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(count, 1) and (count, others): where one block begins and where others do, every arrangement equally likely.

    That is stratified over the rows, counted in items: symbols of noise and whole blocks.

    >>> from languages.randomness import rng
    >>> lone, heads = one_and_others(rng(0, "example"), 2, length=8, others=2, width=2)
    >>> lone.tolist(), heads.tolist()
    ([[5], [3]], [[1, 3], [0, 6]])
    """
    items = length - (others + 1) * (width - 1)
    lone = stratified(random, count, items)[:, None]
    order = random.random((count, items))
    np.put_along_axis(order, lone, 2.0, 1)  # drawn after all others, and so never one of them
    chosen = np.sort(order.argsort(1)[:, :others], 1)  # (count, others)
    before = chosen < lone
    # Each block before another moves that by what it is longer than an item.
    at = lone + (width - 1) * before.sum(1, keepdims=True)
    return at, chosen + (width - 1) * (np.arange(others) + ~before)
