"""Asking to stop: a flag, the old handlers back, and a way out for the impatient."""

import signal
import threading

import pytest

from regulargpt.storage import StopRequested


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_flag_and_nothing_else(number):
    before = signal.getsignal(number)
    with StopRequested() as stop:
        assert not stop
        signal.raise_signal(number)
        assert stop
        assert stop.requested
        assert stop.name == number.name
    assert signal.getsignal(number) is before
    assert stop.requested


@pytest.fixture
def former():
    """The handlers before, which are there again afterwards."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.usefixtures("former")
def test_a_second_ctrl_c_interrupts_and_a_second_sigterm_does_not():
    with StopRequested() as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.requested


@pytest.mark.usefixtures("former")
def test_handlers_are_put_back_after_an_error():
    with pytest.raises(ZeroDivisionError), StopRequested():
        _ = 1 / 0


def test_in_another_thread_it_does_nothing(former):
    seen = []

    def work():
        with StopRequested() as stop:
            seen.append((stop.requested, signal.getsignal(signal.SIGINT) is former[0]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, True)]
