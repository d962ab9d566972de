"""The runs that the examples of the wing's verbs name."""

RUN_ON_TEXT = "runs/text-code-transformer-seed0"
RUN_ON_RETRIEVAL = "runs/retrieval-line-transformer-seed0"
