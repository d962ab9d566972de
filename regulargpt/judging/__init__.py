"""A verdict on a network that was written and trained elsewhere: no training here, and nothing to derive from."""
