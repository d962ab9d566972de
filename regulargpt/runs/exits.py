"""Exit codes of every process here: the input was refused; the run failed; a signal, after which it can go on.

The reader of the output is gone: 128 + SIGPIPE, as of any other program in a pipe.
"""

import re

REFUSED, FAILED, STOPPED, BROKEN_PIPE = 2, 1, 75, 141

# torch has no MemoryError of its own on the CPU.
_SHORT = re.compile("out of memory|allocate memory|not enough memory|ALLOC_FAILED")


def is_out_of_memory(error: Exception) -> bool:
    """Whether the machine's memory did not do.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory")), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    """
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_SHORT.search(str(error))))
