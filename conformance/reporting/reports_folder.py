"""Ends a folder of bug reports: writes the page, and removes what an earlier call wrote and this one did not."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance.campaigns import Plan
from conformance.engines import Check
from conformance.engines.exercise import Exercise, exercise_of
from conformance.reporting.bug_report import folder_name, report_folder_name
from conformance.reporting.checked import Checked
from conformance.reporting.conformance_report import Call
from conformance.reporting.console import CarefulConsole
from conformance.reporting.episode_reports import EVIDENCE
from conformance.reporting.markdown import Report
from conformance.reporting.page import Content, evidence_by_key, write_index
from conformance.reporting.verdicts import Verdicts
from conformance.scenarios import MOST_SCENARIO_BYTES
from conformance.scenarios.reading import decode_json, read_bytes

FILES = ("report.md", "scenario.json", "history.json", "calls.jsonl", "answers.jsonl", "test_reproduce.py")
"""The files of a bug report, now and in earlier versions."""


def conclude_folder(folder: Path, content: Content) -> Path:
    """Write the page, remove the bug reports of an earlier call, and return the path of the page.

    Raises: OSError. The page of the earlier call, if there was one, is unchanged then.
    """
    path = write_index(folder, content)
    kept = {report_folder_name(one.implementation, one.found) for one in content.evidence.values()}
    kept |= {report_folder_name(one.implementation, one.found) for one in content.episodes}
    remove_earlier(folder, kept)
    return path


def remove_earlier(folder: Path, kept: Collection[str]) -> None:
    """Remove the files of bug reports that are not `kept`, and folders that are empty then.

    Only what the suite has written is removed: the name of the folder must be that of the scenario in it.
    """
    for path in sorted(folder.iterdir()):
        if path.name in kept or path.is_symlink() or not path.is_dir() or not _is_report(path):
            continue
        for name in FILES:
            (path / name).unlink(missing_ok=True)
        shutil.rmtree(path / EVIDENCE, ignore_errors=True)
        with suppress(OSError):  # somebody has put something else there, which stays
            path.rmdir()


def _is_report(path: Path) -> bool:
    """Return whether a folder has the name that its scenario gives to it, as every bug report has."""
    try:
        scenario = decode_json(read_bytes(path / "scenario.json", MOST_SCENARIO_BYTES), dict[str, Any])
        parts = [scenario["component"], scenario["config"], scenario["steps"]]
        finding = scenario["finding"]
        return path.name == folder_name(finding["implementation"], finding["property"], parts)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def exercise_of_checks(everybody: Iterable[tuple[str, Sequence[Check]]]) -> dict[tuple[str, str], Exercise]:
    """Return what was counted in each setting, by implementation and component, from all checks by implementation."""
    return {
        (name, check.program.component.name): exercise_of(check.tally) for name, checks in everybody for check in checks
    }


def content_of_check(
    everybody: Sequence[Checked], verdicts: Verdicts, status: str, reports: Sequence[Report], call: Call,
    unfinished: Sequence[str] = (),
) -> Content:  # fmt: skip
    """Return what the page of a check shows."""
    exercise = exercise_of_checks((one.name, one.checks) for one in everybody)
    about = [("seed", call.seed), ("scenarios", f"{call.scenarios:,} of each component"), ("engine", call.engine)]
    return Content(verdicts, status, evidence_by_key(reports), exercise, about, unfinished)


def about_plan(plan: Plan) -> list[tuple[str, str]]:
    """Return what a campaign runs, as name and value."""
    return [("seed", plan.seed), ("baseline", plan.baseline), ("implementations", ", ".join(plan.implementations))]


def print_reports(console: CarefulConsole, folder: Path) -> None:
    """Print where the bug reports are."""
    console.print(f"Reports: {folder}", soft_wrap=True)


def print_page(console: CarefulConsole, path: Path) -> None:
    """Print where the page is."""
    console.print(f"Page: {path}", soft_wrap=True)
