"""RegularGPT in three computations: dense.py (Eq. 6.1), all_positions.py, and the tree for the last position."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.model import RegularGPT

__all__ = ["RegularGPT"]


def __getattr__(name: str) -> object:
    # The options beside the network must not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regulargpt.models.regulargpt.model import RegularGPT

    return RegularGPT
