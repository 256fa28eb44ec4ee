"""A plugin of pytest that writes how much processor time each test takes, with its fixtures, and whether it passed.

python -m pytest -p tests.hunts.durations --durations-into FILE
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import msgspec
import pytest

from conformance.system.writing import write_text


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-into", type=Path, default=None)


def pytest_configure(config: pytest.Config) -> None:
    if (file := config.getoption("--durations-into")) is not None:
        config.pluginmanager.register(Durations(file))


class Durations:
    """The seconds of each test that passed, by the node without its parameters; a function counts whole."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.seconds: dict[str, float] = {}
        self.unusable: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = process_time()
        try:
            return (yield)
        finally:
            node = item.nodeid.partition("[")[0]
            self.seconds[node] = self.seconds.get(node, 0.0) + process_time() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.unusable.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self) -> None:
        usable = {node: round(seconds, 3) for node, seconds in self.seconds.items() if node not in self.unusable}
        write_text(self.file, msgspec.json.format(msgspec.json.encode(usable), indent=1).decode())
