"""The looped Transformer: the same blocks again and again, as often as the word is long or as its logarithm says."""
