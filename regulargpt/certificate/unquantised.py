"""The network as it is, without replacing its states: the balls that prove it, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from torch import Tensor

from regulargpt.certificate import record
from regulargpt.certificate.checker import Accepted, Malformed, Progress, Rejected, decide
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork, unlabelled
from regulargpt.certificate.search.invariant_balls import InvariantBalls, NotInvariant, find_invariant_balls
from regulargpt.certificate.search.networks import max_entries
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.tree.base import Tree

Balls = list[InvariantBalls] | NotInvariant

# With this slack balls are looked for no further; rounding in float32 is a thousandth of it.
ENOUGH = 1e-2
# A slack is stated smaller than found, by these shares, so that the checker's own bound may be larger; so many of them
# are checked at most.
SHARES, ATTEMPTS = (0.97, 0.5), 4
# A layer as wide as the table brought proofs of tables up to about so many windows; widths are advised in such strides.
WIDEST, STRIDE = 2048, 64


@dataclass(frozen=True)
class Searched:
    """What a search for balls of a `network` came to: the balls, or why there are none, and around which prototypes."""

    network: Float64Network
    quantised: QuantisedNetwork
    balls: Balls

    @property
    def slack(self) -> float:
        """The largest slack that any balls leave, 0 if there are none."""
        return most_slack(self.balls)

    def is_of(self, network: Float64Network) -> bool:
        """Whether these are the weights that were looked at."""
        mine, theirs = self.network.w, network.w
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def search_in_training(
    certifier: Certifier, model: Tree, options: Mapping[str, Any], prototypes: Tensor
) -> Searched | None:
    """The balls of a network in training; None if it has no certificate with these prototypes (K, d_model).

    `options` are the model's in config.json.
    """
    network = Float64Network(model, options)
    quantised = certifier.quantised(network, unlabelled(prototypes))
    if quantised is None or not quantised.certain:
        return None
    return search_balls(certifier, model, quantised, network)


def search_balls(certifier: Certifier, model: Tree, quantised: QuantisedNetwork, network: Float64Network) -> Searched:
    """The balls around the prototypes, or around these moved to the images that come to them: what leaves more slack.

    The second are only looked for where the first leave less than `ENOUGH`.
    """
    balls = around(network, quantised)
    if most_slack(balls) >= ENOUGH or len(quantised.table.nodes) > max_entries(network):
        return Searched(network, quantised, balls)
    centred = certifier.centred(model, quantised)
    if centred is not None and centred.certain and most_slack(moved := around(network, centred)) > most_slack(balls):
        return Searched(network, centred, moved)
    return Searched(network, quantised, balls)


def most_slack(balls: Balls) -> float:
    """The largest slack that any balls leave, 0 if there are none."""
    return 0.0 if isinstance(balls, NotInvariant) else max(ball.slack for ball in balls)


def around(network: Float64Network, quantised: QuantisedNetwork) -> Balls:
    """The balls around the prototypes, or why there are none."""
    C, table = quantised.table.chunk_size, quantised.table
    leaves, nodes = ((part.windows(C), part.images) for part in (table.leaves, table.nodes))
    return find_invariant_balls(network, quantised.book.prototypes.numpy(), leaves, nodes, quantised.needed_answers)


def certify_unquantised(
    searched: Searched, files: Mapping[str, bytes], progress: Progress
) -> tuple[tuple[str, Accepted] | None, dict[str, Any]]:
    """The first certificate with balls that the checker accepts, and what it says of the network; or why none is."""
    all_balls = searched.balls
    if isinstance(all_balls, NotInvariant):
        return None, {"proven": False, "reason": all_balls.reason}
    reason = ""
    most: dict[int, float] = {}  # the slack that these balls leave at most, once a slack was rejected
    stated_slacks = ((float(f"{share * balls.slack:.3g}"), balls) for balls, share in product(all_balls, SHARES))
    for slack, balls in sorted(stated_slacks, key=lambda attempt: -attempt[0])[:ATTEMPTS]:
        if slack > most.get(id(balls), slack):
            continue
        stated = record.unquantised(slack, balls.radii.tolist(), searched.network.model.direction is not None)
        certificate = record.text(record.record(searched.quantised, files, stated))
        try:
            accepted = decide(certificate.encode(), files, progress=progress)
        except (Rejected, Malformed) as error:
            reason = reason or str(error)
            if isinstance(error, Rejected) and error.excess is not None:
                most[id(balls)] = slack - error.excess
            continue
        assert isinstance(accepted, Accepted), "it is of a table"
        return (certificate, accepted), {"proven": True, "slack": slack, "radius": float(balls.radii.max())}
    return None, {"proven": False, "reason": f"the independent check rejects it: {reason}"}


def wide_enough(searched: Searched) -> dict[str, int]:
    """How wide (`d_ff`) a layer would have to be to bring each window to its prototype; nothing where it is, or where
    that has never helped."""
    width, n_windows = searched.network.options.get("d_ff"), len(searched.quantised.table.nodes)
    if width is None or not width < n_windows <= WIDEST:
        return {}
    return {"d_ff": -(-n_windows // STRIDE) * STRIDE}
