"""Which network the weights are: config.json names it, and its tensors' names and shapes have to agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields
from regulargpt.certificate.checker.gated import GatedRegularGPT
from regulargpt.certificate.checker.ldru import Ldru
from regulargpt.certificate.checker.network import NETWORK, Network
from regulargpt.certificate.checker.regulargpt import RegularGPT

NETWORKS: dict[str, type[Network]] = {"regulargpt": RegularGPT, "gated-regulargpt": GatedRegularGPT, "ldru": Ldru}


def network_of(weights: Mapping[str, Floats], record: Any) -> Network:
    """The network that config.json names. Raises Malformed or Rejected if it is not of the proof's kind."""
    name = fields(record, "config.json", NETWORK)["model"].get("name")
    if not isinstance(name, str):
        raise Malformed("config.json names no model")
    if name not in NETWORKS:
        known = ", ".join(map(repr, NETWORKS))
        raise Rejected(f"name = {name!r:.40}: the proof is about networks with a name among {known}")
    return NETWORKS[name](weights, record)
