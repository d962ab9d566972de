"""Words of a given length: counted exactly, drawn uniformly, near misses, and the samplers of published code."""
