"""Members drawn as published code draws them, piece by piece and not uniformly; all words of a batch at once.

The samplers are values: equal ones draw equal words from equal generators. Each ends with probability 1 and draws
members only.

Source: the tasks d_N, tomita_3, tomita_4 and tomita_7 in the code of RegularGPT (Chi et al. 2023), which has its
generators from the code of Bhattamishra et al. 2020; only the distributions are taken from there.
"""

from dataclasses import dataclass

import numpy as np

from languages.automata.words import Indices
from languages.sampling.graph import Ints
from languages.sampling.sampler import uniform_words


@dataclass(frozen=True)
class Blocks:
    """Words of D_N, block by block: a block 0 w 1 that leaves r symbols to share has |w| ~ Normal(0.75 r, (0.075 r)^2).

    A word of D_n that is to have m symbols is filled with blocks from the left, while it is shorter than m. In
    each, w is a word of D_{n-1} drawn in the same way; D_0 has the empty word only. With l more symbols to
    come, r = l - 2, and |w| is that normal number rounded towards zero, then down to an even number, from 0 to r.
    So the words have few, large blocks: D_12 is 7.7 deep on average at length 80. The published code, asked for an
    odd length, returns a word that is one symbol longer; here odd lengths have no members.

    >>> from languages.randomness import rng
    >>> ["".join(map(str, word)) for word in Blocks(3).sample(rng(0, "example"), 20, 2)]
    ['00010110101100101101', '00010101011010110101']
    """

    depth_bound: int

    def has(self, length: int) -> bool:
        """Whether the length is even."""
        return length >= 0 and length % 2 == 0

    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Members (count, length); for all words at once, one depth after the other."""
        # What D_1 has at depth N - 1, written everywhere; the blocks at smaller depths are written over it.
        word = ((np.arange(length) + self.depth_bound + 1) % 2).astype(np.uint8)
        words = np.tile(word, count)  # (count * length,)
        start, left = unfilled(length * np.arange(count), np.full(count, length))
        for _ in range(self.depth_bound - 1):
            contents = [(start[:0], left[:0])]
            while len(left):
                inner = block_lengths(random, left - 2)
                words[start], words[start + inner + 1] = 0, 1
                contents.append((start + 1, inner))
                start, left = unfilled(start + inner + 2, left - inner - 2)
            start, left = unfilled(*(np.concatenate(column) for column in zip(*contents, strict=True)))
        return words.reshape(count, length)  # from (count * length,)


def unfilled(start: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Of the places from `start` on with `left` symbols to fill, those with any."""
    return start[left > 0], left[left > 0]


def block_lengths(random: np.random.Generator, most: Ints) -> Ints:
    """(n,) even lengths 0..most, Normal(0.75 most, (0.075 most)^2) before rounding."""
    mean = 0.75 * most
    drawn = 0.1 * mean * random.standard_normal(len(most)) + mean
    return np.clip(np.trunc(drawn).astype(np.intp) // 2 * 2, 0, most)


class _EveryLength:
    def has(self, length: int) -> bool:
        """Every length has members."""
        return length >= 0


@dataclass(frozen=True)
class Tomita3Runs(_EveryLength):
    """Words of Tomita 3 by run lengths: a fair coin picks the symbol, then its number is uniform over what is left.

    After an odd run of 1s the number of 0s is uniform over the even ones. The number may be 0, then nothing is
    added; the same symbol twice makes one longer run. So the words have few, long runs: 3.9 on average at length 500,
    where uniform members have 197.

    >>> from languages.randomness import rng
    >>> ["".join(map(str, word)) for word in Tomita3Runs().sample(rng(0, "example"), 20, 2)]
    ['00000000000000000001', '11111111111111111111']
    """

    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices:
        left = np.full(count, length)
        odd = np.zeros(count, dtype=np.bool_)  # whether the last run of 1s is odd
        zeros = np.zeros(count, dtype=np.bool_)  # whether it is followed by 0s
        symbols, numbers = [np.zeros(count, dtype=np.uint8)], [np.zeros(count, dtype=np.intp)]
        # Words that are full draw on with nothing left, and add nothing: so all draw as many numbers.
        while left.any():
            ones = random.integers(0, 2, count) == 1
            step = np.where(odd & ~ones, 2, 1)
            number = step * random.integers(0, left // step + 1)
            added = number > 0
            odd = np.where(added & ones, (number % 2 == 1) ^ (odd & ~zeros), odd)
            zeros = np.where(added, ~ones, zeros)
            symbols.append(ones.astype(np.uint8))
            numbers.append(number)
            left = left - number
        runs, lengths = np.stack(symbols).T.ravel(), np.stack(numbers).T.ravel()  # (count * runs,), word after word
        return np.repeat(runs, lengths).reshape(count, length)  # (count, length): a word's runs fill it


@dataclass(frozen=True)
class Tomita7Runs(_EveryLength):
    """Words of Tomita 7, 0*1*0*1*: the first three numbers uniform from 0 to what is left, the fourth all the rest.

    >>> from languages.randomness import rng
    >>> ["".join(map(str, word)) for word in Tomita7Runs().sample(rng(0, "example"), 20, 2)]
    ['00000011111111100111', '00000000000000000000']
    """

    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices:
        numbers = np.zeros((count, 4), dtype=np.intp)
        numbers[:, 3] = length
        for run in range(3):
            numbers[:, run] = random.integers(0, numbers[:, 3] + 1)
            numbers[:, 3] -= numbers[:, run]
        runs = np.tile(np.array([0, 1, 0, 1], dtype=np.uint8), count)  # (count * 4,)
        return np.repeat(runs, numbers.ravel()).reshape(count, length)  # (count, length)


@dataclass(frozen=True)
class Tomita4Walk(_EveryLength):
    """Words of Tomita 4, no 000, symbol by symbol: a fair coin each, but a 1 after two 0s.

    >>> from languages.randomness import rng
    >>> ["".join(map(str, word)) for word in Tomita4Walk().sample(rng(0, "example"), 20, 2)]
    ['10011010111011011100', '10100100111111001101']
    """

    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Members (count, length): fair coins, in whose runs of 0s every third becomes a 1."""
        coins = uniform_words(random, 2, length, count)
        at = np.arange(1, length + 1)
        zeros = at - np.maximum.accumulate(np.where(coins == 1, at, 0), axis=1)  # how many 0s in a row up to here
        return np.where((coins == 1) | (zeros % 3 == 0), 1, 0).astype(np.uint8)
