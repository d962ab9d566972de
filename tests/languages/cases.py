"""Worked cases, by hand: a word, the states its machine passes through, the answer. They drive the tests of automata,
samplers, data sets and the command line.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """After each symbol of `word` the machine of `language` is in the next state of `trace`; it answers `label`."""

    language: str  # a specification for `languages.get`
    word: str
    trace: tuple[str, ...]
    label: str


CASES = (
    Case("parity", "0110", ("even", "odd", "even", "even"), "even"),
    Case("parity", "1", ("odd",), "odd"),
    Case("parity:p_one=0.1", "1101", ("odd", "even", "even", "odd"), "odd"),
    Case("even-pairs", "0", ("0..0",), "even"),
    Case("even-pairs", "0110", ("0..0", "0..1", "0..1", "0..0"), "even"),
    Case("even-pairs", "100", ("1..1", "1..0", "1..0"), "odd"),
    Case("cycle-navigation", "010211", ("0", "1", "1", "0", "1", "2"), "2"),
    Case("cycle-navigation", "22", ("4", "3"), "3"),
    Case("cycle-navigation:size=3", "1112", ("1", "2", "0", "2"), "2"),
    Case("modular-arithmetic", "1+2*3", ("0+1", "(1+0)+", "1+2", "(1+2)*", "1+1"), "2"),
    Case("modular-arithmetic", "3-4", ("0+3", "(3+0)-", "3+1"), "4"),
    Case("modular-arithmetic:plus=true", "+2*3", ("(0+0)+", "0+2", "(0+2)*", "0+1"), "1"),
    Case("modular-arithmetic:modulus=3,operators=+-", "2-1+2", ("0+2", "(2+0)-", "2+2", "(1+0)+", "1+2"), "0"),
    Case("modular-arithmetic-left-to-right", "1+2*3", ("1", "(1)+", "3", "(3)*", "4"), "4"),
    Case("tomita-1", "110", ("ones", "ones", "sink"), "reject"),
    Case("tomita-1", "11", ("ones", "ones"), "accept"),
    Case("tomita-2", "1010", ("one", "start", "one", "start"), "accept"),
    Case("tomita-2", "011", ("sink", "sink", "sink"), "reject"),
    Case("tomita-3", "100", ("odd 1s", "odd 1s, odd 0s", "odd 1s, even 0s"), "accept"),
    Case("tomita-3", "0101", ("ok", "odd 1s", "odd 1s, odd 0s", "sink"), "reject"),
    Case("tomita-4", "10010", ("no 0", "0", "00", "no 0", "0"), "accept"),
    Case("tomita-4", "000", ("0", "00", "sink"), "reject"),
    Case("tomita-5", "011", ("odd 0s, even 1s", "odd 0s, odd 1s", "odd 0s, even 1s"), "reject"),
    Case("tomita-5", "0101", ("odd 0s, even 1s", "odd 0s, odd 1s", "even 0s, odd 1s", "even 0s, even 1s"), "accept"),
    Case("tomita-6", "0001", ("1", "2", "0", "2"), "reject"),
    Case("tomita-6", "01", ("1", "0"), "accept"),
    Case("tomita-7", "01101", ("0*", "0*1*", "0*1*", "0*1*0*", "0*1*0*1*"), "accept"),
    Case("tomita-7", "1010", ("0*1*", "0*1*0*", "0*1*0*1*", "sink"), "reject"),
    Case("dyck-1", "0101", ("1", "0", "1", "0"), "accept"),
    Case("dyck-1", "0011", ("1", "sink", "sink", "sink"), "reject"),
    Case("dyck-2", "0011", ("1", "2", "1", "0"), "accept"),
    Case("dyck-2", "001", ("1", "2", "1"), "reject"),
    Case("dyck-12:depth=every", "000111", ("1", "2", "3", "2", "1", "0"), "accept"),
    Case("aa-star", "aaa", ("a", "start", "a"), "reject"),
    Case("aaaa-star", "aaaa", ("a", "aa", "aaa", "start"), "accept"),
    Case("abab-star", "abab", ("a", "ab", "aba", "start"), "accept"),
    Case("abab-star", "ab", ("a", "ab"), "reject"),
    Case("012-02", "1022", ("last 1", "last 0", "last 0", "last 0"), "accept"),
    Case("012-02", "201", ("last 1", "last 0", "last 1"), "reject"),
    Case("ab-d-bc", "abdbc", ("before", "before", "after", "after", "after"), "accept"),
    Case("ab-d-bc", "da", ("after", "sink"), "reject"),
    Case("aa-bb-cc-dd-ee", "abcddee", ("a", "b", "c", "d", "d", "e", "e"), "accept"),
    Case("aa-bb-cc-dd-ee", "ac", ("a", "sink"), "reject"),
    Case("cyclic-5", "1101", ("1", "2", "2", "3"), "3"),
    Case("cyclic-3:answer=identity", "0111", ("0", "1", "2", "0"), "accept"),
    Case("cyclic-12:letters=elements", "11 3 0", ("11", "2", "2"), "2"),
    Case("dihedral-4", "rsre", ("r1", "s3", "s0", "s0"), "s0"),
    Case("heisenberg-3", "yxyxx", ("010", "111", "121", "220", "022"), "022"),
    Case("cyclic-2*symmetric-3", "1.e 0.t 1.e", ("1.123", "1.213", "0.213"), "0.213"),
    Case("symmetric-3", "tcct", ("213", "321", "132", "231"), "231"),
    Case("symmetric-3:answer=identity", "tet", ("213", "213", "123"), "accept"),
    Case("alternating-4", "34e3", ("2314", "4321", "4321", "4132"), "4132"),
    Case("flip-flop", "1-0-", ("holds 1", "holds 1", "holds 0", "holds 0"), "0"),
    Case("flip-flop-reads", "w0i1r", ("write", "holds 0", "ignore 0", "holds 0", "read 0"), "0"),
    Case("prefix", "0110", ("0", "01", "01", "01"), "01"),
    Case("prefix", "1", ("1",), "too short"),
    Case("prefix:p=4,k=4", "3012", ("3", "30", "301", "3012"), "3012"),
    Case("regex:(ab)*", "abab", ("q1", "q0", "q1", "q0"), "accept"),
    Case("regex:(aa)*;alphabet=ab", "aab", ("q1", "q0", "q2"), "reject"),
)
