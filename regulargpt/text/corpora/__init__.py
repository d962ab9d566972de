"""Texts to learn: `corpus("text:code")`. Symbols are bytes, or the tokens of a user's tokenizer. Never imports torch.

text:code          the Python sources of networkx, the default
text:code-large    those of networkx, numpy and scikit-learn
text:recurrent     made text in which names come back at known distances
text:PATH          a file or folder of the user's
hf:NAME            a data set of the Hugging Face hub, or a data set saved on disk (the extra `hf`)
"""

from regulargpt.text.corpora.corpus import Corpus, Symbols
from regulargpt.text.corpora.registry import corpus, listing

__all__ = ["Corpus", "Symbols", "corpus", "listing"]
