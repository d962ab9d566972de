"""The finite table of a network: windows, levels, tests of equality, and L* on its answers."""
