"""Exit codes of every process here: the input was refused; the run failed; a signal, after which it can go on."""

REFUSED, FAILED, STOPPED = 2, 1, 75
