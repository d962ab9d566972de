"""Which network that carries a state the weights are: that of graph.json, or by its name in config.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from regulargpt.certificate.checker.chain_delta import Delta
from regulargpt.certificate.checker.chain_gla import Gla
from regulargpt.certificate.checker.chain_linear_rnn import LinearRnn
from regulargpt.certificate.checker.chain_mamba import Mamba
from regulargpt.certificate.checker.chain_mamba2 import Mamba2
from regulargpt.certificate.checker.chain_network import ChainNetwork, Gru, Lstm, Rnn
from regulargpt.certificate.checker.chain_pd_ssm import PdSsm
from regulargpt.certificate.checker.chain_rwkv7 import Rwkv7
from regulargpt.certificate.checker.chain_s4d import S4d
from regulargpt.certificate.checker.chain_xlstm import Xlstm
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.graph import GraphNetwork, is_graph
from regulargpt.certificate.checker.network import whole

NETWORKS: dict[str, type[ChainNetwork]] = {
    "rnn": Rnn,
    "gru": Gru,
    "lstm": Lstm,
    "linear-rnn": LinearRnn,
    "delta": Delta,
    "mamba": Mamba,
    "mamba2": Mamba2,
    "gla": Gla,
    "rwkv7": Rwkv7,
    "mlstm": Xlstm,
    "slstm": Xlstm,
    "pd-ssm": PdSsm,
    "s4d": S4d,
}


def network_of(weights: Mapping[str, Floats], record: Any, of: Callable[[Floats], Any]) -> ChainNetwork:
    """The network of a graph, or that config.json names. Raises Malformed or Rejected for none of the proof's kind."""
    if is_graph(record):
        return GraphNetwork(weights, record, of)
    name = whole(record)["model"].get("name")
    if not isinstance(name, str):
        raise Malformed("config.json names no model")
    if name not in NETWORKS:
        raise Rejected(f"name = {name!r:.40}: the proof is about networks with a name among {', '.join(NETWORKS)}")
    return NETWORKS[name](weights, record, of)
