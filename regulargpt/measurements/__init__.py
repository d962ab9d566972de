"""What a trained network has learned, read from the inside: states, their clusters, receptive fields."""
