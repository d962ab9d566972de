"""A family of words on which a network whose states settle is wrong for ever, and from which n on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import lcm

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from regulargpt.certificate.refutation.cycles import CycleNetwork
from regulargpt.certificate.refutation.delta import DeltaNetwork
from regulargpt.certificate.refutation.diagonal import DiagonalNetwork
from regulargpt.certificate.refutation.families import WrongFamily, after, candidates, orbit
from regulargpt.certificate.refutation.network import LinearNetwork

Progress = Callable[[str, int, int], None]  # part, families done, families in all
Network = LinearNetwork | DeltaNetwork | DiagonalNetwork | CycleNetwork
TIE = 1e-9  # of two logits at the limit, in float64


def wrong_families(
    machine: MooreMachine, network: Network, progress: Progress = lambda part, done, count: None
) -> list[WrongFamily]:
    """Families on which the network is wrong in the limit, the family with the shortest first word first.

    `start` is where float64 shows it; where it shows no end of other answers, behind all that was read.
    """

    def order(wrong: WrongFamily) -> tuple[float, int]:
        u, v, _ = wrong.family
        return network.apart(u, v), wrong.family.length(1)

    families = sorted(at_the_limit(machine, network, progress), key=order)[: network.families]
    read: list[WrongFamily] = []
    for symbols in network.symbols:
        # As many symbols of all of them together.
        few = max(1, len(families) * network.symbols[0] // symbols)
        read = [first_wrong(network, wrong, symbols) for wrong in families[:few]]
        if any(wrong.is_settled for wrong in read):
            break
    return network.chosen(read)


def at_the_limit(machine: MooreMachine, network: Network, progress: Progress) -> Iterator[WrongFamily]:
    """Each family, and residue, at which the limit has another answer than the machine."""
    limits: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    families = candidates(machine)
    network.follow(families)
    for number, family in enumerate(families):
        progress("families", number, len(families))
        u, v, w = family
        key = (v, w) if network.forgets else (u, v, w)
        if key not in limits:
            limits[key] = [decided(logits) for logits in network.limits(u, v, w)]
        if not (answers := limits[key]):
            continue
        states, before = orbit(machine, u, v)
        own = len(states) - before
        period = lcm(own, len(answers))
        for n in range(before, before + period):
            right = int(machine.output_table[after(machine, states[before + (n - before) % own], w)])
            answer = answers[n % len(answers)]
            if min(right, answer) >= 0 and right != answer:
                # At least one v, and none before the states come around.
                start = n if n >= 1 else period
                yield WrongFamily(family, start, period, n % period, answer, right)


def decided(logits: npt.NDArray[np.float64]) -> int:
    """The answer, -1 for a tie as far as float64 shows.

    >>> decided(np.array([1.0, 2.0])), decided(np.array([1.0, 1.0])), decided(np.array([1.0]))
    (1, -1, -1)
    """
    second, first = np.argsort(logits)[-2:] if len(logits) > 1 else (0, 0)
    return int(first) if logits[first] - logits[second] > TIE else -1


def first_wrong(network: Network, wrong: WrongFamily, symbols: int) -> WrongFamily:
    """From which n on float64 shows the answer of the limit, of so many symbols."""
    u, v, w = wrong.family
    most = max(1, symbols // len(v))
    answers = network.along(u, v, most).answers(w)  # (most,), at n = 1, 2, ...
    n = np.arange(1, most + 1)
    others = n[(n >= wrong.start) & (n % wrong.period == wrong.residue) & (answers != wrong.answer)]
    last = int(others[-1]) if len(others) else 0
    is_settled = last < most - most // 4
    later = wrong.later(max(wrong.start, last + 1) if is_settled else most)
    return replace(later, is_settled=is_settled)
