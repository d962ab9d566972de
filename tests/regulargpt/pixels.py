"""What is drawn, as pixels."""

from __future__ import annotations

import io
from base64 import b64decode
from typing import Any

import numpy as np
from PIL import Image

from tests.regulargpt.browser import Browser


def settle(browser: Browser) -> None:
    """Until what was asked of the page has been drawn."""
    browser.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50))")


def decoded(png: bytes, size: tuple[int, int] | None = None) -> np.ndarray:
    """A picture (height, width, 3), on white, of 0 to 255; `size` is width and height to bring it to."""
    found = Image.open(io.BytesIO(png)).convert("RGBA")
    whole = Image.alpha_composite(Image.new("RGBA", found.size, "white"), found).convert("RGB")
    return np.asarray(whole.resize(size, Image.Resampling.BOX) if size else whole, dtype=float)


# An element is moved to a whole pixel first: half a pixel would blur every line.
PLACE = """(element) => {
  const { x, y } = element.getBoundingClientRect();
  element.style.translate = `${Math.round(x) - x}px ${Math.round(y) - y}px`;
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: Math.round(left + scrollX), y: Math.round(top + scrollY), width, height };
}"""


def shot(browser: Browser, element: str = "", size: tuple[int, int] | None = None) -> np.ndarray:
    """The window, or an element of the page."""
    settle(browser)
    settle(browser)
    clip: dict[str, Any] = {}
    if element:
        clip = {"clip": browser.evaluate(f"({PLACE})({element})") | {"scale": 2}, "captureBeyondViewport": True}
    return decoded(b64decode(browser.call("Page.captureScreenshot", format="png", **clip)["data"]), size)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """How much two pictures of one size differ, of how much the first differs from its own most frequent colour."""
    colours, counts = np.unique(one.reshape(-1, 3), axis=0, return_counts=True)
    return float(np.abs(one - other).mean() / np.abs(one - colours[counts.argmax()]).mean())
