"""Languages by name: every row works, and every mistake is answered in one line."""

import inspect
import string
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages import get
from languages.errors import LanguageError
from languages.registry import FAMILIES, Family, names
from tests.languages.refusing import is_like, outcome, refusal

SPECIFICATIONS = [
    *names(),
    *("dyck-7", "dyck-12:depth=every", "dyck-12:members=blocks", "tomita-3:members=runs", "tomita-3:forbidden=later"),
    *("tomita-4:members=walk", "tomita-7:members=runs", "parity:p_one=0.1", "parity:p_one=1e-05"),
    *("cycle-navigation:size=7", "modular-arithmetic:plus=true", "modular-arithmetic:modulus=7,operators=+-"),
    *("modular-arithmetic:modulus=12,operators=*,plus=true", "modular-arithmetic-left-to-right:modulus=2"),
    *("cyclic-12:letters=elements", "dihedral-3:answer=identity", "symmetric-4:answer=identity,letters=elements"),
    *("cyclic-4*alternating-4:letters=elements", "dihedral-4*cyclic-3*cyclic-2:answer=identity,order=right-to-left"),
    *("symmetric-5:letters=swaps", "flip-flop-reads:p_ignore=0.1"),
    *(
        "symmetric-3:order=right-to-left",
        "alternating-3",
        "flip-flop:p_ignore=0.98",
        "flip-flop-reads:p_ignore=0.1",
        "prefix:p=1",
        "prefix:p=4,k=4",
    ),
    *("regex:(ab)*", "regex:(0|1)*00,=:*", "regex:(aa)*;alphabet=ab"),
]


@pytest.mark.parametrize("specification", SPECIFICATIONS)
def test_a_name_leads_back_to_its_task(specification: str) -> None:
    task = get(specification)
    assert task.name == specification
    assert get(task.name) == task
    assert task.summary
    assert task.source


EQUAL = {
    "parity:p_one=0.5": "parity",
    "parity:": "parity",
    "modular-arithmetic:operators=*-+,modulus=5": "modular-arithmetic",
    "modular-arithmetic:plus=true,operators=-+": "modular-arithmetic:operators=+-,plus=true",
    "dyck-007": "dyck-7",
    "dyck-4:depth=any": "dyck-4",
    "dyck-4:members=uniform,depth=every": "dyck-4:depth=every",
    "tomita-5:members=uniform": "tomita-5",
    "cyclic-04*symmetric-3": "cyclic-4*symmetric-3",
    "prefix:k=2,p=2": "prefix",
    "prefix:k=4,p=1": "prefix:p=1,k=4",
}


@pytest.mark.parametrize(("specification", "name"), EQUAL.items())
def test_equal_tasks_have_one_name(specification: str, name: str) -> None:
    assert get(specification).name == name
    assert get(specification) == get(name)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_rows_tell_what_the_functions_have(family: Family) -> None:
    """The static table repeats the keyword parameters and their defaults."""
    parameters = inspect.signature(family.load()).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    assert {p.key: p.default for p in family.parameters} == defaults
    assert len(parameters) - len(defaults) == int(family.is_numbered or family.is_product or bool(family.prefix))
    docstring = inspect.getdoc(family.load())
    assert docstring is not None
    assert ">>> " in docstring
    assert "Source:" in docstring or family.prefix


FEW = {"members=runs": ("tomita-3", "tomita-7"), "members=walk": ("tomita-4",), "forbidden=later": ("tomita-3",)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_choices_are_all_accepted(family: Family) -> None:
    """By every language of the family, but for Tomita's members and second third language, which not all have."""
    for parameter, name in product(family.parameters, family.names):
        for choice in parameter.choices:
            chosen = f"{parameter.key}={choice}"
            if name in FEW.get(chosen, family.names):
                assert get(f"{name}:{chosen}").name.partition(":")[0] == name
            else:
                said = refusal(get, f"{name}:{chosen}", error=LanguageError)
                assert said.startswith(f"{name}: {parameter.key} is '{choice}'; it is '{parameter.default}'")


REFUSED = [
    ("partiy", "unknown language 'partiy'; did you mean 'parity'?"),
    ("Parity", "unknown language 'Parity'; did you mean 'parity'?"),
    ("dick-2", "unknown language 'dick-2'; did you mean 'dyck-2'?"),
    ("dyck", "unknown language 'dyck'; write dyck-2, or another depth"),
    ("dyck-N", "unknown language 'dyck-N'; did you mean 'dyck-4'?"),
    ("tomita-8", "there is no tomita-8; Tomita's languages are tomita-1 to tomita-7"),
    ("tomita-0", "there is no tomita-0; Tomita's languages are tomita-1 to tomita-7"),
    ("tomita--3", "unknown language 'tomita--3'; did you mean 'tomita-3'?"),
    ("dyck-0", "dyck-0: the depth is 1 to 500"),
    ("dyck-10000000000", "dyck-10000000000: the depth is 1 to 500, LANGUAGES_BUDGET=20000000 allows more"),
    ("dyck-501", "dyck-501: the depth is 1 to 500, LANGUAGES_BUDGET=2 allows more"),
    ("dyck-51:depth=every", "dyck-51: with depth=every the depth is 1 to 50, LANGUAGES_BUDGET=2 allows more"),
    ("dyck-4:depth=evry", "dyck-4: depth is 'evry'; it is 'any' or 'every'; did you mean 'every'?"),
    ("dyck-4:members=block", "dyck-4: members is 'block'; it is 'uniform' or 'blocks'; did you mean 'blocks'?"),
    ("dyck-4:depth=every,members=blocks", "dyck-4: depth=every and members=blocks exclude each other; give one"),
    ("tomita-5:members=runs", "tomita-5: members is 'runs'; it is 'uniform'"),
    ("tomita-4:members=runs", "tomita-4: members is 'runs'; it is 'uniform' or 'walk'"),
    ("tomita-5:forbidden=later", "tomita-5: forbidden is 'later'; it is 'at-once', or for 3 'later'"),
    ("tomita-3:forbidden=later,members=runs", "tomita-3: members is 'runs'; it is 'uniform'"),
    ("symmetric-3:order=left", "symmetric-3: order is 'left'; it is 'left-to-right' or 'right-to-left'"),
    ("tomita-3:members=rusn", "tomita-3: members is 'rusn'; it is 'uniform', … or 'walk' (4); did you mean 'runs'?"),
    ("parity:p_oen=0.1", "parity has no parameter 'p_oen'; did you mean 'p_one'?"),
    ("parity:zzz=0.1", "parity has no parameter 'zzz'; its parameters are 'p_one'"),
    ("even-pairs:p_one=0.1", "even-pairs has no parameter 'p_one'; it has none"),
    ("parity:p_one", "parity: write each parameter once, as p_one=VALUE; … the probability of a 1, from 0.0 to 1.0"),
    ("parity:p_one=0.1,p_one=0.2", "parity: write each parameter once, as … probability of a 1, from 0.0 to 1.0"),
    ("parity:p_one=half", "parity: p_one is 'half'; it is the probability of a 1, from 0.0 to 1.0"),
    ("parity:p_one=1.5", "parity: p_one is 1.5; it is a probability, 0.0 to 1.0"),
    ("parity:p_one=nan", "parity: p_one is nan; it is a probability, 0.0 to 1.0"),
    ("cycle-navigation:size=1", "cycle-navigation: size is 1; a cycle has 2 to 1000 positions"),
    ("cycle-navigation:size=5.0", "cycle-navigation: size is '5.0'; it is the number of positions, 2 to 1000"),
    ("modular-arithmetic:modulus=1", "modular arithmetic: modulus is 1; it is 2 to 32"),
    ("modular-arithmetic:operators=+/", "modular arithmetic: operators are '+/'; give one or more of +-*"),
    ("modular-arithmetic:operators=++", "modular arithmetic: operators are '++'; give one or more of +-*"),
    ("modular-arithmetic:operators=", "modular arithmetic: operators are ''; give one or more of +-*"),
    ("modular-arithmetic:plus=yes", "modular-arithmetic: plus is 'yes'; it is true or false: a constant + in front"),
    ("symmetric-999999999", "symmetric-999999999: the number is 2 to 7, LANGUAGES_BUDGET=482718652416000 allows more"),
    ("cyclic-1001", "cyclic-1001: the number is 1 to 1000, LANGUAGES_BUDGET=2 allows more"),
    ("cycle-navigation:size=1001", "cycle-navigation: size is 1001; a cycle has … LANGUAGES_BUDGET=2 allows more"),
    ("modular-arithmetic:modulus=33", "modular arithmetic: modulus is 33; it is 2 … LANGUAGES_BUDGET=2 allows more"),
    ("modular-arithmetic:modulus=" + "9" * 5000, f"modular-arithmetic: modulus is '{'9' * 79}; it is a whole number, "
                                                 "2 to 32"),
    ("\udcff", "'\\udcff' contains a byte that is no character; give the language in UTF-8"),
    ("symmetric-8", "symmetric-8: the number is 2 to 7, LANGUAGES_BUDGET=8 allows more"),
    ("symmetric-7:letters=elements", "symmetric-7: 5040 elements as letters are too … LANGUAGES_BUDGET=7 allows more"),
    ("heisenberg-11", "heisenberg-11: the number is 2 to 10"),
    ("heisenberg-9:letters=elements", "heisenberg-9: 729 elements as letters are too many; … LANGUAGES_BUDGET=2 …"),
    ("cyclic-4*alternating-9", "alternating-9: the number is 3 to 7, LANGUAGES_BUDGET=72 allows more"),
    ("cyclic-4*altrenating-4", "'altrenating-4' is no group; did you mean 'alternating-4'?"),
    ("cyclic-4*", "'' is no group; groups are 'cyclic-N', 'dihedral-N', 'heisenberg-N', … 'alternating-N'"),
    ("symmetric-6*cyclic-8", "symmetric-6*cyclic-8: 5,760 elements; at most 5,040 … LANGUAGES_BUDGET=2 allows more"),
    ("*".join(["cyclic-2"] * 9), "cyclic-2*…: 9 factors are too many; give at most 8"),
    ("cyclic-5*cyclic-2:answer=foo", "cyclic-5*cyclic-2: answer is 'foo'; it is 'element' or 'identity'"),
    ("cyclic-5:answer=foo", "cyclic-5: answer is 'foo'; it is 'element' or 'identity'"),
    ("flip-flop:p_ignore=1.0", "flip-flop: p_ignore is 1.0; it is a probability from 0.0, less than 1.0"),
    ("flip-flop-reads:p_ignore=-1", "flip-flop-reads: p_ignore is -1.0; it is a probability from 0.0, less than 1.0"),
    ("prefix:p=0", "prefix: p is 0; it is the number of symbols asked for, 1 to 20"),
    ("prefix:p=999999999", "prefix: p is 999999999; it is the number of symbols asked for, 1 to 20"),
    ("prefix:k=1", "prefix: k is 1; it is the number of symbols there are, 2 to 10"),
    ("prefix:k=11", "prefix: k is 11; it is the number of symbols there are, 2 to 10"),
    ("prefix:k=two", "prefix: k is 'two'; it is the number of symbols there are, 2 to 10"),
    ("prefix:p=5,k=4", "prefix: p = 5 and k = 4 make 1,365 states; at most … allowed, LANGUAGES_BUDGET=2 allows more"),
    ("prefix:q=2", "prefix has no parameter 'q'; its parameters are 'p', 'k'"),
]  # fmt: skip


@pytest.mark.parametrize(("specification", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals(specification: str, message: str) -> None:
    assert is_like(refusal(get, specification, error=LanguageError), message)


def name_of(specification: str) -> str:
    """The task's name or the refusal."""
    return outcome(lambda: get(specification).name)


@given(st.sampled_from([*SPECIFICATIONS, "dfa:x.json"]), st.data())
def test_mistyped_names_are_refused_or_work(specification: str, data: st.DataObject) -> None:
    """One character changed."""
    at = data.draw(st.integers(0, len(specification) - 1))
    said = name_of(specification[:at] + data.draw(st.sampled_from(string.printable[:95])) + specification[at + 1 :])
    assert said
    assert "\n" not in said


PIECES = [
    *("regex:", "dfa:", "dyck-", "cyclic-", "symmetric-", "modular-arithmetic", "tomita-", "parity", ":", ";alphabet="),
    "cyclic-3*",
    *("a", "b", "ab", "(a|b)", "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "&", "^", ".", "-", ",", "=", ";"),
    *("{0}", "{9}", "{99}", "{999}", "{2,}", "{,9}", "{9,2}", "[a-z]", "[^a]", "[z-a]", "0", "7", "99", "9" * 20),
    *("modulus=", "operators=", "letters=elements", "answer=identity", "depth=every", "members=runs", "p_one="),
    *("/dev/null", "/dev/zero.json", ".json", ".dot", "\0", "\n", "é", "\ud800", "\U0001f600", " ", "\\", "$"),
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
def test_any_text_is_a_task_or_refused_in_one_line(specification: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGUAGES_BUDGET", "0.05")  # the limits are met more often, and sooner
        said = name_of(specification)
    assert said
    assert "\n" not in said or "\n" in specification
    assert len(said) < 1000
