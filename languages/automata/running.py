"""Running a machine over many words at once, several symbols at each look-up.

The transitions of every block of g symbols are tabulated once: delta over Sigma**g. A word is then packed
into one key per block (its g symbols read as digits), and one look-up advances g symbols in the whole batch.
A few long words are cut into chunks; each chunk is run from all states, which gives its transition function
A(sigma_{a:b}), and the functions are applied one after the other (thesis, section 6.6.1).
"""

from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.words import Indices, smallest_unsigned

Table = npt.NDArray[np.integer[Any]]  # (Q, Sigma)
States = npt.NDArray[np.integer[Any]]
Jumps = npt.NDArray[np.intp]

MAX_ENTRIES = 2**12  # of a block table: 32 KiB of 8-byte jumps, which stay in the first-level cache
WIDTH = 2**12  # rows that one numpy call advances in about twice the time of the call itself
LONG = 256  # blocks from which cutting a word pays


def run_reference(delta: Table, words: Indices, start: States, every: bool = False) -> States:
    """The definition, one symbol at a time: words (batch, length), start (batch,).

    Returns the last states (batch,), or with `every` the states after each symbol (batch, length).
    """
    batch, length = words.shape
    states = np.zeros((batch, length + 1), dtype=np.int64)
    for b in range(batch):
        states[b, 0] = start[b]
        for t in range(length):
            states[b, t + 1] = delta[states[b, t], words[b, t]]
    return states[:, 1:] if every else states[:, -1]


class Runner:
    """The block tables of a machine, built when first needed, and the runs made with them."""

    def __init__(self, delta: Table) -> None:
        self.n_states, self.n_symbols = delta.shape
        self.dtype = smallest_unsigned(self.n_states)
        self._powers: dict[int, Table] = {1: delta}
        self._jumps: dict[int, Jumps] = {}
        self._traces: dict[int, States] = {}

    def run(self, words: Indices, start: States, every: bool = False) -> States:
        """What `run_reference` returns, in the smallest unsigned type that holds every state.

        One word may also have many starts (n,); without `every` the result is then the last states (n,).
        """
        batch, length = words.shape
        if length == 0:
            return np.zeros((batch, 0), self.dtype) if every else start.astype(self.dtype)
        g = self.block(words.size, length)
        whole = length // g * g
        blocks = pack(words[:, :whole], g, self.n_symbols)  # (length / g, batch)
        rest = pack(words[:, whole:], length - whole, self.n_symbols)  # (0 or 1, batch)
        states = start.astype(np.intp)
        if not every:
            states = self.last(rest, self.last(blocks, states, g), length - whole)
            return states.astype(self.dtype)
        traced, states = self.every(blocks, states, g)
        tail, _ = self.every(rest, states, length - whole)
        return np.concatenate([traced, tail], axis=1) if tail.size else traced

    def last(self, blocks: Jumps, states: Jumps, g: int) -> Jumps:
        """The states (batch,) after blocks (n_blocks, batch) of g symbols."""
        if len(blocks) == 0:
            return states
        jumps, stride = self.jumps(g), self.n_symbols**g
        chunks = self.n_chunks(blocks)
        if not chunks:
            return follow(jumps, blocks, states * stride) // stride
        cut, rest = cut_in_chunks(blocks, chunks)
        states = self.chain(cut, states, g)[-1]
        return follow(jumps, rest, states * stride) // stride

    def every(self, blocks: Jumps, states: Jumps, g: int) -> tuple[States, Jumps]:
        """The states after each symbol (batch, n_blocks * g), and the last ones (batch,)."""
        n_blocks, batch = blocks.shape
        if n_blocks == 0:
            return np.zeros((batch, 0), self.dtype), states
        jumps, stride = self.jumps(g), self.n_symbols**g
        chunks = self.n_chunks(blocks)
        before = np.empty((n_blocks + 1, batch), np.intp)
        done = 0
        if chunks:
            cut, _ = cut_in_chunks(blocks, chunks)
            starts = self.chain(cut, states, g)
            inside, _ = follow_all(jumps, cut, starts[:-1] * stride)  # (chunk length, chunks, batch)
            done = cut.shape[0] * chunks
            before[:done] = inside.transpose(1, 0, 2).reshape(done, batch)  # (chunks * chunk length, batch)
            states = starts[-1]
        before[done:-1], before[-1] = follow_all(jumps, blocks[done:], states * stride)
        rows = np.ascontiguousarray((before[:-1] + blocks).T)  # (batch, n_blocks)
        traced = self.traces(g).take(rows, axis=0)  # (batch, n_blocks, g)
        return traced.reshape(batch, n_blocks * g), before[-1] // stride  # (batch, length), (batch,)

    def chain(self, cut: Jumps, states: Jumps, g: int) -> Jumps:
        """The states before each chunk of cut (chunk length, chunks, batch), and after the last."""
        chunks, batch = cut.shape[1:]
        stride = self.n_symbols**g
        every_state = np.arange(self.n_states, dtype=np.intp) * stride  # broadcast over (chunks, batch)
        functions = follow(self.jumps(g), cut[..., None], every_state) // stride  # (chunks, batch, Q)
        starts = np.empty((chunks + 1, *states.shape), np.intp)
        starts[0] = states
        rows = np.arange(batch, dtype=np.intp)
        for c, function in enumerate(functions):
            starts[c + 1] = function[rows, starts[c]]
        return starts

    def block(self, n_symbols_to_run: int, length: int) -> int:
        """How many symbols one key holds: as many as the table's bound, the work and the length allow."""
        bound = min(MAX_ENTRIES, n_symbols_to_run)
        g, entries = 1, self.n_states * self.n_symbols**2
        while entries <= bound and g < min(length, isqrt(length) + 2):
            g, entries = g + 1, entries * self.n_symbols
        return g

    def n_chunks(self, blocks: Jumps) -> int:
        """Into how many chunks to cut, 0 for none: every chunk costs Q runs, so only a small batch is cut."""
        n_blocks, batch = blocks.shape
        chunks = min(isqrt(n_blocks), WIDTH // max(1, batch * self.n_states))
        return chunks if n_blocks >= LONG and chunks >= 4 else 0

    def power(self, g: int) -> Table:
        """delta over blocks (Q, Sigma**g): the state after g symbols."""
        # Not by recursion: over one symbol a block holds a thousand symbols.
        for i in range(max(self._powers) + 1, g + 1):
            longer = self._powers[1][self._powers[i - 1]]  # (Q, Sigma**(i - 1), Sigma)
            self._powers[i] = longer.reshape(self.n_states, -1)  # (Q, Sigma**i)
        return self._powers[g]

    def jumps(self, g: int) -> Jumps:
        """`power(g)`, flat and times its row length: from `state * row + key` to `next state * row`."""
        if g not in self._jumps:
            self._jumps[g] = (self.power(g).astype(np.intp) * self.n_symbols**g).ravel()  # (Q * Sigma**g,)
        return self._jumps[g]

    def traces(self, g: int) -> States:
        """The g states on the way (Q * Sigma**g, g), for each `state * row + key`."""
        if g not in self._traces:
            ways = [np.repeat(self.power(i), self.n_symbols ** (g - i), axis=1) for i in range(1, g + 1)]
            traces = np.stack(ways, axis=-1)  # (Q, Sigma**g, g)
            self._traces[g] = traces.reshape(-1, g).astype(self.dtype)  # (Q * Sigma**g, g)
        return self._traces[g]


def pack(words: Indices, g: int, n_symbols: int) -> Jumps:
    """Keys (n_blocks, batch) of words (batch, n_blocks * g): g symbols as digits, the first the highest."""
    if words.shape[1] == 0:
        return np.zeros((0, words.shape[0]), np.intp)
    keys = words[:, 0::g].astype(np.uint16)
    for j in range(1, g):
        keys *= n_symbols
        keys += words[:, j::g]
    return keys.T.astype(np.intp, order="C")  # (n_blocks, batch): a block's keys lie side by side


def follow(jumps: Jumps, blocks: Jumps, states: Jumps) -> Jumps:
    for block in blocks:
        states = jumps[states + block]
    return states


def follow_all(jumps: Jumps, blocks: Jumps, states: Jumps) -> tuple[Jumps, Jumps]:
    """The states before each block, stacked, and those after the last."""
    before = np.empty(blocks.shape, np.intp)
    for i, block in enumerate(blocks):
        before[i] = states
        states = jumps[states + block]
    return before, states


def cut_in_chunks(blocks: Jumps, chunks: int) -> tuple[Jumps, Jumps]:
    """Equal chunks side by side (chunk length, chunks, batch), and the blocks (rest, batch) left over."""
    length = len(blocks) // chunks
    cut = blocks[: length * chunks].reshape(chunks, length, -1).transpose(1, 0, 2)  # (chunk length, chunks, batch)
    return cut, blocks[length * chunks :]
