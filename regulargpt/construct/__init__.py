"""Weights that compute a language exactly, without training: Lemma 6.1 of the thesis inside a RegularGPT.

lemma.py is the lemma as printed; representation.py says what a way of writing monoid elements has to bring, matrix.py
and one_hot.py are the two ways, nested.py is the second along brackets, weights.py puts them in a RegularGPT,
configuration.py makes the run's config of it.
"""
