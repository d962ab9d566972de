"""Protocols: named, versioned presets of how words are drawn, read and scored, so that results can be compared.

A recipe says how a model is trained, a protocol on which words it is trained and tested. What a protocol fixes cannot
be set otherwise while its name is on the result; a change of a protocol is a new version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from languages.errors import nearest, one_of
from languages.kept import rewritten
from languages.registry import has_brackets, has_rows, level_of
from regulargpt.config.schema import Draft, EvaluationOptions, RunConfig, flat, parts_first
from regulargpt.data import is_language, noun_of, sampling
from regulargpt.data.options import TestMixture
from regulargpt.options import ConfigError, shown

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Protocol:
    """One protocol.

    `fields` are the fields of the config that it fixes; `balanced` those for tasks of members and non-members;
    `families[stem]` those for a family of languages ("dyck" for dyck-N). `spelling[stem]` is what stands behind the
    colon of such a language; `statistic` how accuracies become a score; `departures` what differs from its source.
    """

    name: str
    version: int
    summary: str
    source: str
    statistic: str
    fields: Fields
    balanced: Fields = field(default_factory=dict)
    families: Mapping[str, Fields] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)
    departures: tuple[str, ...] = ()
    of_brackets: bool = False
    """Whether it is about languages with visible brackets alone."""
    free: tuple[str, ...] = ()
    """Parameters of the spelling for which a user may write another value."""
    of: str = ""
    """The only language that it is about, if there is one."""
    of_training_lengths: bool = False
    """Whether fresh words of the training lengths make the score; else they are longer."""

    @property
    def id(self) -> str:
        """Name and version, as results record it."""
        return f"{self.name}-{self.version}"

    def fixes(self, language: str) -> dict[str, Any]:
        """All that is fixed for a language, by dotted keys, but its spelling.

        Raises UserError for a text or a retrieval task, which no protocol is about.
        """
        if not is_language(language):
            noun = noun_of(language)
            raise ConfigError(f"{language} is a {noun}, and a protocol is about words of a language; leave it out")
        if level_of(language) == "unknown":
            raise ConfigError(f"{language} has words of its own, and a protocol says how words are drawn; leave it out")
        if self.of_brackets and not has_brackets(language):
            raise ConfigError(f"protocol {self.id} is of languages with brackets, {language} is none; leave it out")
        if self.of and language.partition(":")[0] != self.of:
            raise ConfigError(f"protocol {self.id} is of {self.of}, not of {language}; leave it out")
        balanced = self.balanced if sampling(language) == "balanced" else {}
        name = language.partition(":")[0]
        fields = rows_of(self.fields) if has_rows(language) else self.fields
        return {**fields, **balanced, **self.families.get(stem(name), {}), **self.families.get(name, {})}

    def spelled(self, language: str) -> str:
        """The language with the parameters that this protocol gives it.

        Raises ConfigError if the language has another value for one of them.

        >>> protocol("hard").spelled("dyck-4"), protocol("hard").spelled("parity")
        ('dyck-4:depth=every', 'parity')
        """
        name, _, written = language.partition(":")
        given = self.usual(name)
        mark = ";" if name == "pushdown" else ","  # a file may have commas in its name
        parts = written.split(mark) if written else []
        for part in given.split(",") if given else ():
            if part in parts:
                continue
            key = part.partition("=")[0]
            if any(key == other.partition("=")[0] for other in parts):
                if key in self.free:
                    continue
                raise ConfigError(f"protocol {self.id} draws {name} with {given}, not {language}; write {name}")
            parts.append(part)
        return rewritten(language, f"{name}:{mark.join(parts)}") if parts else language

    def usual(self, name: str) -> str:
        """What stands behind the colon of a language; of a product, what stands behind that of each factor.

        >>> protocol("merrill2024").usual("alternating-4*cyclic-5"), protocol("grazzi2025").usual("cyclic-2*cyclic-3")
        ('letters=elements', '')
        """
        found = {self.spelling.get(factor, self.spelling.get(stem(factor), "")) for factor in name.split("*")}
        return found.pop() if len(found) == 1 else ""

    def put(self, draft: Draft) -> Draft:
        """Set all that is fixed in a config in the making."""
        fixed = self.fixes(draft.flat["data.name"])
        draft.put({"data.name": self.spelled(draft.flat["data.name"]), "protocol": self.id})
        # Parts first: which of the other keys there are depends on them.
        for key in sorted(fixed, key=parts_first):
            if not is_absent(key, fixed[key], draft.flat):
                draft.put({key: fixed[key]})
        return draft

    def apply(self, config: RunConfig) -> RunConfig:
        """The config under this protocol.

        >>> config = protocol("thesis").apply(RunConfig().replaced({"data.name": "dyck-4"}))
        >>> config.protocol, config.data.train_len, config.scored
        ('thesis-1', 50, range(51, 101))
        """
        return self.put(Draft(config)).config()

    def test_of(self, config: RunConfig) -> RunConfig:
        """The same training, tested under this protocol with as many words a length and the same stride.

        Raises ConfigError if a model trained so cannot be asked as this protocol asks.

        >>> protocol("hard").test_of(RunConfig()).evaluation.extra_lengths
        (1000, 10000)
        """
        fixed, draft = self.fixes(config.data.name), Draft(config)
        language = self.spelled(without_sampling(config.data.name))
        draft.put({"data.name": language, "protocol": self.id, **fresh(config)})
        # A trained model answers one kind of question; words and lengths may be others.
        for key, value in fixed.items():
            if key.startswith("objective.") and not agrees(key, value, draft.flat):
                trained = shown(draft.flat.get(key))
                raise ConfigError(f"protocol {self.id} asks with {key} = {shown(value)}, the run {trained}")
        if 0 < fixed["evaluation.test_from"] <= config.data.train_len and not self.of_training_lengths:
            first, trained = fixed["evaluation.test_from"], config.data.train_len
            raise ConfigError(f"protocol {self.id} scores from {first} symbols on; the run was trained on {trained}")
        return draft.put({key: value for key, value in fixed.items() if key.startswith(OF_THE_TEST)}).config()

    def problems(self, config: RunConfig) -> list[str]:
        """What in a config contradicts this protocol: one line each."""
        fixed, now = self.fixes(config.data.name), flat(config)
        problems = [
            f"protocol {self.id} fixes {key} = {shown(value)}, not {shown(now.get(key))}; "
            "leave that out, or the protocol"
            for key, value in fixed.items()
            if not agrees(key, value, now)
        ]
        spelled = self.spelled(config.data.name)
        if spelled != config.data.name:
            problems.append(f"protocol {self.id} draws {spelled}, not {config.data.name}; write {spelled}")
        return problems


def rows_of(fields: Fields) -> dict[str, Any]:
    """What a protocol fixes, of a language whose words are answered by a row: that is asked for, and nothing else.

    >>> rows_of({"objective.name": "last", "objective.output_token": True, "evaluation.test_len": 500})
    {'evaluation.test_len': 500, 'objective.name': 'transduction'}
    """
    kept = {key: value for key, value in fields.items() if not key.startswith("objective.")}
    return {**kept, "objective.name": "transduction"}


# How much is tested under a protocol, unless the user says otherwise: results are compared to a tenth of a percent.
MANY: Fields = {"evaluation.samples": 512, "evaluation.symbols": 33_554_432}
# What a test has of its own, whatever the model was trained on.
OF_THE_TEST = ("evaluation.", "data.test.")


def fresh(config: RunConfig) -> dict[str, Any]:
    """The options of a test at their defaults, but as many words a length and the same stride."""
    kept = {key: getattr(config.evaluation, key) for key in ("samples", "symbols", "stride")}
    found = {f"evaluation.{key}": value for key, value in vars(EvaluationOptions(**kept)).items()}
    mixture = {f"data.test.{key}": value for key, value in vars(TestMixture()).items()}
    return found | {key: value for key, value in mixture.items() if key in flat(config)}


def is_absent(key: str, value: Any, now: Fields) -> bool:
    """Whether a config has no such key because what the protocol fixes to be off is not there at all."""
    return not value and key not in now


def agrees(key: str, value: Any, now: Fields) -> bool:
    """Whether a config has what a protocol fixes."""
    return is_absent(key, value, now) or now.get(key) == value


def stem(name: str) -> str:
    """The family of a numbered language.

    >>> stem("dyck-12"), stem("parity")
    ('dyck', 'parity')
    """
    return re.sub(r"-\d+$", "", name)


# The parameters of families that say how words are drawn, and nothing about the language.
SAMPLED: Mapping[str, tuple[str, ...]] = {
    "dyck": ("depth", "members"),
    "tomita": ("members",),
    "flip-flop": ("p_ignore",),
    "flip-flop-reads": ("p_ignore",),
    "mqar": ("pairs", "power", "fill"),
}


def without_sampling(language: str) -> str:
    """The language without the parameters that say how its words are drawn.

    >>> without_sampling("dyck-4:depth=every"), without_sampling("modular-arithmetic:plus=true")
    ('dyck-4', 'modular-arithmetic:plus=true')
    >>> without_sampling("tomita-3:forbidden=later"), without_sampling("mqar:pairs=8,vocabulary=32")
    ('tomita-3:forbidden=later', 'mqar:vocabulary=32')
    """
    name, _, written = language.partition(":")
    if stem(name) not in SAMPLED:
        return language
    kept = [part for part in written.split(",") if part and part.partition("=")[0] not in SAMPLED[stem(name)]]
    return f"{name}:{','.join(kept)}" if kept else name


# The languages of the second block of Table 6.1, and their kin from the same paper.
BHATTAMISHRA = ("dyck", "tomita", "aa-star", "aaaa-star", "abab-star", "012-02", "ab-d-bc", "aa-bb-cc-dd-ee")


def lengths(train: tuple[int, int], test: tuple[int, int]) -> dict[str, Any]:
    """The fields of the lengths trained on and scored, both ends included; 0 is the first after the training words'."""
    return {
        "data.train_from": train[0],
        "data.train_len": train[1],
        "evaluation.test_from": test[0],
        "evaluation.test_len": test[1],
    }


# Half of the test words are members, the others uniform among all non-members.
PLAIN: Fields = {"data.test.members": 0.5, "data.test.near_misses": 0.0, "data.test.both_classes": False}
MEAN = "mean over the lengths of the accuracy at one position"
UNIFORM = "members are uniform among the words of their length (the code has generators of its own)"

# Half of the training words are members, too, and no near misses.
HALF: Fields = {"data.members": 0.5, "data.near_misses": 0.0, **PLAIN}
NO_LENGTH_40 = "words of 40 symbols, a training length, are left out of the test (theirs are of 40..256)"
SHORTER = "with every prefix answered, shorter words are trained on too (theirs all have that many symbols)"
HALF_MEMBERS = "half of the words of a language are members (theirs are uniform among all words)"
# A symbol of its own for each element of a group.
GROUPS = ("symmetric", "alternating", "cyclic", "dihedral", "heisenberg")
ELEMENTS: Mapping[str, str] = dict.fromkeys(GROUPS, "letters=elements")

# Families whose words are drawn by depth; those of `reversal-K` have one depth a length.
DEEP = ("brackets", "xml", "json", "formula", "arithmetic-brackets", "equation", "list-ops", "pushdown")

HARD = Protocol(
    "hard",
    1,
    "members and non-members uniform by counting, half of the negatives near misses, every depth of D_n; "
    "also at 1,000 and 10,000 symbols",
    "this project",
    f"{MEAN} over 41..500, and the accuracy at 1,000 and 10,000 symbols",
    {**lengths((1, 40), (0, 500)), "evaluation.extra_lengths": (1_000, 10_000), "objective.output_token": False},
    {
        "data.test.members": 0.5,
        "data.test.near_misses": 0.5,
        "data.test.edits": 2,
        "data.test.swaps": 0.0,
        "data.test.both_classes": False,
    },
    spelling={"dyck": "depth=every"},
)

LIU = Protocol(
    "liu2023",
    1,
    "Flip-flop language modeling: words of 511 symbols, every read answered; trained on, and scored here, with "
    "p_ignore 0.8",
    "Liu et al. 2023 (arXiv 2306.00946)",
    "single answers at reads right (`accuracy_by_position`); 100 % less that is their error",
    {**lengths((511, 511), (511, 511)), "objective.name": "prefixes"},
    spelling={"flip-flop-reads": "p_ignore=0.8"},
    departures=(
        "a word ends with the last read, 511 symbols (theirs has the bit behind it, too)",
        "only reads are answered (their language model predicts every symbol)",
    ),
    of="flip-flop-reads",
    of_training_lengths=True,
)

ZOOLOGY = Protocol(
    "zoology",
    1,
    "MQAR: 8,192 symbols, words of 63..255 with any number of pairs, every question answered and scored",
    "Arora et al. 2023 (arXiv 2312.04927), and the paper configs of its code",
    "single answers at questions right (`accuracy_by_position`); then the best of the learning rates",
    {**lengths((63, 255), (63, 255)), "objective.name": "prefixes"},
    spelling={"mqar": "pairs=any,vocabulary=8192"},
    departures=(
        "every odd length from 63 to 255, and each number of pairs as likely (theirs are 64 x 4, 128 x 8, and 256 x "
        "16, 32 and 64)",
        "a word ends with a question, and so has one symbol less",
        "a key that comes again by chance is asked as well",
    ),
    of="mqar",
    of_training_lengths=True,
)

PROTOCOLS: dict[str, Protocol] = {
    p.id: p
    for p in (
        Protocol(
            "thesis",
            1,
            "Table 6.1 as its caption says: trained to 40, scored on 41..500; second block 50 and 51..100",
            "thesis, section 6.4, Table 6.1",
            f"{MEAN}; then maximum and mean over 3 seeds and the learning rates",
            {**lengths((1, 40), (41, 500)), "objective.output_token": False},
            PLAIN,
            {name: lengths((1, 50), (51, 100)) for name in BHATTAMISHRA},
            departures=(UNIFORM,),
        ),
        Protocol(
            "regular-gpt-code",
            1,
            "as the original RegularGPT code measures: trained to 40, scored from 42 on",
            "the code of the thesis's chapter 6 (2024-07-02): training/example.py, run.sh",
            f"{MEAN}, the slice of the accuracies beginning one length late",
            {**lengths((1, 40), (42, 500)), "objective.output_token": False},
            {"data.members": 0.5, "data.near_misses": 0.0, **PLAIN},
            {"tomita": lengths((1, 40), (42, 100)), "dyck-12": lengths((1, 80), (82, 500))},
            {
                "modular-arithmetic": "plus=true",
                "dyck": "members=blocks",
                "tomita-3": "members=runs",
                "tomita-4": "members=walk",
                "tomita-7": "members=runs",
            },
        ),
        Protocol(
            "deletang2023",
            1,
            "Neural Networks and the Chomsky Hierarchy: the answer read at an empty token after the word",
            "Delétang et al. 2023, section 4 and Table 1",
            f"{MEAN}; then the maximum over seeds and hyper-parameters",
            {**lengths((1, 40), (41, 500)), "objective.name": "last", "objective.output_token": True},
            PLAIN,
            departures=(
                "even lengths of modular arithmetic are left out (the code takes the odd length below)",
                "dropout is off in the test (the example script leaves it on)",
                "of a row, what stands behind END is not trained on (the code trains on it, and does not score it)",
                "of a row, whole words make the score, and single answers, which are published, stand beside it",
                "sums, products and words with a gap begin at three symbols, or two (the code has fillers below)",
            ),
        ),
        Protocol(
            "bhattamishra2020",
            1,
            "members only; after every prefix the set of legal next symbols, all of them right; 2..50, then 51..100",
            "Bhattamishra et al. 2020, section 6 and Table 3",
            "share of words of 51..100 symbols with every position right, mean over the lengths",
            {**lengths((2, 50), (51, 100)), "objective.name": "next", "objective.output_token": False},
            {"data.members": 1.0, "data.near_misses": 0.0, **PLAIN, "data.test.members": 1.0},
            departures=(UNIFORM, "lengths are uniform in each range (the data sets have fixed files)"),
        ),
        Protocol(
            "ldru2026",
            1,
            "Length Generalization with Log-Depth Recurrent Units: trained to 40, scored on 41..500; no near misses",
            "Pert et al. 2026, MLP-LDRU on 21 regular languages, and its supplementary code",
            f"{MEAN} over 41..500, of 3 seeds",
            {**lengths((1, 40), (41, 500)), "objective.output_token": False},
            HALF,
            departures=(
                "members are uniform among the words of their length (of D_n nearly so there, of Tomita from walks)",
                "lengths without words, the even ones of modular arithmetic, are left out",
                "every language is trained to 40 (three had longer training words there as well)",
            ),
        ),
        Protocol(
            "flare2025",
            1,
            "Training Neural Networks as Recognizers: half members, half of the others members with a few edits",
            "Butoi et al. 2025, section 4, and its code; languages named flare-...",
            f"{MEAN} over 41..500",
            {**lengths((1, 40), (41, 500)), "objective.output_token": False},
            {
                "data.members": 0.5,
                "data.near_misses": 0.5,
                "data.test.members": 0.5,
                "data.test.near_misses": 0.5,
                "data.test.swaps": 0.0,
                "data.test.both_classes": True,
            },
            departures=(
                "as many words at each length (theirs of 0..500 are as long as they happen to be drawn)",
                "the empty word is left out, and so are test lengths that have no members",
                "training words are drawn anew (theirs are 10,000, of 0..40 symbols)",
                "of languages not named flare-..., near misses have symbols changed, none inserted or deleted",
                "square roots are exact (theirs are wrong from about 100 digits on)",
                "of stack manipulation every number of bits of a length is as likely",
            ),
        ),
        Protocol(
            "grazzi2025",
            1,
            "Unlocking State-Tracking: trained on words of 3..40, the last answer scored on 41..256 (printed scaled: "
            "`results --measure scaled_accuracy`); S_n: every prefix of words to 32 symbols, then of 33..500",
            "Grazzi et al. 2025 (arXiv 2411.12537), section 5, Table 3 and Figure 4",
            f"{MEAN} over 41..256, scaled (`scaled_accuracy`), of the last answer; S_n: share of whole words right "
            "(`words`); then the best of 3 seeds",
            {**lengths((3, 40), (41, 256)), "objective.name": "last", "objective.output_token": False},
            HALF,
            {"symmetric": {**lengths((1, 32), (33, 500)), "objective.name": "prefixes"}},
            {"symmetric": "letters=elements"},
            departures=(NO_LENGTH_40, SHORTER, HALF_MEMBERS),
            free=("letters",),
        ),
        Protocol(
            "siems2025",
            1,
            "DeltaProduct: word problems of groups, all elements as symbols, every prefix answered; words to 128 "
            "symbols, then of 129..512",
            "Siems et al. 2025 (arXiv 2502.10297), section 5.1",
            "share of whole words right (`words`), mean over 129..512; then the best of 3 seeds",
            {**lengths((1, 128), (129, 512)), "objective.name": "prefixes"},
            HALF,
            spelling=ELEMENTS,
            departures=(SHORTER, HALF_MEMBERS),
        ),
        Protocol(
            "walker2025",
            1,
            "SLiCE and PD-SSM: trained on words of 3..40, the last answer scored on 41..256",
            "Walker et al. 2025 (arXiv 2505.17761), Table 2; Terzic et al. 2025 (arXiv 2509.22284)",
            f"{MEAN} over 41..256, not scaled, of the last answer; then the mean of 5 seeds",
            {**lengths((3, 40), (41, 256)), "objective.name": "last", "objective.output_token": False},
            HALF,
            departures=(
                NO_LENGTH_40,
                "the test words are not those that ended the training and chose the width (theirs are)",
                HALF_MEMBERS,
            ),
        ),
        Protocol(
            "merrill2024",
            1,
            "The Illusion of State: word problems of groups, all elements as symbols, every prefix of words of 2..20 "
            "answered, also in the test",
            "Merrill et al. 2024 (arXiv 2404.08819), section 6",
            "single answers right (`accuracy_by_position`) at each length; then the layers that 90 % take",
            {**lengths((2, 20), (2, 20)), "objective.name": "prefixes"},
            HALF,
            spelling=ELEMENTS,
            departures=("a network learns all of these lengths (theirs learn one each)", HALF_MEMBERS),
            of_training_lengths=True,
        ),
        LIU,
        *(
            replace(
                LIU,
                name=f"liu2023-{name}",
                summary=f"a network of liu2023 tested on {name} words: p_ignore {p_ignore}",
                spelling={"flip-flop-reads": f"p_ignore={p_ignore}"},
            )
            for name, p_ignore in (("sparse", 0.98), ("dense", 0.1))
        ),
        ZOOLOGY,
        replace(
            ZOOLOGY,
            name="zoology-most",
            summary="a network of zoology tested with the most pairs: 256 in 1,023 symbols; also 128, 64, 32 and 16",
            fields={
                **ZOOLOGY.fields,
                **lengths((63, 255), (1023, 1023)),
                "evaluation.extra_lengths": (63, 127, 255, 511),
            },
            spelling={"mqar": "pairs=most,vocabulary=8192"},
            departures=ZOOLOGY.departures[1:],
        ),
        HARD,
        replace(
            HARD,
            version=2,
            summary="as hard-1, but in half of the near misses two symbols changed places, so that no count gives them "
            "away; lengths without members, or without non-members, are left out",
            balanced={**HARD.balanced, "data.test.swaps": 0.5, "data.test.both_classes": True},
        ),
        Protocol(
            "deep",
            1,
            "words of about 5,000 symbols, nested exactly 1,000 deep; non-members are near misses of such",
            "this project",
            "the accuracy at that length",
            {**lengths((1, 40), (5_000, 5_000)), "objective.output_token": False},
            {
                "data.test.members": 0.5,
                "data.test.near_misses": 1.0,
                "data.test.edits": 2,
                "data.test.both_classes": True,
            },
            {"arithmetic-brackets": lengths((1, 40), (5_001, 5_001))},  # with precedence only odd lengths have words
            dict.fromkeys(DEEP, "depth=1000"),
            of_brackets=True,
        ),
    )
}


def protocol(name: str) -> Protocol:
    """The protocol of a name: "thesis" for its newest version, "thesis-1" for that one.

    Raises ConfigError with the nearest name for an unknown one.

    >>> protocol("hard").id
    'hard-2'
    >>> protocol("theses")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: unknown protocol 'theses'; did you mean 'thesis'?
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    versions = [p for p in PROTOCOLS.values() if p.name == name]
    if not versions:
        known = list(dict.fromkeys(p.name for p in PROTOCOLS.values()))
        hint = nearest(name, [*known, *PROTOCOLS]) or f" choose {one_of(known)}"
        raise ConfigError(f"unknown protocol '{name}';{hint}")
    return max(versions, key=lambda p: p.version)
