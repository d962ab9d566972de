"""The pages of runs on texts, and of measurements of the wing."""
