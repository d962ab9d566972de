"""Boxes around points that a network as it is maps into each other."""

from __future__ import annotations

import numpy as np

from regulargpt.certificate.checker.chain_network import Bounded
from regulargpt.certificate.checker.chain_product import Product, Row
from regulargpt.certificate.checker.doubles import Doubles, is_ieee, up
from regulargpt.certificate.checker.files import Floats, Rejected

MAX_MAP = 1 << 23  # numbers of the matrices from the state to the gates of all layers: they take a gigabyte
COST, OF_LAYER = 128, 1 << 23  # a number of it, and beside that a layer, take as long as so many multiplications
MAX_WORK = 1 << 43  # less than two hours


class Boxes:
    """Box k is point k +- `radii[k]`, number by number, (K, D) both; box 0 is the start alone.

    `room` is at most how much more than the slack is left between an image and the edge of its box, and `margin` at
    most the least difference of an answer's logit and another in a box that has an answer.
    """

    def __init__(self, network: Bounded, points: Floats, radii: Floats, slack: float, product: Product):
        self.network, self.slack, self.rows = network, slack, product.rows
        self.middle = np.concatenate([network.first_state()[None], points])  # (K + 1, D)
        self.radii = np.concatenate([np.zeros((1, network.D)), radii])  # (K + 1, D)
        self.room = self.margin = np.inf
        if not is_ieee():
            raise Rejected("float64 does not round to nearest here: nothing can be concluded from it")
        size = network.GATES * network.d * network.D  # of a layer
        if (in_all := network.layers * size) > MAX_MAP:
            what = f"boxes take matrices of {in_all:,} numbers in this network"
            raise Rejected(f"{what}; at most {MAX_MAP:,} are checked")
        # Of two layers and more matrices are multiplied, else only scaled; and each is bounded twice.
        several = network.layers > 1
        most = MAX_WORK // (network.layers * (1 + several) * (OF_LAYER + size * (COST + network.d * several)))
        if len(self.rows.points) > most:
            raise Rejected(f"boxes are proven of at most {most:,} rows in a network of this size")
        with np.errstate(all="ignore"):
            for at, row in enumerate(self.rows.points):
                self.rows.progress("boxes", at, len(self.rows.points))
                self.inside(row, self.rows.points[row])
            for place, symbol, answer in product.answered(network.ANSWERS_BEFORE):
                self.answers(place, symbol, answer)

    def inside(self, row: Row, to: int) -> None:
        """Reject a row if its image and the slack may leave the box that they should lie in."""
        place, symbol = row
        for alone in (True, False):
            image = self.network.image(self.middle[place], self.radii[place], symbol, alone)
            far = reach(image, self.middle[to], self.slack)  # (D,)
            if self.network.layers == 1 or (far <= self.radii[to]).all():
                break
        if not (far <= self.radii[to]).all():
            worst = int(np.nan_to_num(far - self.radii[to], nan=np.inf).argmax())
            raise Rejected(
                f"the network as it is: {self.rows.shown(row)}: number {1 + worst} of the state and the slack may be "
                f"{far[worst]:.6g} from that of point {to}, whose box has the radius {self.radii[to, worst]:.6g} there",
                float(far[worst] - self.radii[to, worst]),
            )
        self.room = min(self.room, float((self.radii[to] - far).min()))

    def answers(self, place: int, symbol: int, answer: int) -> None:
        """Reject a box where the answer may change."""
        margin = self.network.margin(self.middle[place], self.radii[place], answer, symbol)
        if not margin > 0:
            raise Rejected(f"the network as it is: the answer can change within the box of point {place}")
        self.margin = min(self.margin, margin)


def reach(image: Doubles, point: Floats, slack: float) -> Floats:
    """At least how far (D,) numbers in balls, moved by the slack, can be from those of a point."""
    far = abs(image - Doubles(point, np.zeros_like(point)))
    return up(far.middle + far.radius + slack)
