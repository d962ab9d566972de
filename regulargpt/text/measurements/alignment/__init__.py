"""Attention alignment (thesis, chapter 5): attention flattens in longer words; a temperature mends it."""
