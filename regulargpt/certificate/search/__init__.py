"""The search for a proof: codebook, levels, table and balls. What it finds is believed only after the checker."""
