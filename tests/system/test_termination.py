"""SIGTERM ends a command as Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from conformance.cli.interrupting import interruptible
from conformance.system.termination import as_ctrl_c


@pytest.fixture(autouse=True)
def the_usual_handlers() -> Iterator[None]:
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.getsignal(number) for number in numbers]
    yield
    left = [signal.getsignal(number) for number in numbers]
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
    assert left == before


def test_it_raises_what_ctrl_c_raises() -> None:
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_it_does_so_where_ctrl_c_is_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.signal(signal.SIGINT, before)


def test_a_command_that_concludes_is_asked_first_and_interrupted_then() -> None:
    with as_ctrl_c(), interruptible(quiet=True) as asked:
        signal.raise_signal(signal.SIGTERM)
        assert asked.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_who_has_another_use_for_it_keeps_it() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with as_ctrl_c():
        signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    signal.signal(signal.SIGTERM, before)
