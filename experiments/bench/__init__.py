"""Speed and memory side by side in one process, as ratios with their spread: `python -m experiments.bench [CASE...]`.

A case is a function that yields rows; all rows make one table.

regular   RegularGPT by its tree, plain tree, shifted copies and dense masks
rates     labelled symbols a second, and steps of training a second
text      language models: training, decoding, long texts
rivals    networks that carry a state: steps of training, chunks over loops, memory of long words
timing    variants in turn, and rows
memory    peak memory, in a process of its own
masked    RegularGPT by masked attention: what it is measured against
subjects  models, words, and what is done with them
"""
