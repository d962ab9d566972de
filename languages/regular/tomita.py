"""Tomita's seven languages over {0, 1}, as membership problems.

Two languages are called Tomita's third. Tomita forbids "an odd number of consecutive 0s after an odd number of
consecutive 1s": at once after it, or anywhere after it. `100110` is in the first and not in the second.
"""

from typing import Literal

from languages.automata import Dfa
from languages.errors import LanguageError
from languages.sampling.members import Members
from languages.sampling.published import Tomita3Runs, Tomita4Walk, Tomita7Runs
from languages.specification import spec
from languages.task import Task

Delta = dict[str, dict[str, str]]  # what is missing leads to a sink

MEANING = {
    1: "1*",
    2: "(10)*",
    3: "no odd run of 1s followed at once by an odd run of 0s",
    4: "no three 0s in a row",
    5: "an even number of 0s and an even number of 1s",
    6: "the number of 0s minus the number of 1s is a multiple of 3",
    7: "0*1*0*1*",
}
MEANING_LATER = "no odd run of 0s anywhere behind an odd run of 1s"
DELTA: dict[int, Delta] = {
    1: {"ones": {"1": "ones"}},
    2: {"start": {"1": "one"}, "one": {"0": "start"}},
    3: {
        "ok": {"0": "ok", "1": "odd 1s"},
        "odd 1s": {"0": "odd 1s, odd 0s", "1": "ok"},
        "odd 1s, odd 0s": {"0": "odd 1s, even 0s"},
        "odd 1s, even 0s": {"0": "odd 1s, odd 0s", "1": "odd 1s"},
    },
    4: {"no 0": {"0": "0", "1": "no 0"}, "0": {"0": "00", "1": "no 0"}, "00": {"1": "no 0"}},
    5: {
        "even 0s, even 1s": {"0": "odd 0s, even 1s", "1": "even 0s, odd 1s"},
        "odd 0s, even 1s": {"0": "even 0s, even 1s", "1": "odd 0s, odd 1s"},
        "even 0s, odd 1s": {"0": "odd 0s, odd 1s", "1": "even 0s, even 1s"},
        "odd 0s, odd 1s": {"0": "even 0s, odd 1s", "1": "odd 0s, even 1s"},
    },
    6: {"0": {"0": "1", "1": "2"}, "1": {"0": "2", "1": "0"}, "2": {"0": "0", "1": "1"}},
    7: {
        "0*": {"0": "0*", "1": "0*1*"},
        "0*1*": {"0": "0*1*0*", "1": "0*1*"},
        "0*1*0*": {"0": "0*1*0*", "1": "0*1*0*1*"},
        "0*1*0*1*": {"1": "0*1*0*1*"},
    },
}
# The third, if no odd run of 0s may follow later either: the runs are counted on, whatever 1s stand between.
LATER: Delta = {
    "ok": {"0": "ok", "1": "odd 1s"},
    "odd 1s": {"0": "odd 0s", "1": "ok"},
    "odd 0s": {"0": "even 0s"},
    "even 0s": {"0": "odd 0s", "1": "even 0s"},
}
REJECTING = {2: {"one"}, 3: {"odd 1s, odd 0s"}, 5: set(DELTA[5]) - {"even 0s, even 1s"}, 6: {"1", "2"}}
EXAMPLES = {
    1: (("11", "accept"), ("10", "reject"), ("0", "reject")),
    2: (("1010", "accept"), ("01", "reject"), ("101", "reject")),
    3: (("100", "accept"), ("10", "reject"), ("11011100", "accept"), ("100110", "accept"), ("1000", "reject")),
    4: (("1001", "accept"), ("0001", "reject"), ("00100", "accept")),
    5: (("0110", "accept"), ("01", "reject"), ("000", "reject")),
    6: (("000", "accept"), ("01", "accept"), ("00", "reject")),
    7: (("0110", "accept"), ("10101", "reject"), ("0011", "accept")),
}
SAMPLERS: dict[int, dict[str, Members]] = {
    3: {"runs": Tomita3Runs()},
    4: {"walk": Tomita4Walk()},
    7: {"runs": Tomita7Runs()},
}


def tomita(
    number: int,
    members: Literal["uniform", "runs", "walk"] = "uniform",
    forbidden: Literal["at-once", "later"] = "at-once",
) -> Task:
    """Is the word in Tomita's language 1..7? Balanced classification: class 1 is "accept".

    1: 1*; 2: (10)*; 3: no odd run of 1s followed at once by an odd run of 0s; 4: no 000; 5: even numbers of
    0s and of 1s; 6: the number of 0s minus the number of 1s is a multiple of 3; 7: 0*1*0*1*. LanguageError:
    another number, or other members.

    With forbidden="later" 3 is: no odd run of 0s anywhere behind an odd run of 1s. So it is in Weiss et al. 2018 and
    AALpy; the default is that of Bhattamishra et al. 2020, the thesis and the code of the original RegularGPT.

    Members of a length are all equally likely. With `members` they are drawn as in the code of the original
    RegularGPT (languages/sampling/published.py): for 3 and 7 "runs", few and long ones; for 4 "walk", a fair coin where
    both symbols are legal. For 5 and 6 members are uniform there as well, 1 (0* there) and 2 have one at most.

    >>> [get.machine.answers("100110").item() for get in (tomita(3), tomita(3, forbidden="later"))]
    [1, 0]

    Source: Tomita 1982; Bhattamishra et al. 2020; Weiss, Goldberg and Yahav 2018; thesis, Table 6.1.
    """
    if number not in DELTA:
        raise LanguageError(f"there is no tomita-{number}; Tomita's languages are tomita-1 to tomita-7")
    if forbidden not in ("at-once", "later") or (forbidden == "later" and number != 3):
        raise LanguageError(f"tomita-{number}: forbidden is {forbidden!r}; it is 'at-once', or for 3 'later'")
    later = forbidden == "later"
    delta = LATER if later else DELTA[number]
    initial = next(iter(delta))
    samplers = {} if later else SAMPLERS.get(number, {})
    if members != "uniform" and members not in samplers:
        accepted = " or ".join(map(repr, ["uniform", *samplers]))
        raise LanguageError(f"tomita-{number}: members is {members!r}; it is {accepted}")
    accepting = set(delta) - ({"odd 0s"} if later else REJECTING.get(number, set()))
    return Task(
        name=spec(f"tomita-{number}", {"members": (members, "uniform"), "forbidden": (forbidden, "at-once")}),
        machine=Dfa.from_partial(tuple(delta), "01", delta, initial, accepting).as_moore(),
        summary=f"membership: {MEANING_LATER if later else MEANING[number]}",
        source="Tomita 1982; Weiss et al. 2018" if later else "Tomita 1982; Bhattamishra et al. 2020",
        examples=(*EXAMPLES[3][:2], ("100110", "reject")) if later else EXAMPLES[number],
        sampling="balanced",
        members=samplers.get(members, ()),
    )
