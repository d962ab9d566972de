"""The networks whose balls are looked for, by the name in config.json, each with what bounds its images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regulargpt.certificate.search.block_bounds import BlockBounds
from regulargpt.certificate.search.gated_bounds import GatedBlockBounds
from regulargpt.certificate.search.image_bounds import ImageBounds
from regulargpt.certificate.search.ldru_bounds import LdruBounds
from regulargpt.certificate.search.numpy_ldru import NumpyLdru
from regulargpt.certificate.search.numpy_network import Floats, Ints, NumpyNetwork
from regulargpt.certificate.search.numpy_regulargpt import NumpyGatedRegularGPT, NumpyRegularGPT

NETWORKS: dict[str, tuple[type[NumpyNetwork], type[ImageBounds]]] = {
    "regulargpt": (NumpyRegularGPT, BlockBounds),
    "gated-regulargpt": (NumpyGatedRegularGPT, GatedBlockBounds),
    "ldru": (NumpyLdru, LdruBounds),
}


def numpy_network(weights: Mapping[str, Floats], model: Mapping[str, Any]) -> NumpyNetwork:
    """The network with these weights; `model` are its options in config.json."""
    return NETWORKS[model["name"]][0](weights, model)


def image_bounds(network: NumpyNetwork, prototypes: Floats, windows: Ints, images: Ints) -> ImageBounds:
    """What bounds the images of windows (n, C) of prototypes, against the prototypes `images` (n,)."""
    return NETWORKS[network.model["name"]][1](network, prototypes, windows, images)


def max_entries(network: NumpyNetwork) -> int:
    """How many windows are tried at most."""
    return NETWORKS[network.model["name"]][1].MAX_ENTRIES
