"""Writes a bug report: a folder to attach to a ticket, with which one command reproduces the failure."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance.engines import Found
from conformance.ports import Transcript
from conformance.reporting.documents import encodable
from conformance.reporting.markdown import Report, report_text
from conformance.reporting.reproducer import reproducer
from conformance.scenarios import Finding, Scenario, canonical, encode_history, encode_scenario
from conformance.scenarios.names import as_file_name
from conformance.system.writing import write_folder


def report_folder_name(implementation: str, found: Found) -> str:
    """Return component, property and a hash of implementation and scenario: the same name on every machine.

    The implementation is part of it, since two of them may fail in the same minimal scenario.
    """
    scenario = found.scenario
    return folder_name(implementation, found.slug, [scenario.component, scenario.config, scenario.steps])


def folder_name(implementation: str, slug: str, content: list[Any]) -> str:
    """Return the name of the folder of a finding. `content`: the component, the configuration and the steps."""
    digest = hashlib.sha256(canonical([*content, implementation]).encode()).hexdigest()
    return as_file_name(f"{content[0]}-{slug}-{digest[:16]}")


def this_environment(implementation: str, version: str = "") -> dict[str, str]:
    """Return the implementation and the versions of the suite, of Python and of the platform."""
    return {
        "implementation": f"{implementation} {version}".rstrip(),
        "suite": f"checkpoint-conformance {__version__}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def write_bug_report(folder: Path, report: Report) -> Path:
    """Write the report of a violation into a folder below `folder`, replace an older report of it, and return its path.

    Raises: OSError. No file of the new report is left then.
    """
    found, implementation = report.found, report.implementation
    finding = Finding(found.slug, found.failure_class, implementation)
    scenario = Scenario(found.scenario.component, found.scenario.config, found.scenario.steps, finding)
    path = Path(folder) / report_folder_name(implementation, found)
    files: dict[str, str | bytes] = {
        "report.md": report_text(report),
        "scenario.json": encode_scenario(scenario),
        "history.json": encode_history(encodable(report.replay.history), implementation),
        "test_reproduce.py": reproducer(implementation, tuple(report.assume), path),
    }
    if isinstance(report.transcript, Transcript):
        files |= {"calls.jsonl": report.transcript.calls, "answers.jsonl": report.transcript.answers}
    write_folder(path, files)
    return path
