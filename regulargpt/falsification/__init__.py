"""Words that a network answers wrongly: the shortest, and families of them that go on for ever longer words.

`search.falsify` first asks again what is `known` to be wrong. Then it goes through the searches, one a file, each with
a share of the budget:

1. `short_words`: all words, length by length. What is wrong there first is the shortest wrong word.
2. `clusters`: breadth-first over states of the network, close ones merged, beside the language's automaton.
3. `queries`: words that tell the automaton from all others of so many states, and random ones of that form.
4. `powers`: u v^n w, for n up to a million: from which n on a family is wrong.
5. `structured`: near misses, deep words, words that stay in one state, long runs.
6. `guided`: words changed symbol by symbol towards a wrong answer, for networks without a state.

A search may compute as it likes. A word counts as wrong only when the network itself, asked as in its evaluation,
answers it wrongly (`asked.Asked.wrong`); then it is shortened while it stays wrong (`shrink`).
"""
