"""The models, one file each, behind one call: `model(words, readout="last" | "all") -> logits`.

This module only lists them: it imports torch no earlier than the first `build`. What a model must be is in base.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regulargpt.models.delta.options import DeltaOptions
from regulargpt.models.gla.options import GlaOptions
from regulargpt.models.ldru.options import LdruOptions
from regulargpt.models.mamba.options import MambaOptions
from regulargpt.models.mamba2.options import Mamba2Options
from regulargpt.models.options import ModelOptions, RecurrentOptions, RnnOptions, TransformerOptions
from regulargpt.models.pd_ssm.options import PdSsmOptions
from regulargpt.models.recipes import Recipes, built_in
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.models.rwkv7.options import Rwkv7Options
from regulargpt.models.s4d.options import S4dOptions
from regulargpt.models.stack_rnn.options import StackRnnOptions
from regulargpt.models.tape_rnn.options import TapeRnnOptions
from regulargpt.models.transformer.looped.options import LoopedOptions
from regulargpt.models.xlstm.options import MlstmOptions, SlstmOptions
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
        ),
        "ldru": row(
            "ldru.model:Ldru",
            LdruOptions,
            "log-depth recurrent unit, a binary tree of one operator",
            "Pert et al. 2026",
        ),
        "rnn": row(
            "rnn:Rnn",
            RnnOptions,
            "recurrent network with ReLU or tanh",
            "Elman 1990",
        ),
        "lstm": row(
            "lstm:Lstm",
            RecurrentOptions,
            "long short-term memory",
            "Hochreiter and Schmidhuber 1997",
        ),
        "gru": row("gru:Gru", RecurrentOptions, "gated recurrent unit", "Cho et al. 2014"),
        "transformer": row(
            "transformer.model:Transformer",
            TransformerOptions,
            "pre- or post-LN, causal or not, any encoding",
            "Vaswani et al. 2017",
        ),
        "linear-rnn": row(
            "linear_rnn:LinearRnn",
            RecurrentOptions,
            "x_k = A x_{k-1} + B u_k by a parallel scan",
            "Orvieto et al. 2023",
        ),
        "delta": row(
            "delta.model:Delta",
            DeltaOptions,
            "DeltaNet, Gated DeltaNet, DeltaProduct: a matrix that each symbol corrects where its keys read it",
            "Yang et al. 2024; Siems et al. 2025",
        ),
        "mlstm": row(
            "xlstm.model:Mlstm",
            MlstmOptions,
            "xLSTM's matrix with exponential gates, in chunks",
            "Beck et al. 2024",
        ),
        "slstm": row(
            "xlstm.model:Slstm",
            SlstmOptions,
            "xLSTM's recurrence with exponential gates, nonlinear in its state",
            "Beck et al. 2024",
        ),
        "mamba": row(
            "mamba.model:Mamba",
            MambaOptions,
            "selective state space: a diagonal recurrence whose steps depend on the symbol, unit or signed",
            "Gu and Dao 2023",
        ),
        "mamba2": row(
            "mamba2.model:Mamba2",
            Mamba2Options,
            "Mamba-2, a matrix that decays by one number a head; version 3: Mamba-3's update, which also turns it",
            "Dao and Gu 2024; Lahoti et al. 2026",
        ),
        "gla": row(
            "gla.model:Gla",
            GlaOptions,
            "linear attention with gates, a channel or a head, or constant ones: RetNet",
            "Yang et al. 2023; Sun et al. 2023",
        ),
        "rwkv7": row(
            "rwkv7.model:Rwkv7",
            Rwkv7Options,
            "linear attention that decays by channel and removes along a key",
            "Peng et al. 2025",
        ),
        "pd-ssm": row(
            "pd_ssm.model:PdSsm",
            PdSsmOptions,
            "a complex state moved by a matrix with one entry in each column",
            "Terzić et al. 2025",
        ),
        "s4d": row(
            "s4d.model:S4d",
            S4dOptions,
            "diagonal state space that is the same at every symbol, as a convolution",
            "Gu et al. 2022",
        ),
        "looped": row(
            "transformer.looped.model:Looped",
            LoopedOptions,
            "a transformer that passes the same blocks again, more often for longer words",
            "Dehghani et al. 2019; Fan et al. 2025",
        ),
        "stack-rnn": row(
            "stack_rnn.model:StackRnn",
            StackRnnOptions,
            "recurrent network with stacks, of signs or as published; its certificate holds for every length",
            "Joulin and Mikolov 2015; Deletang et al. 2023",
        ),
        "tape-rnn": row(
            "tape_rnn.model:TapeRnn",
            TapeRnnOptions,
            "recurrent network with tapes, which it moves by a cell or by as many as the word has symbols",
            "Deletang et al. 2023",
        ),
    },
    ModelOptions,
    "regulargpt.models",
    "regulargpt.models.base:Model",
    {
        "gatedregulargpt": "regulargpt, with --gates",
        "elman": "rnn:activation=tanh",
        "elmanrnn": "rnn:activation=tanh",
        "srn": "rnn:activation=tanh",
        "lru": "linear-rnn or s4d: the linear recurrent unit of Orvieto et al. is not among the models",
        "linearrecurrentunit": "linear-rnn or s4d: the linear recurrent unit of Orvieto et al. is not among the models",
        "ssm": "s4d, mamba, mamba2 or pd-ssm",
        "statespace": "s4d, mamba, mamba2 or pd-ssm",
        "s4": "s4d: it is the diagonal one",
        "s5": "s4d or mamba: S5 is not among the models",
        "s6": "mamba",
        "mamba1": "mamba",
        "gpt": "decoder-only",
        "gpt2": "decoder-only",
        "llama": "decoder-only",
        "deltanet": "delta",
        "gateddeltanet": "delta:gate=true",
        "deltaproduct": "delta:householders=2",
        "xlstm": "mlstm or slstm",
        "mamba3": "mamba2:version=3",
        "ssd": "mamba2",
        "retnet": "gla:decay=retention",
        "rwkv": "rwkv7",
        "universaltransformer": "looped",
    },
)


def recipes_of(model: str) -> Recipes:
    """What a model takes of the recipes: of the core's recipes.toml has that, of others their row."""
    return built_in().get(model) or MODELS[model].recipes


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
