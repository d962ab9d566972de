"""Mamba-2 and Mamba-3: a matrix that decays by one number a head, and in Mamba-3 turns."""
