"""`python -m experiments.page DIR...`: page.md again, from page.json, in each folder."""

import sys
from pathlib import Path

from experiments.page.files import write_from_record

for folder in sys.argv[1:]:
    write_from_record(Path(folder))
