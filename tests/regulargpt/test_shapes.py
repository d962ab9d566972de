"""The shapes written in the annotations, checked by beartype while every model runs."""

import subprocess
import sys

CODE = """
from jaxtyping import install_import_hook
with install_import_hook(["regulargpt.encodings", "regulargpt.models", "regulargpt.models.hooks"], "beartype.beartype"):
    import torch
    from regulargpt.encodings import ENCODINGS
    from regulargpt.models.hooks import run_with_cache
    from regulargpt.models.gru import Gru
    from regulargpt.models.linear_rnn import LinearRnn
    from regulargpt.models.lstm import Lstm
    from regulargpt.models.rnn import Rnn
    from regulargpt.models.transformer import Transformer
    from regulargpt.models.transformer.encoder_decoder import EncoderDecoder
models = [cls(3, 4, d_model=8) for cls in (Rnn, Lstm, Gru, LinearRnn)]
models += [
    Transformer(3, 4, d_model=8, n_heads=2, d_ff=16, n_layers=2, norm=norm, dropout=0.5, causal=c, encoding=e)
    for norm, c in (("pre", True), ("post", False)) for e in ENCODINGS
    if c or not ENCODINGS[e].options.causal_only
]
both_ways = [
    EncoderDecoder(3, 4, d_model=8, n_heads=2, d_head=6, d_ff=16, dropout=0.5, encoding=e)
    for e in ENCODINGS if not ENCODINGS[e].options.causal_only
]
for length in (1, 5):
    for model in both_ways:
        words = torch.zeros(2, length, dtype=torch.long)
        assert run_with_cache(model, words)[0].shape == (2, 4)
        assert model.answers(words, length).shape == (2, length, 4)
    words = torch.zeros(2, length, dtype=torch.long)
    for model in models:
        assert model(words).shape == (2, 4)
        assert run_with_cache(model, words, readout="all")[0].shape == (2, length, 4)
try:
    models[0](words.double())
except Exception as error:
    print(type(error).__name__)
"""


def test_every_annotated_shape_holds():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "TypeCheckError\n"), done.stderr
