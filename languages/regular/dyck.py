"""Bounded Dyck languages: balanced brackets, 0 opening and 1 closing, nested at most N deep."""

from typing import Literal

from languages.automata import Dfa
from languages.budget import allowed, hint
from languages.errors import LanguageError
from languages.sampling.published import Blocks
from languages.specification import spec
from languages.task import Task

MAX_DEPTH = 500
MAX_EVERY_DEPTH = 50  # with depth="every", which needs an automaton for each depth


def dyck(
    depth_bound: int,
    depth: Literal["any", "every"] = "any",
    members: Literal["uniform", "blocks"] = "uniform",
) -> Task:
    """Is the word in D_N, balanced brackets of one kind nested at most N = `depth_bound` deep? 1 is "accept".

    D_1 = (01)*, D_n = (0 D_{n-1} 1)*; 0 opens, 1 closes. Balanced classification; odd lengths have no
    members.

    Members of a length are all equally likely (`depth="any"`): then the words of D_12 that reach depth 12
    are long. With `depth="every"` each member's largest depth is drawn first, uniformly from
    1..min(N, T/2), and the member is uniform among those with this largest depth. With `members="blocks"`
    they are drawn as in the code of the original RegularGPT (languages/sampling/published.py): few, large blocks.

    LanguageError: N outside 1..500 (1..50 with depth="every"), another word for depth or members, or both.

    >>> dyck(2).labels([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]).tolist()
    [1, 1, 0]

    Source: Bhattamishra et al. 2020, D_n; thesis, Table 6.1.
    """
    if not 1 <= depth_bound <= allowed(MAX_DEPTH):
        more = hint(depth_bound, MAX_DEPTH)
        raise LanguageError(f"dyck-{depth_bound}: the depth is 1 to {allowed(MAX_DEPTH)}{more}")
    if depth not in ("any", "every"):
        raise LanguageError(f"dyck-{depth_bound}: depth is {depth!r}; it is 'any' or 'every'")
    if depth == "every" and depth_bound > allowed(MAX_EVERY_DEPTH):
        more = hint(depth_bound, MAX_EVERY_DEPTH)
        raise LanguageError(f"dyck-{depth_bound}: with depth=every the depth is 1 to {allowed(MAX_EVERY_DEPTH)}{more}")
    if members not in ("uniform", "blocks"):
        raise LanguageError(f"dyck-{depth_bound}: members is {members!r}; it is 'uniform' or 'blocks'")
    if depth == "every" and members != "uniform":
        raise LanguageError(f"dyck-{depth_bound}: depth=every and members={members} exclude each other; give one")
    deepest = "0" * depth_bound + "1" * depth_bound
    by_depth = (exact_depth(n) for n in range(1, depth_bound + 1))
    return Task(
        name=spec(f"dyck-{depth_bound}", {"depth": (depth, "any"), "members": (members, "uniform")}),
        machine=dyck_dfa(depth_bound).as_moore(),
        summary=f"membership: balanced brackets (0 opens, 1 closes) at most {depth_bound} deep",
        source="Bhattamishra et al. 2020; thesis, Table 6.1",
        examples=((deepest, "accept"), ("01" + deepest, "accept"), (f"0{deepest}1", "reject"), ("1", "reject")),
        sampling="balanced",
        members=Blocks(depth_bound) if members == "blocks" else tuple(by_depth) if depth == "every" else (),
        glyphs=("(", ")"),
    )


def dyck_dfa(depth_bound: int) -> Dfa:
    """The minimal automaton of D_N: the depth 0..N, and a sink."""
    depths = range(depth_bound + 1)
    delta = {str(d): {a: str(e) for a, e in (("0", d + 1), ("1", d - 1)) if e in depths} for d in depths}
    return Dfa.from_partial(tuple(delta), "01", delta, "0", {"0"})


def exact_depth(depth: int) -> Dfa:
    """The balanced words whose largest depth is exactly this."""
    return (dyck_dfa(depth) - dyck_dfa(depth - 1)).minimise() if depth > 0 else dyck_dfa(0)
