"""Table fine-tuning: train until a certificate holds, and until it holds of the network as it is."""
