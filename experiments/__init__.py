"""What was published: one short file a table or figure."""
