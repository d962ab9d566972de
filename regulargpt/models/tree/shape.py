"""From which side a tree cuts words into windows. Never imports torch."""

from typing import Literal

Side = Literal["right", "left"]
