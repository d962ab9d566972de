"""What an accepted certificate proves, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regulargpt.certificate.checker.forests import Side

NETWORK, OF_GRAPH = "the network", "the function in graph.json"


def claim(
    alphabet: Sequence[str],
    chunk_size: int,
    n_prototypes: int,
    total: bool,
    aligned: Side = "right",
    direction: Sequence[int] | None = None,
) -> str:
    """What is proven of the quantised network; `total` if the automaton has an answer to every word.

    Of trees without a word about it the chunks are counted from the right. With a `direction` of each symbol, 1 of a
    call and -1 of a return, the tree follows the brackets.

    >>> claim(["0", "1"], 2, 2, total=True)[:66]
    'For every word over {"0", "1"} of at least one symbol, the network'
    """
    condition = "" if total else " on which the automaton has an answer"
    counted = "" if aligned == "right" else " counted from the left"
    words, tree = f"every word over {{{listed(alphabet)}}}", "a tree"
    if direction is not None:
        calls, returns = (listed(x for x, d in zip(alphabet, direction, strict=True) if d == kind) for kind in (1, -1))
        words += ", of whatever length and depth,"
        tree += f" that follows the brackets (calls {{{calls}}}, returns {{{returns}}})"
    return (
        f"For {words} of at least one symbol{condition}, the network answers as the "
        f"automaton does, when it is computed as {tree} with chunks of {chunk_size}{counted} in real arithmetic and "
        f"the state of every node above the symbols is replaced by the nearest of {n_prototypes} prototypes."
    )


def unquantised_claim(slack: float, nested: bool = False) -> str:
    """What balls that are mapped into themselves prove of the network as it is; `nested` if its tree follows brackets.

    >>> unquantised_claim(0.03)[:44]
    'The same holds of the network as it is, with'
    """
    exact = (
        "of symbols the exact states, of other nodes"
        if nested
        else ("at the first level of the exact states of the symbols, above it of")
    )
    return (
        "The same holds of the network as it is, without replacing any state, in real arithmetic. It holds too in any "
        f"arithmetic that moves the state of each node above the symbols by at most {slack!r}, and changes no choice "
        f"of the readout. A move is measured from the exact value of the network's function: {exact} the states "
        "as they were computed."
    )


def stack_claim() -> str:
    """What the product proves of a network with a stack.

    >>> stack_claim()[:56]
    'For every word that the machine in automaton.json has mo'
    """
    return (
        "For every word that the machine in automaton.json has moves for, of every length, the network answers as it "
        "does at every position where it has an answer, computed symbol by symbol with argmax actions and signs: in "
        "real arithmetic, and in IEEE float32 with sums in any order."
    )


def chain_claim(alphabet: Sequence[str], n_points: int, total: bool, network: str = NETWORK) -> str:
    """What is proven of a network that carries a state, replaced by the nearest of some points after each symbol;
    `total` if the automaton has an answer to every word.

    >>> chain_claim(["0", "1"], 2, total=True)[:66]
    'For every word over {"0", "1"} of at least one symbol, the network'
    """
    condition = "" if total else " on which the automaton has an answer"
    return (
        f"For every word over {{{listed(alphabet)}}} of at least one symbol{condition}, {network} answers as the "
        "automaton does, when it reads symbol by symbol in real arithmetic and the state that it carries on is "
        f"replaced by the nearest of {n_points} point{'s' * (n_points > 1)} after each symbol and the answer to it."
    )


def unquantised_chain_claim(slack: float) -> str:
    """What boxes that are mapped into each other prove of such a network as it is.

    >>> unquantised_chain_claim(0.03)[:44]
    'The same holds of the network as it is, with'
    """
    return (
        "The same holds of the network as it is, without replacing any state, in real arithmetic. It holds too in any "
        f"arithmetic that moves each number of the state by at most {slack!r} after each symbol, and changes no choice "
        "of the readout. A move is measured from the exact value of the network's function of the state before, as it "
        "was computed."
    )


def refutation_claim(
    words: Mapping[str, Sequence[str]],
    start: int,
    period: int,
    residue: int,
    given: str,
    right: str,
    network: str = NETWORK,
) -> str:
    """What is proven of a network that is wrong on u v^n w from n = `start` on, at a residue mod a period.

    >>> words = {"u": [], "v": ["0", "1"], "w": ["0"]}
    >>> said = refutation_claim(words, 119, 2, 1, "even", "odd")
    >>> said[:106]
    'For every whole number n >= 119 with n = 1 mod 2: to the word u v^n w, with u empty, v = "0" "1", w = "0",'
    >>> said[107:184]
    'the network answers "even" in real arithmetic, and the automaton answers "odd'
    """
    which = "" if period == 1 else f" with n = {residue} mod {period}"
    parts = [f"{name} = {' '.join(map(quoted, word))}" if word else f"{name} empty" for name, word in words.items()]
    return (
        f"For every whole number n >= {start}{which}: to the word u v^n w, with {', '.join(parts)}, {network} "
        f"answers {quoted(given)} in real arithmetic, and the automaton answers {quoted(right)}. A program that rounds "
        "may answer otherwise."
    )


def called(network: Any) -> str:
    """What claims call a network, by its file: config.json, or graph.json, which says its function itself.

    >>> called({"format": "regulargpt graph 1"}), called({"model": {}})
    ('the function in graph.json', 'the network')
    """
    is_graph = isinstance(network, dict) and str(network.get("format", "")).startswith("regulargpt graph")
    return OF_GRAPH if is_graph else NETWORK


def listed(symbols: Iterable[str]) -> str:
    """Symbols, between commas."""
    return ", ".join(map(quoted, symbols))


def quoted(symbol: str) -> str:
    """A symbol as JSON in ASCII: nothing in it ends the list that it stands in, or the line.

    >>> print(quoted('a, "b"'), quoted(chr(10)))
    "a, \\"b\\"" "\\n"
    """
    return json.dumps(symbol)


def language_claim(name: str) -> str:
    """What it means that the automaton is that of a named language.

    >>> language_claim("parity")
    'The automaton answers every word of at least one symbol as the language parity does.'
    """
    return f"The automaton answers every word of at least one symbol as the language {name} does."
