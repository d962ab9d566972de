"""What bounds the images of a network whose balls are looked for, by the name of its model in config.json."""

from __future__ import annotations

from regulargpt.certificate.search.block_bounds import BlockBounds
from regulargpt.certificate.search.gated_bounds import GatedBlockBounds
from regulargpt.certificate.search.image_bounds import ImageBounds
from regulargpt.certificate.search.ldru_bounds import LdruBounds
from regulargpt.finite.float64_network import Float64Network, Floats, Ints

BOUNDS: dict[str, type[ImageBounds]] = {
    "regulargpt": BlockBounds,
    "gated-regulargpt": GatedBlockBounds,
    "ldru": LdruBounds,
}


def image_bounds(network: Float64Network, prototypes: Floats, windows: Ints, images: Ints) -> ImageBounds:
    """What bounds the images of windows (n, C) of prototypes, against the prototypes `images` (n,)."""
    return BOUNDS[network.options["name"]](network, prototypes, windows, images)


def max_entries(network: Float64Network) -> int:
    """How many windows are tried at most."""
    return BOUNDS[network.options["name"]].MAX_ENTRIES
