"""No example has a time by which it must be done: a machine that is busy fails no test. One browser for all pages."""

import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: threads of tests side by side wait for each other

import pytest
from hypothesis import settings

from tests.quick import quicken
from tests.regulargpt.browser import CHROMIUM, NO_BROWSER, Browser, chromium

settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")


@pytest.fixture(scope="session", autouse=True)
def quick() -> Iterator[None]:
    """What comes with every run is made once."""
    with pytest.MonkeyPatch.context() as patch:
        quicken(patch)
        yield


@pytest.fixture(scope="session")
def tab() -> Iterator[Browser]:
    """Started when the first test asks for it."""
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    with chromium() as found:
        yield found


@pytest.fixture
def browser(tab: Browser) -> Iterator[Browser]:
    """Nothing of another test's page is left; in the end the page has been silent."""
    tab.fresh()
    yield tab
    tab.assert_silent()
