"""What is drawn, as pixels."""

from __future__ import annotations

import io
from base64 import b64decode
from typing import Any

import numpy as np
from PIL import Image

from tests.regulargpt.browser import Browser


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
    browser.pause()
    browser.pause()
    clip: dict[str, Any] = {}
    if element:
        clip = {"clip": browser.evaluate(f"({PLACE})({element})") | {"scale": 2}, "captureBeyondViewport": True}
    return decoded(b64decode(browser.call("Page.captureScreenshot", format="png", **clip)["data"]), size)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """How much two pictures of one size differ, of how much the first differs from its own most frequent colour."""
    colours, counts = np.unique(one.reshape(-1, 3), axis=0, return_counts=True)
    return float(np.abs(one - other).mean() / np.abs(one - colours[counts.argmax()]).mean())


# How light an element's ground is, from 0 to 1.
LUMINANCE = """(element) => {
  const parts = getComputedStyle(element).backgroundColor.match(/[0-9.]+/g).map(Number);
  return (parts[0] + parts[1] + parts[2]) / 765;
}"""
# The kinds of elements with text whose contrast with what is behind it is too small, as WCAG 2.1 counts it.
CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const found = parts(getComputedStyle(e).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const worst = {};
  for (const e of document.querySelectorAll("main *, header *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest("[hidden]")) continue;
    const svg = e instanceof SVGElement;
    if (svg && e.tagName !== "text") continue;
    const style = getComputedStyle(e);
    const pair = [luminance(parts(svg ? style.fill : style.color)), luminance(ground(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const key = `${e.tagName}.${e.getAttribute("class")}`;
    worst[key] = Math.min(worst[key] ?? 99, ratio);
  }
  return Object.entries(worst).filter(([, ratio]) => ratio < 4.5);
}"""
