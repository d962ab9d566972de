"""Nested words: languages above the regular ones, whose brackets are visible."""
