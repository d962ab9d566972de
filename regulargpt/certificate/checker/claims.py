"""What an accepted certificate proves, in words."""

from __future__ import annotations

import json
from collections.abc import Sequence

from regulargpt.certificate.checker.machine import Side


def claim(alphabet: Sequence[str], chunk_size: int, n_prototypes: int, total: bool, aligned: Side = "right") -> str:
    """What is proven of the quantised network; `total` if the automaton has an answer to every word.

    Of trees without a word about it the chunks are counted from the right.

    >>> claim(["0", "1"], 2, 2, total=True)[:66]
    'For every word over {"0", "1"} of at least one symbol, the network'
    """
    condition = "" if total else " on which the automaton has an answer"
    counted = "" if aligned == "right" else " counted from the left"
    symbols = ", ".join(map(quoted, alphabet))
    return (
        f"For every word over {{{symbols}}} of at least one symbol{condition}, the network answers as the "
        f"automaton does, when it is computed as a tree with chunks of {chunk_size}{counted} in real arithmetic and "
        f"the state of every node above the symbols is replaced by the nearest of {n_prototypes} prototypes."
    )


def unquantised_claim(slack: float) -> str:
    """What balls that are mapped into themselves prove of the network as it is.

    >>> unquantised_claim(0.03)[:44]
    'The same holds of the network as it is, with'
    """
    return (
        "The same holds of the network as it is, without replacing any state, in real arithmetic. It holds too in any "
        f"arithmetic that moves the state of each node above the symbols by at most {slack!r}, and changes no choice "
        "of the readout. A move is measured from the exact value of the network's function: at the first level of the "
        "exact states of the symbols, above it of the states as they were computed."
    )


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
