"""What was measured: one short file an experiment, with its protocol."""
