"""The search for boxes of a network that is given as a graph: in the checker's own arithmetic.

For graphs there is one interpreter, and the search shares it with the checker: what is found is checked by the same
operations, each of which has its law in the tests. Other networks are searched by code that the checker does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.chain.intervals import TensorInterval
from regulargpt.certificate.chain.moves import PointMoves
from regulargpt.certificate.checker.doubles import ends
from regulargpt.certificate.checker.files import parsed, tensors
from regulargpt.certificate.checker.graph import GraphNetwork, is_graph
from regulargpt.storage.folder import GRAPH

MOST_WORK = 1 << 37  # multiplications of a search, as `GraphNetwork.work` counts them: a minute or two


@dataclass
class OfGraph:
    """That of a graph, in the checker's own arithmetic, box by box, as long as there is work `left` to be done."""

    network: GraphNetwork
    left: int = MOST_WORK

    def start(self, n: int) -> Float[Tensor, "n d_state"]:
        """The state before the first symbol."""
        return torch.from_numpy(self.network.first_state()).expand(n, -1)  # (n, D)

    def images(self, states: TensorInterval, symbols: Int[Tensor, "n"]) -> TensorInterval:
        """Where all states of boxes come to by one more symbol each; everywhere, where nothing is known."""
        self.left -= len(symbols) * self.network.D * self.network.work()
        if self.left < 0:
            anywhere = torch.full_like(states.lower, torch.inf)
            return TensorInterval(-anywhere, anywhere)
        middle, radii = states.centre.numpy(), states.radius.numpy()
        with np.errstate(all="ignore"):
            found = [ends(self.network.image(*row)) for row in zip(middle, radii, symbols.tolist(), strict=True)]
        both = torch.from_numpy(np.array(found)).reshape(len(found), 2, -1)  # (n, 2, d_state)
        return TensorInterval(both[:, 0].nan_to_num(nan=-torch.inf), both[:, 1].nan_to_num(nan=torch.inf))

    def answers(self, boxes: TensorInterval, moves: PointMoves) -> bool:
        """Whether each answer is the right one, wherever in its box the symbol is read."""
        start = self.start(1)
        middle, radii = torch.cat([start, boxes.centre]).numpy(), torch.cat([0 * start, boxes.radius]).numpy()
        with np.errstate(all="ignore"):
            return all(
                self.network.margin(middle[place], radii[place], answer, symbol) > 0
                for place, symbol, answer in moves.before.tolist()
            )


def graph_of(files: Mapping[str, bytes]) -> OfGraph | None:
    """The network of graph.json, where the proof is about that."""
    record = parsed(files["network"], GRAPH)
    return OfGraph(GraphNetwork(tensors(files["weights"]), record)) if is_graph(record) else None
