"""A plugin of pytest that writes how much processor time each test takes, with its fixtures, and whether it passed.

python -m pytest -p tests.hunts.durations --durations-into FILE --durations-most 8

A function that takes more than the given seconds, with all its parameters, is stopped, and counts as one that failed;
and so does one that starts processes, in which the lines that it comes to are not seen.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from conformance.system.writing import write_text


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-into", type=Path, default=None)
    parser.addoption("--durations-most", type=float, default=60.0)


def pytest_configure(config: pytest.Config) -> None:
    if (file := config.getoption("--durations-into")) is not None:
        config.pluginmanager.register(Durations(file, config.getoption("--durations-most")))


def _used() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _too_long(number: int, frame: object) -> None:
    pytest.fail("it takes too long")


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


class Durations:
    """The seconds of each test that passed, by the node without its parameters; a function counts whole."""

    def __init__(self, file: Path, most: float) -> None:
        self.file = file
        self.most = most
        self.seconds: dict[str, float] = {}
        self.unusable: set[str] = set()
        self.running = False
        sys.addaudithook(self._heed)

    def _heed(self, event: str, arguments: object) -> None:
        if self.running and event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
            pytest.fail("it starts a process")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        if (node := _function(item)) in self.unusable or self.seconds.get(node, 0.0) > self.most:
            pytest.skip("it takes too long, or starts a process")
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with self._limited(item):
            return (yield)

    @contextmanager
    def _limited(self, item: pytest.Item) -> Iterator[None]:
        began = _used()
        self.running = True
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, self.most)
        try:
            yield
        finally:
            self.running = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[_function(item)] = self.seconds.get(_function(item), 0.0) + _used() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.unusable.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self) -> None:
        usable = {
            node: round(seconds, 3) for node, seconds in self.seconds.items()
            if node not in self.unusable and seconds <= self.most
        }  # fmt: skip
        write_text(self.file, msgspec.json.format(msgspec.json.encode(usable), indent=1).decode())
