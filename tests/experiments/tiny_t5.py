"""A tiny random T5 on disk, with a tokenizer that was trained on prompts of all tasks."""

from pathlib import Path
from typing import Any

import torch

from regulargpt.text.experiments.checkpoint.plan import plan

VOCABULARY = 2000


def tokenizer() -> Any:
    """Byte-level BPE that ends a text as T5's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<pad>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    smoke = plan("smoke")
    made.train_from_iterator([text for column in smoke.columns for text in smoke.long(*column)], trainer)
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return made


def make(folder: Path, seed: int = 0) -> Path:
    """Write weights, config.json and tokenizer.json; the folder."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    sizes = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = transformers.T5Config(**sizes, feed_forward_proj="gated-gelu", decoder_start_token_id=0)
        model = transformers.T5ForConditionalGeneration(config)
        # New ones are nearly flat: what is read would change no answer, and a temperature nothing of what is read.
        encoder, decoder = model.encoder.block[0], model.decoder.block[0]
        for attention in (encoder.layer[0].SelfAttention, decoder.layer[1].EncDecAttention):
            attention.q.weight.data.mul_(30)
            attention.o.weight.data.mul_(10)
    model.save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder
