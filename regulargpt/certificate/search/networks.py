"""What bounds the images of a network whose balls are looked for, by the name of its model in config.json."""

from __future__ import annotations

from regulargpt.certificate.search.block_bounds import BlockBounds
from regulargpt.certificate.search.gated_bounds import GatedBlockBounds
from regulargpt.certificate.search.image_bounds import ImageBounds
from regulargpt.certificate.search.ldru_bounds import LdruBounds
from regulargpt.finite.float64_network import Float64Network, Floats, Ints

BOUNDS: dict[str, type[ImageBounds]] = {"regulargpt": BlockBounds, "ldru": LdruBounds}


def image_bounds(network: Float64Network, prototypes: Floats, windows: Ints, images: Ints) -> ImageBounds:
    """What bounds the images of windows (n, C) of prototypes, against the prototypes `images` (n,)."""
    return bounds_of(network)(network, prototypes, windows, images)


def max_entries(network: Float64Network) -> int:
    """How many windows are tried at most."""
    return bounds_of(network).MAX_ENTRIES


def bounds_of(network: Float64Network) -> type[ImageBounds]:
    """What bounds its images: with gates, values depend on the whole window."""
    return GatedBlockBounds if network.options.get("gates") else BOUNDS[network.options["name"]]
