"""Ctrl-C and SIGTERM as a question that training asks between steps, not an exception inside a step."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class StopRequested:
    """While the block runs, SIGINT and SIGTERM set `requested`; a second Ctrl-C raises KeyboardInterrupt.

    The former handlers are put back at the end. Outside the main thread, where Python allows no handlers, it
    does nothing.

    >>> with StopRequested() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stop.requested, stop.name
    (True, 'SIGTERM')
    """

    def __init__(self) -> None:
        self.requested = False
        self.name = ""
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopRequested":
        # SIGHUP is left alone: a closed terminal ends the process, and what is on the disk is whole.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            # None is a handler that was installed from C, which Python cannot put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._former.clear()

    def __bool__(self) -> bool:
        return self.requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # A second Ctrl-C is somebody who does not want to wait; a second SIGTERM is often a scheduler's habit.
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True
        self.name = signal.Signals(number).name
