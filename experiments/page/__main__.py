"""`python -m experiments.page [--text-only] DIR...`: page.md again from page.json, and its curves drawn beside it.

With `--text-only` nothing is drawn, and page.md has tables of the curves instead, as the committed pages have.
"""

import sys
from pathlib import Path

from experiments.page.files import write_again

for folder in sys.argv[1:]:
    if folder != "--text-only":
        write_again(Path(folder), drawn="--text-only" not in sys.argv)
