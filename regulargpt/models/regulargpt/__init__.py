"""RegularGPT, one function computed three ways: dense.py (Eq. 6.1), tree.py (the last position), every.py (all)."""

from regulargpt.models.regulargpt.model import RegularGPT

__all__ = ["RegularGPT"]
