"""One run from its config to its summary, and many of them."""
