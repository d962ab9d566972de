"""The search for points that prove a chain: nobody has to believe it, for the checker computes everything anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata import MooreMachine
from languages.errors import UserError
from regulargpt.certificate.chain.points import CENTRINGS, Candidate, Sampled
from regulargpt.certificate.chain.product import ChainProduct
from regulargpt.certificate.search.codebook import group_means
from regulargpt.data.base import Words

MOST_POINTS = 4096  # that the checker goes through


def refuse_trivial(machine: MooreMachine, name: str) -> None:
    """Raise UserError where all words have one answer, or none: there is nothing to prove.

    >>> import languages
    >>> refuse_trivial(languages.get("parity").machine, "parity")
    """
    given = set(machine.output_table[np.unique(machine.table)].tolist())
    if len(given - {-1}) < 2:
        raise UserError(f"all words of {name} are alike: there is nothing to prove, choose another language")


def proven(
    candidate: Candidate, words: Sequence[Words], known: Float[Tensor, "K D"] | None = None
) -> tuple[list[ChainProduct], ChainProduct]:
    """The products that prove the chain to be the machine, in the order tried; and the best of those that do not.

    Points that are `known` are tried first, then means. Where none of these proves it, they get more points; and where
    that does not help either, a net over the chain's states is tried. Raises UserError for a machine of too many
    states.
    """
    sampled = candidate.sampled(words)
    points = [*([] if known is None else [known]), sampled.per_state(), sampled.per_edge()]
    products = [candidate.product(each) for each in points if len(each) <= MOST_POINTS]
    if not products:
        n_states = candidate.machine.n_states
        raise UserError(f"the automaton has {n_states:,} states; at most {MOST_POINTS:,} points are checked")
    holding, best = [product for product in products if product.is_proven], max(products, key=quality)
    if not holding:
        for product in more_points(candidate, sampled, products):
            if product.is_proven:
                holding = [product]
                break
            best = max(best, product, key=quality)
    return [improved(candidate, product) for product in holding], best


def more_points(candidate: Candidate, sampled: Sampled, products: Sequence[ChainProduct]) -> Iterator[ChainProduct]:
    """Further products: those of means with more points, then of nets."""
    for product in products:
        yield from candidate.mended(product)
    yield from map(candidate.product, candidate.nets(sampled.states))


def quality(product: ChainProduct) -> float:
    """How far it is right: the length of its shortest wrong word."""
    return np.inf if product.wrong is None else len(product.wrong)


def improved(candidate: Candidate, product: ChainProduct) -> ChainProduct:
    """A product that holds, without the points that do not come up, the others moved to the mean of what comes to them.

    They move as long as it holds, by larger margins.
    """
    best = ChainProduct.explore(product.rows.only(product.points_met), product.machine)
    assert best.is_proven, "no row leads to a point that was left out"
    moved = best
    for _ in range(CENTRINGS):
        rows, used = moved.rows, torch.from_numpy(moved.used)
        images = torch.from_numpy(rows.images)[used] - 1  # (used,)
        means, count = group_means(rows.states[used], images, len(rows.points))
        points = torch.where(count[:, None] > 0, means, rows.points)  # the sizes as a column (K, 1)
        moved = candidate.product(points)
        if not moved.is_proven or moved.smallest_margin <= best.smallest_margin:
            break
        best = moved
    return best
