"""One browser for all tests of a file that drive a page."""

from collections.abc import Iterator

import pytest

from tests.regulargpt.browser import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Started when the first test asks for it."""
    with chromium() as found:
        yield found
