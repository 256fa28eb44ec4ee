"""How a failure is shown again: the command, and the steps of its scenario in words."""

from __future__ import annotations

import shlex
from pathlib import Path

from conformance.campaigns import EPISODE, SEARCHED
from conformance.driver import Components
from conformance.engines import Found
from conformance.ports.registry import is_built_in
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.episode_reports import again_command
from conformance.reporting.markdown import Report
from conformance.reporting.words import step_in_words

NEW = "new"
"""The operation of a failure that shows when the port is made."""


def replay_command(reports: Path, name: str, found: Found) -> str:
    """Return the command that replays a finding of the implementation with this name from its folder in `reports`."""
    if found.scenario.component == EPISODE:
        return again_command(str(reports / report_folder_name(name, found) / "scenario.json"), name)
    words = ["conformance", "replay", str(reports / report_folder_name(name, found) / "scenario.json")]
    # A file may name what is built in, and nothing else.
    return shlex.join(words if is_built_in(name) else [*words, "--implementation", name])


def steps_words(found: Found, components: Components = SEARCHED) -> str:
    """Return the steps of the scenario of a finding on one line, and that the drain shows it if that is certain.

    A failure shows in an operation. If the scenario has no step of this name, it was one of the drain.
    """
    scenario = found.scenario
    component = components[scenario.component]
    if not scenario.steps:
        where = "the constructor of the port" if found.signature[2] == NEW else "the drain that ends every run"
        return f"no steps: {where} shows it"
    words = "; ".join(step_in_words(step, component) for step in scenario.steps)
    _, _, operation = found.signature
    absent = {one.name for one in component.steps}.difference(step[0] for step in scenario.steps)
    by_drain = operation in absent and scenario.component != EPISODE  # which has no such drain
    return f"up to the drain that ends every run and shows it: {words}" if by_drain else words


def assumed_words(name: str, report: Report | None) -> str:
    """Return the options that a replay of a finding needs beside its scenario, as the end of a command."""
    words = [] if is_built_in(name) else ["--implementation", name]
    for one in () if report is None else report.assume:
        words += ["--assume", one]
    return "".join(f" {shlex.quote(word)}" for word in words)
