"""PD-SSM: matrices with one entry in each column, times a complex diagonal."""
