"""What a model scores at each length, and what simple rules score there."""
