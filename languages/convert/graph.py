"""networkx graphs: a node for each state, an edge for each transition, keyed by its symbol."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast

from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.convert.reading import AS_WRITTEN, Reading, checked
from languages.errors import AutomatonError

if TYPE_CHECKING:
    from networkx import Graph, MultiDiGraph


def to_networkx(machine: Semiautomaton) -> "MultiDiGraph[str]":
    """The machine as a directed multigraph.

    Edge keys are symbols; the graph's attributes are `alphabet`, and for a Dfa `initial`, for a Moore machine
    also `output_names`. Nodes have `accepting` (Dfa) or `output` (Moore, a name or None).

    >>> graph = to_networkx(Dfa(("even", "odd"), "01", ((0, 1), (1, 0)), "even", {"even"}))
    >>> sorted(graph.edges(keys=True)), graph.nodes["odd"]
    ([('even', 'even', '0'), ('even', 'odd', '1'), ('odd', 'even', '1'), ('odd', 'odd', '0')], {'accepting': False})
    """
    from networkx import MultiDiGraph

    graph: MultiDiGraph[str] = MultiDiGraph(alphabet=machine.alphabet)
    for i, state in enumerate(machine.states):
        graph.add_node(state, **_attributes(machine, i))
    for state, row in machine.transitions.items():
        for symbol, target in row.items():
            graph.add_edge(state, target, key=symbol)
    if isinstance(machine, Dfa | MooreMachine):
        graph.graph["initial"] = machine.initial
    if isinstance(machine, MooreMachine):
        graph.graph["output_names"] = machine.output_names
    return graph


def _attributes(machine: Semiautomaton, i: int) -> dict[str, Any]:
    if isinstance(machine, Dfa):
        return {"accepting": bool(machine.is_accepting[i])}
    if isinstance(machine, MooreMachine):
        return {"output": machine.named_outputs[machine.states[i]]}
    return {}


def from_networkx(graph: "MultiDiGraph[Any] | Graph[Any]", how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine of a graph as `to_networkx` makes it: a Moore machine if it has `output_names`, else a Dfa.

    AutomatonError: no `initial`, a symbol twice from one state, no node with `accepting`, and whatever the machine's
    constructor refuses.
    """
    from networkx import MultiDiGraph

    if not isinstance(graph, MultiDiGraph):
        raise AutomatonError(
            f"{type(graph).__name__} is no MultiDiGraph, whose edges have symbols as their keys; give one"
        )
    initial = graph.graph.get("initial")
    if initial is None:
        raise AutomatonError("the graph has no attribute 'initial'; set graph.graph['initial'] to a state")
    # Nodes may be of any type; states are names.
    delta: dict[str, dict[str, str]] = {str(node): {} for node in graph.nodes}
    edges = cast("list[tuple[Hashable, Hashable, Hashable]]", list(graph.edges(keys=True)))
    for source, target, symbol in edges:
        if symbol in delta[str(source)]:
            raise AutomatonError(
                f"state {source!r} has two transitions for {symbol!r}; a deterministic machine has one"
            )
        delta[str(source)][str(symbol)] = str(target)
    states = tuple(delta)
    symbols = tuple(graph.graph.get("alphabet", sorted({str(symbol) for _, _, symbol in edges})))
    names = graph.graph.get("output_names")
    if names is None:
        accepting = {str(node) for node, flag in graph.nodes(data="accepting") if flag}
        return checked(Dfa(states, symbols, delta, str(initial), accepting), how)
    outputs = dict(graph.nodes(data="output"))
    given = {str(node): outputs[node] for node in graph.nodes}
    return checked(MooreMachine.from_outputs(states, symbols, delta, str(initial), given, tuple(names)), how)
