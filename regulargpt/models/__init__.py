"""The models, one file each, behind one call: `model(words, readout="last" | "all") -> logits`.

This module only lists them: it imports torch no earlier than the first `build`. What a model must be is in base.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regulargpt.models import recipes
from regulargpt.models.ldru.options import LdruOptions
from regulargpt.models.options import ModelOptions, RecurrentOptions, RnnOptions, TransformerOptions
from regulargpt.models.pd_ssm.options import PdSsmOptions
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.models.regulargpt.recipes import RECIPES
from regulargpt.models.stack_rnn.options import StackRnnOptions
from regulargpt.models.stack_rnn.recipes import RECIPES as STACKS
from regulargpt.models.tape_rnn.options import TapeRnnOptions
from regulargpt.models.transformer.encoder_decoder.options import EncoderDecoderOptions
from regulargpt.models.transformer.looped.options import LoopedOptions
from regulargpt.options.registry import Registry, Row

if TYPE_CHECKING:
    import torch

    from regulargpt.models.base import Model


def row(place: str, *of: Any) -> Row:
    return Row(f"regulargpt.models.{place}", *of)


MODELS = Registry(
    "model",
    {
        "regulargpt": row(
            "regulargpt.model:RegularGPT",
            RegularGPTOptions,
            "one weight-shared block, with gates or as in the thesis, depth log_C T, sliding-dilated attention",
            "Chi et al. 2023",
            RECIPES,
        ),
        "ldru": row(
            "ldru.model:Ldru",
            LdruOptions,
            "log-depth recurrent unit, a binary tree of one operator",
            "Pert et al. 2026",
            recipes.LDRU,
        ),
        "rnn": row(
            "rnn:Rnn",
            RnnOptions,
            "recurrent network with ReLU or tanh",
            "Elman 1990",
            recipes.recurrent(5e-4, activation="tanh"),
        ),
        "lstm": row(
            "lstm:Lstm",
            RecurrentOptions,
            "long short-term memory",
            "Hochreiter and Schmidhuber 1997",
            recipes.recurrent(1e-3),
        ),
        "gru": row("gru:Gru", RecurrentOptions, "gated recurrent unit", "Cho et al. 2014", recipes.recurrent(5e-4)),
        "transformer": row(
            "transformer.model:Transformer",
            TransformerOptions,
            "pre- or post-LN, causal or not, any encoding",
            "Vaswani et al. 2017",
            recipes.TRANSFORMER,
        ),
        "encoder-decoder": row(
            "transformer.encoder_decoder.model:EncoderDecoder",
            EncoderDecoderOptions,
            "an encoder that reads both ways, a decoder that answers, any encoding",
            "Raffel et al. 2020",
            recipes.ENCODER_DECODER,
        ),
        "linear-rnn": row(
            "linear_rnn:LinearRnn",
            RecurrentOptions,
            "x_k = A x_{k-1} + B u_k by a parallel scan",
            "Orvieto et al. 2023",
            recipes.recurrent(5e-4),
        ),
        "pd-ssm": row(
            "pd_ssm.model:PdSsm",
            PdSsmOptions,
            "a complex state moved by a matrix with one entry in each column",
            "Terzić et al. 2025",
            recipes.PD_SSM,
        ),
        "looped": row(
            "transformer.looped.model:Looped",
            LoopedOptions,
            "a transformer that passes the same blocks again, more often for longer words",
            "Dehghani et al. 2019; Fan et al. 2025",
            recipes.LOOPED,
        ),
        "stack-rnn": row(
            "stack_rnn.model:StackRnn",
            StackRnnOptions,
            "recurrent network with stacks, of signs or as published; its certificate holds for every length",
            "Joulin and Mikolov 2015; Deletang et al. 2023",
            STACKS,
        ),
        "tape-rnn": row(
            "tape_rnn.model:TapeRnn",
            TapeRnnOptions,
            "recurrent network with tapes, which it moves by a cell or by as many as the word has symbols",
            "Deletang et al. 2023",
            recipes.TAPE_RNN,
        ),
    },
    ModelOptions,
    "regulargpt.models",
    "regulargpt.models.base:Model",
)


def build(
    options: ModelOptions,
    n_symbols: int,
    n_outputs: int,
    generator: torch.Generator,
    direction: Sequence[int] | None = None,
) -> Model:
    """The model of these options, its weights drawn from `generator`.

    `direction` (n_symbols,) says which symbols are brackets, for a tree that follows them.

    >>> import torch
    >>> options = RecurrentOptions("gru", d_model=8)
    >>> build(options, 2, 2, torch.Generator().manual_seed(0))(torch.tensor([[0, 1]])).shape
    torch.Size([1, 2])
    """
    model = MODELS[options.name].load()(n_symbols, n_outputs, **options.arguments(), generator=generator)
    if options.follows_brackets:
        assert direction is not None, "validation refuses such a tree where there are no brackets"
        model.follow([*direction, *[0] * (n_symbols - len(direction))])
    return model
