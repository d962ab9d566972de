"""Mamba: the selective state space model."""
