"""What learns, and what can be said about what it learned."""
