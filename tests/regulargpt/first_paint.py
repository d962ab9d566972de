"""When pages are first painted, on a slower CPU: `python -m tests.regulargpt.first_paint PAGE...`."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from tests.regulargpt.browser import Browser, chromium

SLOWER = 4
TIMES = 5
PAINT = """new Promise((done) => new PerformanceObserver((found) => {
  for (const entry of found.getEntriesByName("first-contentful-paint")) done(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def painted(browser: Browser, page: Path) -> tuple[float, float]:
    """Seconds until something of a page is painted, and until all of it has been computed: its scripts have run."""
    browser.open(page)
    return browser.evaluate(PAINT) / 1000, browser.evaluate(READY) / 1000


def main(pages: list[Path]) -> None:
    """Print, for each page, its size and the medians."""
    with chromium() as browser:
        for width in (390, 1280):
            browser.look(width)
            browser.call("Emulation.setCPUThrottlingRate", rate=SLOWER)
            for page in pages:
                paints, readies = zip(*(painted(browser, page) for _ in range(TIMES)), strict=True)
                first = f"first paint after {median(paints):.2f} s ({min(paints):.2f} to {max(paints):.2f})"
                size = f"{page.stat().st_size / 1e6:.2f} MB, {width} pixels wide, CPU {SLOWER} times slower"
                print(f"{page.name}: {size}: {first}, all of it after {median(readies):.2f} s")


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
