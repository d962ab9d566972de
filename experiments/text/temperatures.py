"""What the thesis says of the temperatures that are found: they fall with the length, those by entropy most."""

from __future__ import annotations

from experiments.claims import Bound, Claim, change, lead
from experiments.text.alignment import TEMPERATURE


def falls(base: str, strategy: str, far: int, near: int) -> Bound:
    """The temperature is lower at the greater length."""
    fall = change(TEMPERATURE, f"{base}+{strategy}", far, near)
    return Bound((fall,), "below", 0.0)


def temperatures_fall(
    base: str, section: str, far: int = 16, near: int = 2, of: str = ""
) -> tuple[Claim, Claim, Claim]:
    """Of rows that are called as the model is, with the strategy behind it.

    >>> [claim.sentence for claim in temperatures_fall("line/t5", "thesis, section 5.7", of="line")][2]
    'Entropy lowers the temperature more than P_max does: line.'
    """
    end = f": {of}." if of else "."
    lower = Bound((lead(TEMPERATURE, f"{base}+entropy", f"{base}+p_max", far),), "below", 0.0)
    return (
        Claim(f"The temperature by P_max falls with the length{end}", section, (falls(base, "p_max", far, near),)),
        Claim(f"The temperature by entropy falls with the length{end}", section, (falls(base, "entropy", far, near),)),
        Claim(f"Entropy lowers the temperature more than P_max does{end}", section, (lower,)),
    )
