"""S4D, a diagonal recurrence that is the same at every symbol."""
