"""Networks that carry a state, while they read a word again and again: a set of states that they never leave.

A set has a centre c (D,) and a symmetric S (D, D): it is of all x whose y = x - c has y y^T <= S, where A <= B if B - A
has no negative eigenvalue. It is an ellipsoid; |y_i| is at most the root of S_ii. A symbol maps x to F(x), and

    F(x) - c' = M y + e,  |e_i| <= d_i,

with M the middles of the slopes of F over the box around the set (slopes.py), and d what their radii, rounding, and
F(c) - c' come to. As (p + q) (p + q)^T <= (1 + a) p p^T + (1 + 1/a) q q^T for all a > 0, and e e^T <= |d| diag(d) for
|d| = sum_i d_i,

    (F(x) - c') (F(x) - c')^T <= S' = (1 + a) M S M^T + (1 + 1/a) |d| diag(d):

so the set goes into one around c' with S', on a path that starts with the one state before any word. If v^p maps a set
E into itself, and u v^n leads into E, then so do u v^(n + p), u v^(n + 2 p), .. for ever, and the answers after any w
are those of E. Its centre is nearly led back to itself by v^p, with slopes A there, and S is a multiple of the sum of
(A / g)^i W ((A / g)^i)^T for i = 0, 1, .., so that A S A^T is nearly g^2 (S - W) (Lyapunov 1892); W is long toward
where the state is. How they were found proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.claims import quoted
from regulargpt.certificate.checker.doubles import OF_DOUBLES, Doubles, Floats, U, ends, frobenius, is_ieee, known, up
from regulargpt.certificate.checker.family import CheckedFamily
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.images import Progress
from regulargpt.certificate.checker.slopes import Sloped

MAX_SYMBOLS = 1 << 12  # that are read before the state is in E
MAX_WIDTH, MAX_NUMBERS = 1 << 11, 1 << 23  # numbers of a state; slopes of a vector: several of them take a gigabyte
MAX_WORK = 1 << 41  # multiplications for these; looking for E takes a few times as many
TRIALS, FIRST, MORE = 16, 4, 1.5  # how often E is looked for, after how many words first, and so many times as many
NEWTON, WIDER, TINY = 6, 2.0, 2.0**-90  # steps to its centre; so many times what may do
THIN = (1.0, 2.0**-8, 2.0**-16, 2.0**-24, 2.0**-32)  # how thin it is beside how long, squared
LARGEST, UNDERFLOW = 2.0**100, 2.0**-900  # slopes that are followed, and more than products with them lose
FIXED = 2.0**-60  # the square of the move of a state that does not move
SUMMED, LITTLE = 24, 1e-3


@dataclass(frozen=True)
class Ellipsoid:
    """The centre (D,) and S (D, D)."""

    centre: Floats
    S: Floats

    def radii(self) -> Floats:
        """At least |y_i| (D,) in it."""
        return up(np.sqrt(np.maximum(up(np.diagonal(self.S)), 0)))

    def box(self) -> Doubles:
        return Doubles(self.centre, self.radii())

    def mapped(self, image: Doubles, slopes: Doubles) -> Ellipsoid:
        """What contains F of it, from F(c) (D,) and the slopes (D, D) of F, with a row for each number of F."""
        M, D = slopes.middle, len(self.S)
        T, size = M @ self.S @ M.T, abs(M)
        if not size.max() < LARGEST:
            return Ellipsoid(image.middle, np.full_like(T, np.nan))
        # diag(sum_j e_ij) >= A for every symmetric A with |a_ij| <= e_ij. This is more than rounding takes from a row
        # of both products, and UNDERFLOW more than underflow does.
        rounding = 3 * (D + 1) * U * (size @ (abs(self.S) @ (size.T @ np.ones(D))))
        T = (T + T.T) / 2 + np.diag(up(rounding) + UNDERFLOW)
        d = up(image.radius + slopes.radius @ self.radii())
        rest = up(d.sum() * d)
        a = balance(rest.sum(), np.trace(T))
        widened = (1 + a) * T + (1 + 1 / a) * np.diag(rest)
        return Ellipsoid(image.middle, widened + np.diag(up(8 * U * abs(widened).sum(1))))

    def holds(self, other: Ellipsoid) -> bool:
        """Whether it certainly contains another set."""
        m = (known(other.centre) - known(self.centre)).reshape(-1, 1)  # (D, 1)
        a = balance(np.square(m.middle).sum(), np.trace(other.S))
        apart = known(self.S) - known(other.S) * (1 + a) - m.product(m.T) * (1 + 1 / a)
        return is_positive(apart)


@dataclass(frozen=True)
class CentreLogits:
    """The logits (n_outputs,) at the centre of a set, and their slopes (D, n_outputs) over the box around it."""

    logits: Doubles
    slopes: Doubles
    of: Ellipsoid

    def gap(self, answer: int) -> float:
        """By so much or more the logit of this answer is larger than each other, in all of the set; not a number where
        nothing is known."""
        others = np.delete(np.arange(len(self.logits)), answer)
        gaps, slopes = self.logits[[answer]] - self.logits[others], self.slopes[:, [answer]] - self.slopes[:, others]
        m = known(slopes.middle)  # (D, others), where (m . y)^2 = m^T y y^T m <= m^T S m
        far = (m * known(self.of.S).product(m)).sum(0).nonnegative_part().sqrt()
        rest = known(up(self.of.radii() @ slopes.radius))
        return float(np.min(ends(gaps - known(ends(far + rest)[1]))[0], initial=np.inf))


class Attracted:
    """A network in balls in float64, at points and with slopes."""

    def __init__(self, weights: Mapping[str, Floats], config: Any):
        self.exact, self.sloped = (network_of(weights, config, of) for of in (known, Sloped.weights))
        self.alphabet, self.output_names = self.exact.alphabet, self.exact.output_names
        self.layers = self.exact.layers

    def work(self) -> int:
        """About how many multiplications a symbol takes."""
        D = self.exact.D
        return D * (self.exact.work() + D * (4 * D + len(self.output_names)))

    def widest(self) -> int:
        """At least the numbers of a vector in it."""
        return max([self.exact.widest(), *(max(w.shape) for w in self.exact.w.values())])

    def beginning(self) -> Ellipsoid:
        """The state before the first symbol."""
        x = self.exact.first_state()
        return Ellipsoid(x, np.zeros((len(x), len(x))))

    def read(self, x: Ellipsoid, symbol: int) -> tuple[CentreLogits, Ellipsoid, Floats]:
        """What is seen at a symbol, a set that contains all states after it, and the slopes (D, D) near the centre."""
        at = np.array([symbol])
        logits, image = self.exact.step(known(x.centre[None]), at)
        over, after = self.sloped.step(Sloped.numbers(x.box()), at)
        slopes = after.slopes.T
        [logits, image] = [row.map(lambda values: values[0]) for row in (logits, image)]  # (n_outputs,), (D,)
        return CentreLogits(logits, over.slopes, x), x.mapped(image, slopes), slopes.middle


class Attraction:
    """One check of what a network answers to such words."""

    def __init__(self, network: Attracted, family: CheckedFamily, progress: Progress):
        self.network, self.family, self.progress = network, family, progress
        self.comparisons, self.bits, self.when = 0, OF_DOUBLES, [int(FIRST * MORE**i) for i in range(TRIALS)]
        if not is_ieee():
            raise Rejected("float64 does not round to nearest here: nothing can be concluded from it")
        D, self.most = network.exact.D, min(MAX_SYMBOLS, MAX_WORK // network.work())
        if D > MAX_WIDTH or D * network.widest() > MAX_NUMBERS:
            raise Rejected(f"the network is too large: its state has {D:,} numbers")
        blocks = family.first() + (FIRST - 1) * family.period
        if (least := len(family.u) + blocks * len(family.v) + FIRST * len(family.w)) > self.most:
            raise Rejected(
                f"{least:,} symbols would have to be read; in a network of this size at most {self.most:,} are"
            )

    def run(self) -> tuple[int, int, float]:
        """From which n on E tells all answers, how many words were read before, and the margin in E.

        Raises Rejected where the network answers otherwise, or no E is found.
        """
        with np.errstate(all="ignore"):
            return self.walk()

    def walk(self) -> tuple[int, int, float]:
        """The same. What is not finite is known by nothing."""
        family, (_, x) = self.family, self.word(self.family.u, self.network.beginning(), None)
        first, n, read = family.first(), 0, len(family.u)
        while (read := read + len(family.v)) <= self.most:
            self.progress("words", read, self.most)
            seen, x = self.word(family.v, x, None)
            n += 1
            if n < first or (n - first) % family.period:
                continue
            seen, read = self.word(family.w, x, seen)[0], read + len(family.w)
            self.answers(seen, n)
            self.comparisons += 1
            if self.comparisons in self.when:
                left = (self.most - read) // (len(family.v) * family.period + len(family.w))
                if (margin := self.attracted(x, left)) is not None:
                    return n + family.period, self.comparisons, margin
        what = f"v^{family.period}" if family.period > 1 else "v"
        raise Rejected(f"no set of states is found that {what} maps into itself, up to n = {n:,}")

    def word(self, word: Sequence[int], x: Ellipsoid, seen: Any) -> tuple[Any, Ellipsoid]:
        """What is seen last and where the state is after some symbols more."""
        for symbol in word:
            seen, x, _ = self.network.read(x, symbol)
        return seen, x

    def answers(self, seen: CentreLogits, n: int) -> None:
        """Raise Rejected unless the network certainly has the family's answer."""
        if not seen.gap(self.family.answer) > 0:
            name = quoted(self.network.output_names[self.family.answer])
            raise Rejected(f"the network does not answer {name} for n = {n:,}, as far as float64 tells")

    def attracted(self, x: Ellipsoid, left: int) -> float | None:
        """At most the margin of the answer in a set E that contains another set; None if none is found.

        Raises Rejected if the state does not come near its limit while v^p is read so many times more.
        """
        c, A, move = self.fixed(x.centre)
        if (g := shrinking(A)) is None:
            return None
        far = x.centre - c
        # E is hardly longer than 1 - g: what is not linear would take out of it what A draws into it.
        if move < FIXED and np.log(max(float(abs(far).max()), TINY) / (1 - g)) > left * 2 * (1 - g):
            raise Rejected("the state comes near its limit so slowly that no set of states is found")
        least, powers = float(np.trace(x.S)) + move + TINY, powers_of(A / g)
        for thin in THIN:
            Q = total(powers, np.outer(far, far) + (thin * float(far @ far) + least) * np.eye(len(c)))
            if not np.isfinite(Q).all():
                continue
            E = Ellipsoid(c, WIDER * (thin + float(far @ np.linalg.lstsq(Q, far)[0]) + TINY) * Q)
            seen, after = self.word([*self.family.v] * self.family.period, E, None)
            if E.holds(after) and E.holds(x):
                gap = self.word(self.family.w, after, seen)[0].gap(self.family.answer)
                if gap > 0:
                    return gap
        return None

    def fixed(self, x: Floats) -> tuple[Floats, Floats, float]:
        """Nearly a state (D,) that v^p leads to itself, by Newton's method, the slopes (D, D) there, and the square of
        how far v^p moves it."""
        best, c, none = (x, np.full((len(x), len(x)), np.nan), np.nan), x, np.zeros((len(x), len(x)))
        for _ in range(1 + NEWTON):
            A, after = np.eye(len(c)), Ellipsoid(c, none)
            for symbol in [*self.family.v] * self.family.period:
                _, after, slopes = self.network.read(after, symbol)
                A = slopes @ A
            move = after.centre - c
            if not (np.isfinite(A).all() and np.isfinite(move).all()):
                break
            if not best[2] <= (square := float(move @ move)):
                best = c, A, square
            try:
                c = c + np.linalg.solve(np.eye(len(c)) - A, move)
            except np.linalg.LinAlgError:
                c = after.centre
        return best


def balance(p: float, q: float) -> float:
    """A power of two a for which (1 + a) q + (1 + 1/a) p is nearly the least."""
    share = np.log2(max(p, TINY**10)) - np.log2(max(q, TINY**10))
    return 2.0 ** float(np.clip(np.rint(np.nan_to_num(share) / 2), -40, 40))


def shrinking(A: Floats) -> float | None:
    """A g < 1 for which the powers of A / g die away, as far as float64 tells; None if those of A do not."""
    if not np.isfinite(A).all():
        return None
    try:
        g = float(np.sqrt((1 + np.square(abs(np.linalg.eigvals(A)).max(initial=0.0))) / 2))
    except np.linalg.LinAlgError:
        return None
    return g if g < 1 else None


def powers_of(A: Floats) -> list[Floats]:
    """A, A^2, A^4, .., as far as they are not little."""
    powers = [A]
    while np.linalg.norm(powers[-1]) >= LITTLE and len(powers) < SUMMED:
        powers.append(powers[-1] @ powers[-1])
    return powers


def total(powers: Sequence[Floats], W: Floats) -> Floats:
    """The sum of A^i W (A^i)^T for i = 0, 1, .., of such powers of A."""
    for power in powers:
        W = W + power @ W @ power.T
    return (W + W.T) / 2


def is_positive(S: Doubles) -> bool:
    """Whether all symmetric matrices in these balls (D, D) certainly are positive definite.

    If G S G^T is nearer to I than 1 in the Frobenius norm, it is positive definite; then G has an inverse, and so is S.
    G is the inverse of a triangular factor of S.
    """
    try:
        G: Any = np.linalg.inv(np.linalg.cholesky((S.middle + S.middle.T) / 2))
    except np.linalg.LinAlgError:
        return False
    apart = known(G).product(S).product(known(G.T)) - known(np.eye(len(G)))
    return bool(frobenius(apart.middle) + frobenius(apart.radius) < 1)
