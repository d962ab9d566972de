"""What the recurrences that mix symbols share: blocks, short convolutions, one chunked algorithm."""
