"""Which network the weights are, by its name in config.json, and what bounds its images.

The names and shapes of its tensors have to agree with the name, in each network's own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regulargpt.certificate.checker.balls import Balls
from regulargpt.certificate.checker.block_bounds import CheckedBlockBounds
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.image_bounds import CheckedImageBounds
from regulargpt.certificate.checker.ldru import Ldru
from regulargpt.certificate.checker.ldru_bounds import CheckedLdruBounds
from regulargpt.certificate.checker.network import Network, whole
from regulargpt.certificate.checker.regulargpt import RegularGPT

# Each with what bounds its images.
NETWORKS: dict[str, tuple[type[Network], type[CheckedImageBounds[Any]]]] = {
    "regulargpt": (RegularGPT, CheckedBlockBounds),
    "ldru": (Ldru, CheckedLdruBounds),
}


def network_of(weights: Mapping[str, Floats], record: Any) -> Network:
    """The network that config.json names. Raises Malformed or Rejected if it is not of the proof's kind."""
    name = whole(record)["model"].get("name")
    if not isinstance(name, str):
        raise Malformed("config.json names no model")
    if name not in NETWORKS:
        known = ", ".join(map(repr, NETWORKS))
        raise Rejected(f"name = {name!r:.40}: the proof is about networks with a name among {known}")
    return NETWORKS[name][0](weights, record)


def bounds_of(network: Network, prototypes: Any, radii: Balls) -> CheckedImageBounds[Any]:
    """What bounds the images of the network, for states in balls of `radii` (K,) around `prototypes` (K, d)."""
    return NETWORKS[network.model["name"]][1](network, prototypes, radii)
