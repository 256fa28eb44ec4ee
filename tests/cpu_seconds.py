"""A plugin of pytest that counts the CPU seconds of each kind of test, and prints the table in CONTRIBUTING.md.

`python -m pytest -n auto -p tests.cpu_seconds`. Other programs on the machine hardly change what it counts. The
processes that a test starts count if they have ended before the test does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Mapping
from fnmatch import fnmatch

import pytest

KINDS: Mapping[str, tuple[str, ...]] = {
    "known bugs are found, and fail as in the corpus": (
        "tests/engines/test_kill.py", "tests/engines/test_replay.py", "tests/engines/test_first_hits.py",
        "tests/reporting/test_plain_words.py", "tests/reference_impl/test_known_bugs.py",
    ),
    "the references and legal variants never fail": (
        "tests/engines/test_search.py", "tests/engines/test_variants.py", "tests/reference_impl/test_legal_variants.py",
        "tests/components/*",
    ),
    "Hypothesis": (
        "tests/engines/test_machine*.py", "tests/driver/test_world.py",
        "tests/scenarios/*", "tests/state_files/*", "tests/strategies/*",
    ),
    "exploration of small scopes": (
        "tests/engines/test_explore.py", "tests/engines/test_scope.py", "tests/engines/test_recognition.py",
        "tests/engines/test_digest.py",
    ),
    "Spark": ("tests/campaigns/test_spark.py", "tests/campaigns/test_cluster.py"),
    "campaigns, without Spark": ("tests/campaigns/*",),
    "other engines: search, reduction, matrix, workers": ("tests/engines/*",),
    "pytest as implementers run it, and the package": ("tests/suite/*", "tests/building/*"),
    "other languages and Flink, without its jars": ("tests/bridges/*",),
    "the reference, by hand-written scenarios": ("tests/reference_impl/*", "tests/models/*", "tests/ports/*"),
    "what is printed and written": ("tests/reporting/*",),
    "commands, documents, rooms": ("tests/*",),
}  # fmt: skip
"""The patterns of the files of each kind. The first that fits counts."""
_PROPERTY = "CPU seconds"
"""The property of the report of a test that has what it took."""


def kind_of(test: str) -> str:
    """Return the kind of a test with this node id."""
    file = test.partition("::")[0]
    return next(kind for kind, patterns in KINDS.items() if any(fnmatch(file, one) for one in patterns))


def table(seconds: Mapping[str, float]) -> list[str]:
    """Return the lines of the table, with the kinds that take longest first. `seconds`: by node id."""
    tests, total = Counter(map(kind_of, seconds)), dict.fromkeys(KINDS, 0.0)
    for test, spent in seconds.items():
        total[kind_of(test)] += spent
    rows = [(kind, tests[kind], total[kind]) for kind in sorted(tests, key=total.__getitem__, reverse=True)]
    rows.append(("all", len(seconds), sum(total.values())))
    lines = [f"| {kind} | {count:,} | {spent:,.0f} |" for kind, count, spent in rows]
    return ["| kind of test | tests | CPU seconds |", "|---|--:|--:|", *lines]


class _Counting:
    """Counts while pytest runs tests, in this process or in its workers: a report brings what its test has taken."""

    def __init__(self) -> None:
        self.before = 0.0
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self.before = _cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_PROPERTY, _cpu_seconds() - self.before))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                assert isinstance(value, float)
                self.seconds[report.nodeid] = value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in table(self.seconds):
            terminalreporter.write_line(line)


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_configure(config: pytest.Config) -> None:
    """Count in this process."""
    config.pluginmanager.register(_Counting(), "cpu seconds")
