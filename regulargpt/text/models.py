"""The models of the wing: their rows, which entry points name. Nothing here imports torch."""

from __future__ import annotations

from regulargpt.models.recipes import Recipes
from regulargpt.options.registry import Row
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.encoder_decoder.options import EncoderDecoderOptions

BETA2 = {"training.beta2": 0.999}
# As wide and deep as the Transformer on texts; a gated FFN has three matrices, so it has two thirds of the units.
OF_DECODERS: Recipes = {
    "words": {"*": {"model.n_layers": 4, "training.lr": 3e-4, **BETA2}},
    "text": {
        "*": {"model.d_model": 128, "model.d_ff": 344, "model.n_heads": 4, "model.tied": True, "model.n_layers": 2}
    },
    "retrieval": {"*": {"model.n_layers": 2}},
}
# No publication trains one on these languages: as deep in all as the Transformer, with its rate.
OF_ENCODERS: Recipes = {
    "words": {
        "*": {
            "model.n_layers": 4,
            "model.decoder_layers": 1,
            "model.n_heads": 8,
            "model.dropout": 0.1,
            "training.lr": 3e-4,
            **BETA2,
        }
    },
    "retrieval": {"*": {"model.n_layers": 2}},
}

DECODER_ONLY = Row(
    "regulargpt.text.decoders.model:DecoderOnly",
    DecoderOnlyOptions,
    "GPT-2, GPT-NeoX, Llama, Mistral or Qwen, any encoding; checkpoints of these are read as it",
    "Touvron et al. 2023",
    OF_DECODERS,
    after="transformer",
)
ENCODER_DECODER = Row(
    "regulargpt.text.encoder_decoder.model:EncoderDecoder",
    EncoderDecoderOptions,
    "an encoder that reads both ways, a decoder that answers, any encoding",
    "Raffel et al. 2020",
    OF_ENCODERS,
    after="decoder-only",
)
