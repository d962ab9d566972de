"""Stack networks: their proof by the product with the language's machine, in training and at its end."""
