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
from regulargpt.certificate.search.numpy_regulargpt import NumpyRegularGPT

NETWORKS: dict[str, tuple[type[NumpyNetwork], type[ImageBounds]]] = {
    "regulargpt": (NumpyRegularGPT, BlockBounds),
    "ldru": (NumpyLdru, LdruBounds),
}


def numpy_network(weights: Mapping[str, Floats], model: Mapping[str, Any]) -> NumpyNetwork:
    """The network with these weights; `model` are its options in config.json."""
    return NETWORKS[model["name"]][0](weights, model)


def image_bounds(network: NumpyNetwork, prototypes: Floats, windows: Ints, images: Ints) -> ImageBounds:
    """What bounds the images of windows (n, C) of prototypes, against the prototypes `images` (n,)."""
    return bounds_of(network)(network, prototypes, windows, images)


def max_entries(network: NumpyNetwork) -> int:
    """How many windows are tried at most."""
    return bounds_of(network).MAX_ENTRIES


def bounds_of(network: NumpyNetwork) -> type[ImageBounds]:
    """What bounds its images: with gates, values depend on the whole window."""
    return GatedBlockBounds if network.model.get("gates") else NETWORKS[network.model["name"]][1]
