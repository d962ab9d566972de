"""xLSTM (Beck et al. 2024): mLSTM, whose state is a matrix, and sLSTM, whose state moves itself."""
