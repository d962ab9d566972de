"""One layer of delta, S' = A S + B at each symbol, while it reads a word again and again.

A is a product of alpha <= 1 and of I - b k k^T with |k| <= 1 and 0 < b < 2, so |A x| <= |x|: what is near a column of S
stays as near. Columns are therefore balls in the Euclidean norm: boxes would grow at every step, as they turn.

With the same symbols in its convolution, a word v is one map of each head, S' = P S + B. From S_0 on it adds S_1 - S_0,
then P (S_1 - S_0), and so on. These lie in the span of the keys of v, Z X for Z (K, r) with those keys as columns, and

    P Z = Z N,  N = product of I - b e (row of Z^T Z),  e the number of the key,

so S_n = S_0 + Z (I + N + ... + N^(n-1)) X = S* - Z N^n Y, where Y solves (I - N) Y = X and S* = S_0 + Z Y. What is
orthogonal to all keys is kept for ever: it is in S_0, and S* depends on it. With a gate, or with K keys or more, Z = I
and N = P. And |S_m - S*| <= |Z N^n Y| for all m >= n, column by column, as P lengthens nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat

from regulargpt.certificate.checker.balls import Balls, Undecided, above, exact, matrix, middle, norm
from regulargpt.certificate.checker.chain_delta import Brings, Delta, moved
from regulargpt.certificate.checker.chain_mixing import read_by
from regulargpt.certificate.checker.files import Floats, Rejected
from regulargpt.certificate.checker.recurrences import STEP

Context = tuple[int, ...]
"""The last symbols, as many as the convolution reaches, the last included; -1 before the word."""

around: Any = np.frompyfunc(lambda x, r: x + arb(0, r), 2, 1)


@dataclass(frozen=True)
class Columns:
    """States (.., H, K, V), each column within `radius` (.., H, V) of `centre`, which is exact; the symbols before."""

    centre: Balls
    radius: Balls
    before: Sequence[Any]  # a Context of each row; the Context, where there are no rows

    @classmethod
    def about(cls, S: Balls, radius: Any, before: Sequence[Any]) -> Columns:
        """All that is so far from matrices in these balls."""
        centre = middle(S)
        return cls(centre, above(norm(S - centre, axis=-2) + radius), before)

    def rows(self, at: Any) -> Columns:
        before = self.before[at] if isinstance(at, int) else [self.before[i] for i in at]
        return Columns(self.centre[at], self.radius[at], before)


class DeltaRecurrences(Delta):
    """The network of chain_delta.py with one layer: the same function, for words that go on and on."""

    def __init__(self, weights: Mapping[str, Floats], record: Any):
        super().__init__(weights, record)
        if self.layers != 1:
            raise Rejected("networks of one layer of delta are refuted; this one has more")
        self.size = max(1, self.model["conv"])
        self.known: dict[Context, tuple[Balls, Balls, Brings]] = {}

    is_quick = False  # in balls of FLINT
    piece = 512  # positions that are read at once

    def work_of_symbol(self) -> int:
        """About how many multiplications a symbol takes."""
        return sum(w.size for w in self.w.values()) + STEP * (1 + self.D)

    def on_the_way(self, v: Sequence[int], w: Sequence[int]) -> int:
        """The symbols that `toward` reads, and one comparison."""
        return self.size + 2 * len(v) + len(w)

    def beginning(self) -> list[Columns]:
        """The state before the first symbol."""
        S, radius = np.full((self.H, self.K, self.K), arb(0)), np.full((self.H, self.K), arb(0))
        return [Columns(S, radius, (-1,) * self.size)]

    def at(self, context: Context) -> tuple[Balls, Balls, Brings]:
        """The embedding (1, d) of the last symbol, its norm, and what it brings to the state, of a row each."""
        if context not in self.known:
            read = [a for a in context if a >= 0]
            h = self.w["embedding.weight"][read]
            x = self.rms("blocks.0.norm", h)
            # Zeros before the word, then what the symbols before this one gave to the convolution.
            old: Balls = np.full((self.size - 1, (1 + 2 * self.n) * self.d), arb(0))
            if len(read) > 1:
                old[1 - len(read) :] = self.linear("blocks.0.mixer.qkv", x[:-1])
            carried = [old[None]] if self.model["conv"] else []
            self.known[context] = h[-1:], x[-1:], self.brings("blocks.0.mixer.", x[-1:], carried)[0]
        return self.known[context]

    def moved(self, state: Columns, symbol: int) -> Columns:
        """The state after a symbol, of no rows or of several. The radius is as before, and what rounding adds."""
        if isinstance(state.before, tuple):
            context = (*state.before[1:], symbol)
            brings = self.at(context)[2]
            return Columns.about(moved(state.centre[None], brings)[0], state.radius, context)
        contexts = [(*before[1:], symbol) for before in state.before]
        return Columns.about(moved(state.centre, self.of_rows(contexts)[2]), state.radius, contexts)

    def of_rows(self, contexts: Sequence[Context]) -> tuple[Balls, Balls, Brings]:
        h, x, brings = zip(*map(self.at, contexts), strict=True)

        def stacked(parts: Sequence[Any]) -> Any:
            return None if parts[0] is None else np.concatenate(parts)

        q, keys, values, beta, left = zip(*brings, strict=True)
        keys, values = ([stacked(each) for each in zip(*parts, strict=True)] for parts in (keys, values))
        return stacked(h), stacked(x), Brings(stacked(q), keys, values, stacked(beta), stacked(left))

    def logits(self, states: Columns) -> Balls:
        """The logits (n, n_outputs) at the last symbols, whose states (n, H, K, V) are after them."""
        h, x, brings = self.of_rows(states.before)
        reach = above(norm(brings.q))[..., None] * states.radius  # (n, H, V)
        o = around(read_by(states.centre, brings.q), above(reach))
        h = self.fed("blocks.0.", h + self.output("blocks.0.mixer.", x, o))
        return self.linear("readout", self.rms("norm", h))

    def read(
        self, symbols: Sequence[int], start: Sequence[Columns], ends: Sequence[int]
    ) -> tuple[Balls, list[Columns], list[Columns]]:
        """The logits (ends, n_outputs) and states after some symbols of a word, and the state after all."""
        state, states, wanted = start[0], {}, {*ends}
        for i, symbol in enumerate(symbols):
            state = self.moved(state, symbol)
            if i in wanted:
                states[i] = state
        rows = [states[i] for i in ends]
        if not rows:
            return np.empty((0, len(self.output_names)), dtype=object), [], [state]
        centre, radius = (np.stack([getattr(row, part) for row in rows]) for part in ("centre", "radius"))
        at = Columns(centre, radius, [row.before for row in rows])
        return self.logits(at), [at], [state]

    def one_more(self, states: Sequence[Columns], symbol: int) -> tuple[Balls, list[Columns]]:
        """The logits (n, n_outputs) and the states after another symbol, from n states."""
        after = self.moved(states[0], symbol)
        return self.logits(after), [after]

    def toward(self, after_u: Sequence[Columns], v: Sequence[int], w: Sequence[int]) -> DeltaSettling:
        """Where u v^n w leads."""
        first = -(-self.size // len(v))  # so many v are all that the convolution reaches at their last symbol
        return DeltaSettling(self, self.read([*v] * first, after_u, [])[2][0], first, v, w)


class DeltaSettling:
    """Where a network goes while it reads v again and again, and then w.

    After `first` v it is at `start`; from there on v is what its convolution reaches.
    """

    def __init__(self, network: DeltaRecurrences, start: Columns, first: int, v: Sequence[int], w: Sequence[int]):
        self.network, self.start, self.first, self.w = network, start, first, w
        brought, before = [], start.before
        for symbol in v:
            before = (*before[1:], symbol)
            brought.append((before, network.at(before)[2]))
        self.before = before
        self.heads = [Head(head, start.centre[head], brought) for head in range(network.H)]

    def all(self, n: int) -> Balls:
        """The logits (n_outputs,) after u v^m w for all m >= n; all numbers where n is below `first`."""
        if n < self.first:
            return np.full(len(self.network.output_names), arb(0, np.inf))
        far = [norm(head.apart(n - self.first), axis=-2) for head in self.heads]
        return self.logits([head.limit for head in self.heads], far)

    def some(self, n: int, count: int, period: int) -> Balls:
        """The same for m = n, n + period, ... of which there are `count`; n is not below `first`.

        From one to the next S moves by P^period - I times what it is from the limit; each move is at most as long as
        the one before.
        """
        far = [(count - 1) * norm(head.apart(n - self.first, period), axis=-2) for head in self.heads]
        return self.logits([head.limit - head.apart(n - self.first) for head in self.heads], far)

    def logits(self, S: Sequence[Balls], far: Sequence[Balls]) -> Balls:
        """The logits after w, from all states whose columns are so far from these of the heads, (K, V) each."""
        after = Columns.about(np.stack(S), np.stack(far) + self.start.radius, self.before)
        for symbol in self.w:
            after = self.network.moved(after, symbol)
        return self.network.logits(Columns(after.centre[None], after.radius[None], [after.before]))[0]


class Head:
    """One head's S_n = S* - Z N^n Y, from S_0 on."""

    def __init__(self, head: int, S: Balls, brought: Sequence[tuple[Context, Brings]]):
        steps = [
            SubStep.from_context(head, j, context, brings)
            for context, brings in brought
            for j in range(len(brings.keys))
        ]
        number = {key: i for i, key in enumerate(dict.fromkeys(step.name for step in steps))}
        is_in_span = len(number) < len(S) and all(step.left is None for step in steps)
        r = len(number) if is_in_span else len(S)
        self.Z: Balls = exact(np.eye(len(S), r))
        N: Balls = exact(np.eye(r))
        X: Balls = exact(np.zeros((r, S.shape[1])))
        if is_in_span:
            for step in steps:
                self.Z[:, number[step.name]] = step.k
        after, gram = S, self.Z.T @ self.Z  # (K, V), (r, r)
        for step in steps:
            after = after if step.left is None else step.left * after
            u = step.beta * (step.v - step.k @ after)  # (V,)
            after = after + np.outer(step.k, u)
            if is_in_span:
                i = number[step.name]
                N[i], X[i] = N[i] - step.beta * (gram[i] @ N), X[i] + u
            else:
                N = N if step.left is None else step.left * N
                N = N - step.beta * np.outer(step.k, step.k @ N)
        self.powers = [matrix(N)]
        try:
            # Solving shows that I - N is not singular.
            self.Y = (matrix(exact(np.eye(r))) - self.powers[0]).solve(matrix(X if is_in_span else after - S))
        except ZeroDivisionError:
            raise Undecided from None
        self.limit = S + self.times(self.Y)

    def apart(self, n: int, period: int = 0) -> Balls:
        """Z N^n Y (K, V); with a period Z (N^period - I) N^n Y."""
        moved = self.power(n, self.Y)
        return self.times(self.power(period, moved) - moved if period else moved)

    def power(self, n: int, of: arb_mat) -> arb_mat:
        """N^n times a matrix (r, V)."""
        for i in range(n.bit_length()):
            if len(self.powers) == i:
                self.powers.append(self.powers[-1] * self.powers[-1])
            of = self.powers[i] * of if n >> i & 1 else of
        return of

    def times(self, inner: arb_mat) -> Balls:
        """Z times a matrix (r, V)."""
        product = matrix(self.Z) * inner
        return np.array(product.entries(), dtype=object).reshape(product.nrows(), product.ncols())  # (K, V)


@dataclass(frozen=True)
class SubStep:
    """One sub-step of a head: k (K,), v (V,), beta, and alpha if any, before the first of a symbol.

    Those with one `name` have the same k.
    """

    name: tuple[Context, int]
    k: Balls
    v: Balls
    beta: arb
    left: arb | None

    @classmethod
    def from_context(cls, head: int, j: int, context: Context, brings: Brings) -> SubStep:
        left = brings.left[0, head] if brings.left is not None and j == 0 else None
        return cls((context, j), brings.keys[j][0, head], brings.values[j][0, head], brings.beta[0, head, j], left)
