"""DeltaNet, Gated DeltaNet and DeltaProduct: one model and its options."""
