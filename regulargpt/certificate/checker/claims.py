"""What an accepted certificate proves, in words."""

from __future__ import annotations

from collections.abc import Sequence


def claim(alphabet: Sequence[str], chunk_size: int, n_prototypes: int, total: bool) -> str:
    """What is proven of the quantised network; `total` if the automaton has an answer to every word.

    >>> claim(["0", "1"], 2, 2, total=True)[:62]
    'For every word over {0, 1} of at least one symbol, the network'
    """
    asked = "" if total else " on which the automaton has an answer"
    return (
        f"For every word over {{{', '.join(alphabet)}}} of at least one symbol{asked}, the network answers as the "
        f"automaton does, when it is computed as a tree with chunks of {chunk_size} in real arithmetic and the state "
        f"of every node is replaced by the nearest of {n_prototypes} prototypes."
    )


def unquantised_claim(slack: float) -> str:
    """What balls that are mapped into themselves prove of the network as it is.

    >>> unquantised_claim(0.03)[:44]
    'The same holds of the network as it is, with'
    """
    return (
        "The same holds of the network as it is, without replacing any state, in real arithmetic, and in any "
        f"arithmetic whose rounding moves each state that the block returns by at most {slack} and changes no choice "
        "of the readout."
    )


def language_claim(name: str) -> str:
    """What it means that the automaton is that of a named language.

    >>> language_claim("parity")
    'The automaton answers every word of at least one symbol as the language parity does.'
    """
    return f"The automaton answers every word of at least one symbol as the language {name} does."
