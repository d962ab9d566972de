"""A headless Chromium, driven through a pipe by the DevTools protocol: nothing to install beside the browser."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NO_BROWSER = "no Chromium on this machine; Debian: apt install chromium"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
SECONDS = 60.0
FLAGS = [
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows"),
]


class Browser:
    """One tab. `problems` are the page's errors, `requests` the addresses that it asked for.

    What the browser asks before a page is left is answered with yes; `asked` are the kinds of these questions.
    """

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int):
        self.process, self.to, self.back = process, to, back
        self.rest, self.number, self.session = b"", 0, ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.asked: list[str] = []
        self.page, self.width = "", 0
        self.target = ""
        self.fresh()

    def fresh(self) -> None:
        """A new tab instead of the old one: no page, no history, a wide and light window."""
        self.session, old = "", self.target
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        if old:
            self.call("Target.closeTarget", targetId=old)
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.look(1280)
        self.problems.clear()
        self.requests.clear()
        self.asked.clear()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers."""
        self.number += 1
        self.send(self.number, method, parameters)
        while (answer := self.receive()).get("id") != self.number:
            self.notice(answer)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def send(self, number: int, method: str, parameters: dict[str, Any]) -> None:
        """Ask the browser something; its answer has the same number."""
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.to, data) :]

    def receive(self) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.rest:
            assert select.select([self.back], [], [], SECONDS)[0], "the browser is silent"
            data = os.read(self.back, 1 << 16)
            assert data, "the browser has ended"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def notice(self, event: dict[str, Any]) -> None:
        """Keep what should not happen, in the tab that is open."""
        if event.get("sessionId") != self.session:
            return
        method, found = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(found["exceptionDetails"]))
        if method == "Log.entryAdded" and found["entry"]["level"] in ("warning", "error"):
            said = found["entry"]["text"]
            # Of a page that asks before it is left, where nobody has pressed anything: no fault of the page's.
            self.problems += [] if said.startswith("Blocked attempt to show a 'beforeunload'") else [said]
        if method == "Runtime.consoleAPICalled" and found["type"] in ("warning", "error", "assert"):
            self.problems.append(json.dumps(found["args"]))
        if method == "Page.javascriptDialogOpening":
            self.asked.append(found["type"])
            self.send(0, "Page.handleJavaScriptDialog", {"accept": True})
        if method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])

    def open(self, path: Path, address: str = "", width: int = 0, **how: Any) -> None:
        """Open a file, at a width, and wait until its scripts have run."""
        if width:
            self.look(width, **how)
        self.call("Page.navigate", url="about:blank")
        while not self.evaluate("location.protocol == 'about:'"):  # a page may ask before it is left
            pass
        self.requests.clear()
        self.page = path.as_uri()
        self.call("Page.navigate", url=self.page + address)
        while not self.evaluate("document.readyState == 'complete' && location.protocol == 'file:'"):
            pass

    def assert_silent(self) -> None:
        """Nothing went wrong, and the page asked for nothing but itself."""
        assert self.problems == []
        asked = {
            re.split("[?#]", request)[0] for request in self.requests if not request.startswith(("data:", "blob:"))
        }
        assert asked <= {self.page}

    def assert_fits(self) -> None:
        """Nothing of the page is wider than the window."""
        assert self.evaluate("document.documentElement.scrollWidth") == self.width

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def all(self, selector: str, value: str = "e.textContent") -> list[Any]:
        """The text of all elements that a selector chooses, or another value of them."""
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => {value})")

    def one(self, selector: str, value: str = "e.textContent") -> Any:
        """The text of the first of them, or another value of it."""
        return self.evaluate(f"((e) => {value})(document.querySelector({json.dumps(selector)}))")

    def data(self, selector: str) -> list[dict[str, str]]:
        """What their `data-` attributes say."""
        return self.all(selector, "({ ...e.dataset })")

    def count(self, selector: str) -> int:
        """How many there are."""
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def focus(self, selector: str) -> None:
        """Give the first of them the focus."""
        self.one(selector, "void e.focus()")

    def click(self, selector: str, which: int = 0) -> None:
        """Press one of them."""
        self.evaluate(f"document.querySelectorAll({json.dumps(selector)})[{which}].click()")

    def choose(self, selector: str, value: Any, event: str = "input") -> None:
        """Set a field or a slider to a value, as a person does."""
        told = f"e.dispatchEvent(new Event('{event}', {{ bubbles: true }}))"
        self.one(selector, f"{{ e.value = {json.dumps(value)}; {told}; }}")

    def type(self, word: str) -> None:
        """Put a word into the field of the page."""
        self.choose("#word", word)

    def wait(self, condition: str) -> None:
        """Until something holds."""
        for _ in range(round(SECONDS / 0.02)):
            if self.evaluate(condition):
                return
            self.pause(20)
        raise AssertionError(condition)

    def pause(self, milliseconds: int = 50) -> None:
        """Until what was asked of the page has been drawn."""
        self.evaluate(f"new Promise((done) => setTimeout(() => requestAnimationFrame(done), {milliseconds}))")

    def key(self, name: str, at: str = "", held: int = 0) -> None:
        """Press a key: `Tab`, `ArrowDown`, `n`; where an element is named, with the focus on it; `held` as `SHIFT`."""
        if at:
            self.focus(at)
        text = {"Enter": "\r", " ": " "}.get(name)
        number = KEYS.get(name) or ord(name.upper())
        known = {"key": name, "code": name, "windowsVirtualKeyCode": number, "modifiers": held}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def mouse(self, *places: tuple[float, float], held: int = 0) -> None:
        """Press the mouse at the first place of the window, move it along the others, and let go."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*places, places[-1]], strict=True):
            button = {"button": "left", "buttons": 1, "clickCount": 1, "modifiers": held}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def touch(self, *places: tuple[float, float]) -> None:
        """Put a finger on the first place of the window, move it along the others, and lift it."""
        for kind, place in zip(["touchStart", *["touchMove"] * (len(places) - 1)], places, strict=True):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[dict(zip("xy", place, strict=True))])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int = 900, dark: bool = False, still: bool = False) -> None:
        """The size of the window, the colour scheme of the system, and whether things may move; not on paper."""
        self.width = width
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        wanted = {"color-scheme": "dark" if dark else "light", "reduced-motion": "reduce" if still else "no-preference"}
        features = [{"name": f"prefers-{name}", "value": value} for name, value in wanted.items()]
        self.call("Emulation.setEmulatedMedia", media="", features=features)


CONTROL, SHIFT = 2, 8
KEYS = {"Backspace": 8, "Delete": 46}
KEYS |= {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def above(handle: int) -> int:
    """A copy with a number that is neither 3 nor 4, where the browser looks for its pipe."""
    copy = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(handle)
    return copy


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile."""
    assert CHROMIUM is not None
    theirs_in, to = map(above, os.pipe())
    back, theirs_out = map(above, os.pipe())

    def connect() -> None:
        os.dup2(theirs_in, 3)
        os.dup2(theirs_out, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        process = subprocess.Popen(command, preexec_fn=connect, pass_fds=(3, 4), start_new_session=True, **nothing)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(process, to, back)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(to)
            os.close(back)
