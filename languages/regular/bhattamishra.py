"""The languages of Bhattamishra et al. 2020 that are neither Tomita's nor D_n, as membership problems."""

from languages.automata import Dfa
from languages.task import Task


def aa_star() -> Task:
    """(aa)*: words of a's of even length. Over one symbol each length has one word, so one class is always empty.

    >>> aa_star().describe_length(4)
    'length 4: aa-star has no non-members, so every word is a member'

    Source: Bhattamishra et al. 2020; a cycle of length 2.
    """
    return _cycle("aa-star", "(aa)*", "aa")


def aaaa_star() -> Task:
    """(aaaa)*: words of a's whose length is a multiple of 4. One class is empty at each length, as in `aa_star`.

    >>> aaaa_star().classes(8), aaaa_star().classes(6)
    ((1,), (0,))

    Source: Bhattamishra et al. 2020; a cycle of length 4.
    """
    return _cycle("aaaa-star", "(aaaa)*", "aaaa")


def abab_star() -> Task:
    """(abab)* over {a, b}: not star-free. One member at each length that is a multiple of 4, none at the others.

    >>> abab_star().machine.answers("abab", every=True).tolist()
    [0, 0, 0, 1]

    Source: Bhattamishra et al. 2020.
    """
    return _cycle("abab-star", "(abab)*", "abab")


def zero_one_two() -> Task:
    """{0,1,2}*02*: the last symbol that is not 2 is a 0. Star-free.

    >>> zero_one_two().machine.answers("012022", every=True).tolist()
    [1, 0, 0, 1, 1, 1]

    Source: Bhattamishra et al. 2020.
    """
    delta = {q: {"0": "last 0", "1": "last 1", "2": q} for q in ("last 1", "last 0")}
    dfa = Dfa(tuple(delta), ("0", "1", "2"), delta, "last 1", {"last 0"})
    return _task("012-02", "{0,1,2}*02*", dfa, accept=("0", "1022", "012022"), reject=("2", "10122"))


def ab_d_bc() -> Task:
    """{a,b}*d{b,c}*: one d, only a's and b's before it and only b's and c's after. Star-free.

    >>> machine = ab_d_bc().machine
    >>> ab_d_bc().next_symbols(machine.encode("d")).astype(int).tolist()  # after d: b, c or the end
    [[0, 1, 1, 0, 1]]

    Source: Bhattamishra et al. 2020.
    """
    delta = {"before": {"a": "before", "b": "before", "d": "after"}, "after": {"b": "after", "c": "after"}}
    dfa = Dfa.from_partial(tuple(delta), "abcd", delta, "before", {"after"})
    return _task("ab-d-bc", "{a,b}*d{b,c}*", dfa, accept=("d", "abdbc"), reject=("ab", "ada"))


def aa_bb_cc_dd_ee() -> Task:
    """aa*bb*cc*dd*ee*: one or more a's, then b's, c's, d's and e's. Star-free; no members shorter than 5.

    >>> aa_bb_cc_dd_ee().machine.answers("abcdee", every=True).tolist()
    [0, 0, 0, 0, 1, 1]

    Source: Bhattamishra et al. 2020.
    """
    delta = {last: {last: last} for last in "abcde"}
    for last, following in zip("abcd", "bcde", strict=True):
        delta[last][following] = following
    delta["start"] = {"a": "a"}
    dfa = Dfa.from_partial(tuple(delta), "abcde", delta, "start", {"e"})
    return _task("aa-bb-cc-dd-ee", "aa*bb*cc*dd*ee*", dfa, accept=("abcde", "aabbcde"), reject=("abcd", "abcda"))


def _cycle(name: str, pattern: str, word: str) -> Task:
    states = tuple(word[:read] or "start" for read in range(len(word)))
    delta = {state: {a: states[(i + 1) % len(word)]} for i, (state, a) in enumerate(zip(states, word, strict=True))}
    dfa = Dfa.from_partial(states, "".join(sorted(set(word))), delta, "start", {"start"})
    return _task(name, pattern, dfa, accept=(word, word * 2), reject=(word[:-1], word + word[0]))


def _task(name: str, pattern: str, dfa: Dfa, accept: tuple[str, ...], reject: tuple[str, ...]) -> Task:
    return Task(
        name=name,
        machine=dfa.as_moore(),
        summary=f"membership: {pattern}",
        source="Bhattamishra et al. 2020",
        examples=(*((word, "accept") for word in accept), *((word, "reject") for word in reject)),
        sampling="balanced",
    )
