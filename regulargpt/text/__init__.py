"""The text laboratory: corpora, decoders, checkpoints of others, retrieval, methods for length, and their measurements.

The core knows nothing of this wing: it comes in by the entry points of pyproject.toml, as a user's package does.

corpora          texts and retrieval tasks by name; numpy, never torch
data             segments and documents to train and test on
objectives       the next symbol, the answers to questions
decoders         decoder-only models, and checkpoints of GPT-2, GPT-NeoX, Llama, Mistral and Qwen
encoder_decoder  T5
evaluation       what a test on a text is held against; methods that make a trained network read longer texts
measurements     one file a measurement, as in the core
cli              the verbs, and what `show`, `list` and `sample` say of texts
classroom        the pages
experiments      the tables and figures about texts, for `regulargpt reproduce`
"""
