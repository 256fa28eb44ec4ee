"""Writes the page of a pytest run into the folder of its bug reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.engines.check import Check
from conformance.engines.interruption import OnRequest
from conformance.ports import Capability, Implementation
from conformance.reporting.conclusion import report_of
from conformance.reporting.console import CarefulConsole
from conformance.reporting.page import Content, evidence_by_key
from conformance.reporting.reports_folder import conclude_folder, exercise_of_checks, print_page
from conformance.reporting.verdicts import Tried, Verdicts
from conformance.system.writing import make_folder


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests of one implementation found."""

    tried: Tried
    checks: tuple[Check, ...]
    """One for each component of which a property was tested."""
    implementation: Implementation


def print_page_of_run(
    console: CarefulConsole,
    folder: Path,
    results: Sequence[Result],
    verdicts: Verdicts,
    status: int,
    about: Sequence[tuple[str, str]],
    assumed: Iterable[Capability],
) -> None:
    """Write the page, and print where it is, or why it could not be written.

    `status`: the exit status of pytest. The tests, which may have run in other processes, have written the bug reports;
    here the scenario of each new failure is run once more, because the page shows how it went.
    """
    interruption, unfinished = OnRequest(), []
    if status == pytest.ExitCode.INTERRUPTED:
        interruption.request()
        unfinished.append("The run was interrupted. The properties that it did not come to are not tested.")
    reports = [
        report_of(one.tried.name, found, one.implementation, assumed, interruption=interruption)
        for one in results
        for cause in one.tried.new_causes
        for found in cause.found
    ]
    exercise = exercise_of_checks((one.tried.name, one.checks) for one in results)
    content = Content(verdicts, _in_words(status), evidence_by_key(reports), exercise, about, unfinished)
    try:
        make_folder(folder)
        path = conclude_folder(folder, content)
    except OSError as error:  # the verdicts are printed all the same
        console.print(f"The page was not written: {error}", soft_wrap=True)
    else:
        print_page(console, path)


def _in_words(status: int) -> str:
    try:
        meaning = pytest.ExitCode(status).name.lower().replace("_", " ")
    except ValueError:  # of another plugin
        return f"Exit status {int(status)} of pytest."
    return f"Exit status {int(status)} of pytest: {meaning}."
