"""Languages above the context-free ones: no machine with one stack answers them."""
