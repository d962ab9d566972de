"""What the thesis says of the temperatures that are found: they fall with the length, those by entropy most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments.claims import Bound, falls, leads
from regulargpt.text.experiments.alignment import TEMPERATURE


def temperatures_fall(base: str, far: int = 16, near: int = 2, of: str = "") -> Mapping[str, Bound]:
    """Of rows that are called as the model is, with the strategy behind it.

    >>> list(temperatures_fall("line/t5", of="line"))[2]
    'Entropy lowers the temperature more than P_max does: line.'
    """
    end, p_max, entropy = f": {of}." if of else ".", f"{base}+p_max", f"{base}+entropy"
    return {
        f"The temperature by P_max falls with the length{end}": falls(TEMPERATURE, p_max, far=far, near=near),
        f"The temperature by entropy falls with the length{end}": falls(TEMPERATURE, entropy, far=far, near=near),
        f"Entropy lowers the temperature more than P_max does{end}": replace(
            leads(TEMPERATURE, entropy, p_max, at=far), side="below"
        ),
    }
