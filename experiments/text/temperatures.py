"""What the thesis says of the temperatures that are found: they fall with the length, those by entropy most."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.text.alignment import TEMPERATURE
from experiments.text.claims import Bound, Change, Claim, Lead


def falls(bases: Sequence[str], strategy: str, far: int, near: int) -> Bound:
    """The temperature of every model is lower at the greater length."""
    figures = tuple(Change(TEMPERATURE, f"{base}+{strategy}", far, near) for base in bases)
    return Bound(f"{TEMPERATURE} at {far}x lower than at {near}x", figures, "below", 0.0)


def temperatures_fall(bases: Sequence[str], section: str, far: int = 16, near: int = 2) -> tuple[Claim, Claim, Claim]:
    """Of rows that are called as the model is, with the strategy behind it.

    >>> [claim.sentence for claim in temperatures_fall(["t5"], "thesis, section 5.7")][2]
    'Entropy lowers the temperature more than P_max does.'
    """
    lower = tuple(Lead(TEMPERATURE, f"{base}+entropy", f"{base}+p_max", far) for base in bases)
    return (
        Claim("The temperature by P_max falls with the length.", section, (falls(bases, "p_max", far, near),)),
        Claim("The temperature by entropy falls with the length.", section, (falls(bases, "entropy", far, near),)),
        Claim(
            "Entropy lowers the temperature more than P_max does.",
            section,
            (Bound(f"lower at {far}x", lower, "below", 0.0),),
        ),
    )
