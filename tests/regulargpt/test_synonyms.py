"""Names that people say: a hint names the right part of a registry, or none, but never another one."""

import re
from collections.abc import Iterable, Mapping

import pytest

from languages.errors import nearest, plain
from languages.registry import ABOVE, SYNONYMS, find, names
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.options.registry import Registry

LANGUAGES = [*names(), *(name for family in ABOVE for name in family.names)]
KINDS: dict[str, tuple[list[str], Mapping[str, str]]] = {
    "models": (list(MODELS), MODELS.synonyms),
    "encodings": (list(ENCODINGS), ENCODINGS.synonyms),
    "languages": (LANGUAGES, SYNONYMS),
}
SAID = {
    "encodings": {
        **{"rope": "rotary", "RoPE": "rotary", "NoPE": "none", "xl": "transformer_xl", "ALiBi": "alibi"},
        "Transformer-XL": "transformer_xl",
        "relative": "t5",
    },
    "models": {
        **{"lru": "linear-rnn", "ssm": "s4d", "elman": "rnn:activation=tanh", "gated-regulargpt": "regulargpt"},
        **{"Gated-DeltaNet": "delta:gate=true", "LSTM": "lstm", "PD_SSM": "pd-ssm"},
    },
    "languages": {
        **{"even_pairs": "even-pairs", "Parity": "parity", "cycle_navigation": "cycle-navigation", "D_2": "dyck-2"},
        **{"dyck": "dyck-2", "mod-arith": "modular-arithmetic", "a5": "alternating-5", "S_5": "symmetric-5"},
    },
}


def spellings(name: str) -> set[str]:
    return {name.upper(), name.capitalize(), name.replace("-", "_"), name.replace("_", "-"), plain(name)} - {name}


def named(hint: str) -> str:
    """The first name in a hint: behind `write`, or in quotation marks."""
    return re.sub("^ (write|did you mean) ", "", hint).split()[0].strip("',?:") if hint else ""


@pytest.mark.parametrize("kind", SAID)
def test_what_people_say_is_answered_with_the_right_name(kind: str):
    known, synonyms = KINDS[kind]
    assert {said: named(nearest(said, known, synonyms)) for said in SAID[kind]} == SAID[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_registered_name_in_another_spelling_is_answered_with_itself(kind: str):
    known, synonyms = KINDS[kind]
    for name in known:
        for said in spellings(name) - set(known):
            assert named(nearest(said, known, synonyms)) == name, said


@pytest.mark.parametrize("kind", KINDS)
def test_a_synonym_is_answered_alike_in_every_spelling(kind: str):
    known, synonyms = KINDS[kind]
    assert not {plain(name) for name in known} & set(synonyms)
    for synonym, right in synonyms.items():
        assert synonym == plain(synonym)
        for said in {synonym, *spellings(synonym)}:
            assert nearest(said, known, synonyms) == f" write {right}"


@pytest.mark.parametrize(("said", "other"), [("rope", "cope"), ("lru", "ldru"), ("ssm", "slstm"), ("nope", "cope")])
def test_a_short_name_is_no_misspelt_other(said: str, other: str):
    assert nearest(said, [other], {"a": "b"}) == ""


@pytest.mark.parametrize(("said", "right"), [("lstmm", "lstm"), ("rgu", "gru"), ("tranformer", "transformer")])
def test_a_slip_is_still_answered(said: str, right: str):
    assert named(nearest(said, MODELS)) == right


def written(hints: Iterable[str]) -> Iterable[str]:
    """What the hints say to write: names and specifications, without the words between and behind them."""
    for hint in hints:
        yield from re.findall(r"[a-z][\w=:*-]*\d*", re.split(": |, with | for (?:the|a) | and ", hint)[0])


@pytest.mark.parametrize("registry", [MODELS, ENCODINGS], ids=["models", "encodings"])
def test_what_is_said_to_write_can_be_written(registry: Registry):
    for right in set(written(registry.synonyms.values())) - {"or"}:
        assert registry.options(right, registry.kind).name in registry


def test_what_is_said_of_languages_can_be_written():
    for right in SYNONYMS.values():
        assert find(right.partition(",")[0]).level
