"""Gated linear attention, and RetNet, which is its constant gate."""
