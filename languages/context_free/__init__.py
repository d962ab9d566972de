"""Context-free languages with visible brackets: one file a family, each with its machine and a grammar to draw from."""
