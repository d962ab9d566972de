"""A headless Chromium, driven through a pipe by the DevTools protocol: nothing to install beside the browser."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
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
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; Debian: apt install chromium")
SECONDS = 60.0
FLAGS = [
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
]


class Browser:
    """One tab. `problems` are the page's errors, `requests` the addresses that it asked for."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int):
        self.process, self.to, self.back = process, to, back
        self.rest, self.number, self.session = b"", 0, ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.to, data) :]
        while (answer := self.receive()).get("id") != self.number:
            self.notice(answer)
        assert "error" not in answer, (method, answer)
        return answer["result"]

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
        """Keep what should not happen."""
        method, found = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(found["exceptionDetails"]))
        if method == "Log.entryAdded" and found["entry"]["level"] in ("warning", "error"):
            self.problems.append(found["entry"]["text"])
        if method == "Runtime.consoleAPICalled" and found["type"] in ("warning", "error", "assert"):
            self.problems.append(json.dumps(found["args"]))
        if method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])

    def open(self, path: Path, address: str = "") -> None:
        """Open a file and wait until its scripts have run."""
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        self.call("Page.navigate", url=path.as_uri() + address)
        while not self.evaluate("document.readyState == 'complete' && location.protocol == 'file:'"):
            pass

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def key(self, name: str, code: int = 0) -> None:
        """Press a key: `Tab`, `ArrowDown`, `Enter`."""
        text = {"Enter": "\r", " ": " "}.get(name)
        known = {"key": name, "code": name, "windowsVirtualKeyCode": code or KEYS[name]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, and the colour scheme of the system."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """The page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
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
        process = subprocess.Popen(
            command,
            preexec_fn=connect,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(process, to, back)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(to)
            os.close(back)
