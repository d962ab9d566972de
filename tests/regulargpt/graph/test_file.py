"""graph.json from strangers: read strictly, in bounds, and refused in one line where anything is not understood."""

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from regulargpt.certificate.checker.doubles import known
from regulargpt.certificate.checker.files import Malformed, Rejected, parsed
from regulargpt.certificate.checker.graph import GraphNetwork

WEIGHTS = {"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([0.5, -0.5])}
# h' = tanh(h w + b + row of the symbol), logits h'.
GRAPH: dict[str, Any] = {
    "format": "regulargpt graph 1",
    "alphabet": ["0", "1"],
    "output_names": ["no", "yes"],
    "start": [0.0, 0.25],
    "nodes": [
        {"op": "state"},
        {"op": "weight", "name": "w"},
        {"op": "reshape", "of": [0], "shape": [1, 2]},
        {"op": "product", "of": [2, 1]},
        {"op": "reshape", "of": [3], "shape": [2]},
        {"op": "numbers", "shape": [2, 2], "values": [1.0, 0.0, 0.0, 1.0]},
        {"op": "row", "of": [5]},
        {"op": "add", "of": [4, 6]},
        {"op": "weight", "name": "b"},
        {"op": "add", "of": [7, 8]},
        {"op": "tanh", "of": [9]},
    ],
    "logits": 10,
    "after": 10,
}


def test_a_graph_is_what_it_says():
    network = GraphNetwork(WEIGHTS, parsed(json.dumps(GRAPH).encode(), "it"))
    states, symbols = np.array([[0.0, 0.25], [1.0, -1.0]]), np.array([0, 1])
    logits, after = network.step(known(states), symbols)
    right = np.tanh(states @ WEIGHTS["w"] + np.eye(2)[symbols] + WEIGHTS["b"])
    assert after is logits
    assert (abs(after.middle - right) <= after.radius + 1e-15).all()
    assert (network.D, network.first_state().tolist(), network.layers) == (2, [0.0, 0.25], 1)
    assert network.work() > 0


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Put a value at a place, as in nodes/3/of."""

    def made(record: dict[str, Any]) -> None:
        *way, last = path.split("/")
        at: Any = record
        for key in way:
            at = at[int(key)] if isinstance(at, list) else at[key]
        at[int(last) if isinstance(at, list) else last] = value

    return made


MALFORMED = {
    "another format": (change("format", "regulargpt graph 2"), "not 'regulargpt graph 1'"),
    "an unknown key": (change("more", 1), "unknown key 'more'"),
    "an unknown operation": (change("nodes/10/op", "sort"), "the operation 'sort' is not known"),
    "an operation that is no name": (change("nodes/10/op", 3), "the operation 3 is not known"),
    "a node that is no object": (change("nodes/10", []), "the operation None is not known"),
    "a later node": (change("nodes/3/of", [2, 7]), "names nodes before it"),
    "a node before the first": (change("nodes/3/of", [2, -1]), "names nodes before it"),
    "yes for a node": (change("nodes/3/of", [2, True]), "names nodes before it"),
    "too few values": (change("nodes/7/of", [4]), "add takes 2 values, not 1"),
    "no values": (change("nodes/10/of", []), "tanh takes 1 values, not 0"),
    "an option too many": (change("nodes/10/axis", -1), "unknown key 'axis'"),
    "an option too few": (change("nodes/2", {"op": "reshape", "of": [0]}), "has no 'shape'"),
    "a shape of fractions": (change("nodes/2/shape", [1.0, 2]), "is not a list of at most 8 whole numbers"),
    "a shape of nine axes": (change("nodes/2/shape", [1] * 8 + [2]), "is not a list of at most 8 whole numbers"),
    "no axis": (change("nodes/2/shape", []), "a shape has one axis or more"),
    "an empty axis": (change("nodes/5/shape", [2, 0]), "a shape has one axis or more"),
    "another shape": (change("nodes/2/shape", [1, 3]), "2 numbers have no shape [1, 3]"),
    "too few numbers": (change("nodes/5/values", [1.0]), "1 numbers have no shape [2, 2]"),
    "a tensor that is not there": (change("nodes/1/name", "v"), "reads the tensor 'v', which the weights have not"),
    "a row of the state": (change("nodes/6/of", [4]), "'row' is of a constant with a row for each symbol"),
    "too few rows": (change("nodes/5", {"op": "numbers", "shape": [1, 2], "values": [1, 0]}), "with a row for each"),
    "logits of another size": (change("logits", 2), "where it should give 2"),
    "a state of another size": (change("after", 3), "where it should give 2"),
    "constant logits": (change("logits", 8), "where it should give 2"),
    "an output behind the end": (change("after", 11), "'logits' and 'after' name nodes"),
    "no nodes": (change("nodes", []), "has 0 nodes"),
    "too many nodes": (change("nodes", [{"op": "state"}] * 5000), "has 5,000 nodes"),
    "no start": (change("start", []), "0 numbers have no shape"),
    "a start that is no number": (change("start", ["0", 1]), "holds something that is no number"),
    "names that are none": (change("alphabet", [0, 1]), "'alphabet' is not a list of names"),
    "no answers": (change("output_names", []), "'output_names' is not a list of names"),
}


@pytest.mark.parametrize(("made", "message"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_graph_is_malformed(made: Callable[[dict[str, Any]], None], message: str):
    record = copy.deepcopy(GRAPH)
    made(record)
    with pytest.raises(Malformed, match=re.escape(message)) as refused:
        GraphNetwork(WEIGHTS, record).step(known(np.zeros((1, 2))), np.array([0]))
    assert "\n" not in str(refused.value)


def test_weights_that_are_not_finite_are_refused():
    with pytest.raises(Malformed, match="not finite"):
        GraphNetwork({**WEIGHTS, "b": np.array([np.nan, 0.0])}, GRAPH)


def test_a_step_that_would_fill_the_memory_is_rejected_before_it_is_made():
    """2^19 numbers a value, four thousand values: 16 GiB, were they made."""
    record = copy.deepcopy(GRAPH)
    record["nodes"].append({"op": "broadcast", "of": [10], "shape": [1 << 18, 2]})
    record["nodes"] += [{"op": "tanh", "of": [at]} for at in range(11, 4000)]
    with pytest.raises(Rejected, match="numbers or more; at most 1,048,576 are checked"):
        GraphNetwork(WEIGHTS, record)
