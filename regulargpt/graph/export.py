"""A network that carries a state, as graph.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.certificate.checker.doubles import known
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.graph import FORMAT, GraphNetwork
from regulargpt.finite.chain import Chain, chain_of, real, tensors
from regulargpt.graph.recorder import Recorder
from regulargpt.graph.translations import TRANSLATIONS
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.models.mixing.model import Mixing

WORDS, LENGTH = 16, 12  # words whose states show whether the graph computes what torch does
CLOSE = 1e-9


def export(chain: Chain, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> dict[str, Any]:
    """graph.json of a step of a network: its function of the state and of a symbol, in real arithmetic.

    Raises UserError, with the place in the network's code, for an operation that graph.json does not have, for a branch
    on a number, and for a network that does not compute what the graph says.

    >>> from regulargpt.models.gru import Gru
    >>> graph = export(Chain(Gru(2, 2, d_model=4)), ("0", "1"), ("even", "odd"))
    >>> graph["nodes"][0], len(graph["start"])
    ({'op': 'state'}, 4)
    """
    weights = weights_of(chain.model)
    for module in chain.model.modules():
        if isinstance(module, Mixer):
            module.along = module.loop  # symbol by symbol: a faster form is another program
    recorder = Recorder(weights, TRANSLATIONS, len(alphabet))
    start, symbols = start_of(chain), torch.zeros(1, dtype=torch.long)
    state = start.clone()
    recorder.note(state, recorder.node("state"))
    recorder.note(state, recorder.node("reshape", state, shape=[1, chain.dimension]))
    recorder.symbols[id(symbols)] = symbols, 0
    with torch.no_grad(), recorder:
        found = chain.step(state, symbols)
    outs = [recorder.node("reshape", x, shape=[x.shape[1]]) for x in found]
    graph = {
        "format": FORMAT,
        "alphabet": [*alphabet],
        "output_names": [*output_names],
        "start": start[0].tolist(),
        **pruned(recorder.nodes, *outs),
    }
    refuse_another(chain, start, graph, {name: tensor.detach().numpy() for name, tensor in weights.items()})
    return graph


def written(model: nn.Module, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> bytes:
    """graph.json of a model that carries a state, as a file. Raises UserError where it has none."""
    return text(export(chain_of(model, len(alphabet)), alphabet, output_names))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights by their names; of a module from elsewhere (`own`) those that its author gave them."""
    own: Any = getattr(model, "own", model)
    return {name: x for name, x in own.state_dict(keep_vars=True).items() if x.is_floating_point()}


def pruned(nodes: list[dict[str, Any]], logits: int, after: int) -> dict[str, Any]:
    """The nodes that the outputs need, numbered anew."""
    needed, new = {logits, after}, dict[int, int]()
    for at in reversed(range(len(nodes))):
        needed |= set(nodes[at].get("of", [])) if at in needed else set()
    kept = []
    for at in sorted(needed):
        new[at] = len(kept)
        of = {"of": [new[i] for i in nodes[at]["of"]]} if "of" in nodes[at] else {}
        kept.append({**nodes[at], **of})
    return {"nodes": kept, "logits": new[logits], "after": new[after]}


def start_of(chain: Chain) -> Float[Tensor, "1 D"]:
    """The state before the first symbol: the model's own `start`, else zeros."""
    model: Any = chain.model
    state = model.start(1) if hasattr(model, "start") else None
    if isinstance(model, Mixing):
        blocks: Any = model.blocks
        state = [block.mixer.start(1) for block in blocks]
    if state is None:
        return torch.zeros(1, chain.dimension, dtype=torch.float64)
    return torch.cat([real(part).reshape(1, -1) for part in tensors(state)], 1).to(torch.float64)  # (1, D)


def refuse_another(
    chain: Chain, start: Float[Tensor, "1 D"], graph: Mapping[str, Any], weights: Mapping[str, Floats]
) -> None:
    """Raise UserError unless the graph and torch compute the same, after some words and each symbol."""
    n_symbols = len(graph["alphabet"])
    words = torch.from_numpy(rng(0, "graph").integers(n_symbols, size=(WORDS, LENGTH)))
    states = chain.along(words)[1].reshape(-1, chain.dimension)  # (words * length, D)
    try:
        network = GraphNetwork(weights, graph)
        for symbol in range(n_symbols):
            first, at = torch.tensor([symbol] * 2), torch.full((len(states),), symbol)
            for given, theirs in ((start.repeat(2, 1), chain.first(first)), (states, chain.step(states, at))):
                ours = network.step(known(given.numpy()), np.full(len(given), symbol))
                far = max(distance(a.middle, b.numpy()) for a, b in zip(ours, theirs, strict=True))
                if not far <= CLOSE:
                    raise UserError(
                        f"{chain.name}: its step computes something else than its graph, by {far:.3g}: it may branch "
                        "on the symbol or on a number, round to float32, or begin with another state than zeros"
                    )
    except (Malformed, Rejected) as error:
        raise UserError(f"{chain.name}: {error}") from error


def distance(a: Floats, b: Floats) -> float:
    """The largest difference, as a share of 1 + |b|; infinite where one is no number."""
    return float(np.nan_to_num(abs(a - b) / (1 + abs(b)), nan=np.inf).max())


def text(graph: Mapping[str, Any]) -> bytes:
    """The file: a line for each node."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in graph.items() if key != "nodes"]
    nodes = ",\n".join(f"    {json.dumps(node)}" for node in graph["nodes"])
    return ("{\n" + ",\n".join(lines) + ',\n  "nodes": [\n' + nodes + "\n  ]\n}\n").encode()
