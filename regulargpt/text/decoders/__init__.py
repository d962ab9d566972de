"""Decoders as others train them (GPT-2, Pythia, Llama, Mistral, Qwen): the model, and how their folders are read."""
