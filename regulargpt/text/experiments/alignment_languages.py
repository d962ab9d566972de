"""Transformers on formal languages with sharpened attention: does it lengthen what they hold?"""

from __future__ import annotations

from experiments.claims import Bound, falls, leads
from experiments.encodings_languages import runs
from experiments.experiment import Scale
from regulargpt.config.schema import RunConfig
from regulargpt.text.experiments.subjects import aligned
from regulargpt.text.experiments.table import Subject, text_table
from regulargpt.text.experiments.testing import tested_as

ACCURACY = "accuracy in %"
# Those of which these networks learn something.
LANGUAGES = ("even-pairs", "tomita-3", "tomita-4", "dyck-2", "dyck-4")
ENCODINGS = {"t5": "T5", "none": "no positions"}
LONGER = (2, 4, 8)


def trained_on(language: str, encoding: str) -> Subject:
    """The network of the table of encodings and languages, tested at 2, 4 and 8 times its training length."""

    def base(scale: Scale) -> RunConfig:
        config = runs(encoding, language, scale)[0]
        longest, first = max(LONGER) * config.data.train_len, min(LONGER) * config.data.train_len
        lengths = {"test_from": first, "test_len": longest, "factor": 2, "stride": 0}
        return config.replaced({f"evaluation.{key}": value for key, value in lengths.items()})

    return Subject(f"{language}: {ENCODINGS[encoding]}", {}, base=base)


def rows() -> dict[str, Subject]:
    """Each network as it is, and with two strategies."""
    subjects: dict[str, Subject] = {}
    for language in LANGUAGES:
        for encoding in ENCODINGS:
            subjects |= aligned(f"{language}/{encoding}", trained_on(language, encoding), ["p_max", "log"])
    return subjects


def gains(language: str) -> Bound:
    """Sharpened by P_max, the network with T5's biases is right more often at every greater length."""
    return leads(ACCURACY, f"{language}/t5+p_max", f"{language}/t5", at=LONGER)


CLAIMS = {
    "ours": {
        **{f"P_max makes T5 right more often: {language}.": gains(language) for language in LANGUAGES},
        "Without a temperature accuracy falls with the length.": falls(
            ACCURACY, *(f"{language}/t5" for language in LANGUAGES[1:]), far=8, near=2
        ),
    }
}
EXPERIMENT = text_table(
    "alignment-languages",
    "Sharpened attention on formal languages",
    rows(),
    [],
    CLAIMS,
    sharpening={ACCURACY: tested_as("accuracy")},
    drawn=ACCURACY,
    multiples=LONGER,
    about="Nothing was published of this: chapter 5 of the thesis is about text.",
    remarks=("One seed each. Words are those of the table of encodings and languages, and are no longer than 40.",),
)
