"""The folder of a finding of a campaign of episodes, to attach to a ticket. Nothing is run for it."""

from __future__ import annotations

import secrets
import shlex
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from conformance.campaigns import ADAPTER_SCHEME
from conformance.driver import Components
from conformance.engines import Found
from conformance.reporting.bug_report import report_folder_name, this_environment
from conformance.reporting.counts import counted
from conformance.reporting.episodes import job_words
from conformance.reporting.markdown import cell, table
from conformance.reporting.words import failure_class_in_words, step_in_words
from conformance.scenarios import encode_scenario
from conformance.system.copying import link_folder
from conformance.system.text import markdown_block
from conformance.system.writing import rename_folder, write_folder

EVIDENCE = "evidence"
"""What the first episode has left that failed so: the folder of its job, logs, and the episode as it was drawn."""


@dataclass(frozen=True, slots=True)
class EpisodeReport:
    """A finding that has a folder of its own."""

    implementation: str
    """Its name in the plan."""
    found: Found


def again_command(file: str, name: str) -> str:
    """Return the command that runs a kept episode again. `name`: of the implementation, which has an adapter."""
    return shlex.join(["conformance", "episodes", name.removeprefix(ADAPTER_SCHEME), "--again", file])


def report_episode(folder: Path, name: str, found: Found, components: Components, kept: Path | None) -> EpisodeReport:
    """Write the folder of a finding, and return what a page shows of it. `kept`: its evidence in the campaign, if any.

    Raises: as `write_folder`.
    """
    path = folder / report_folder_name(name, found)
    evidence = kept if kept is not None and kept.is_dir() and not _leads_elsewhere(kept) else None
    text = _text(path, name, found, components, evidence is not None)
    write_folder(path, {"report.md": text, "scenario.json": encode_scenario(found.scenario)})
    if evidence is not None:
        _add(evidence, path)
    return EpisodeReport(name, found)


def _leads_elsewhere(kept: Path) -> bool:
    """Whether somebody else decides what the evidence is: it, or a folder in which it lies, is a link."""
    return any(one.is_symlink() for one in (kept, kept.parent, kept.parent.parent))


def _add(evidence: Path, report: Path) -> None:
    """Put the evidence into a report: as a whole, or not at all if another process has done so meanwhile."""
    fresh = report.with_name(f".{report.name}.{secrets.token_hex(4)}.part")
    try:
        link_folder(evidence, fresh)
        with suppress(FileExistsError):
            rename_folder(fresh, report / EVIDENCE)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _text(path: Path, name: str, found: Found, components: Components, has_evidence: bool) -> str:
    component = components[found.scenario.component]
    judged = next(one for one in component.properties if one.slug in (found.slug, *one.formerly))
    parts = [
        f"# Episode: “{found.slug.replace('-', ' ')}” does not hold ({cell(found.failure_class)})",
        f"**{cell(name)}** breaks this property in {counted(found.count, 'episode')}"
        + (f", first in episode {found.first}:" if found.first is not None else ":"),
        f"> {judged.statement}",
        table(("", ""), [("**expected**", cell(found.owed)), ("**observed**", cell(found.observed))]),
        "Two runs of an episode need not be alike: behind what was observed stands how often it failed again in the"
        " same way. Nothing was run for this report.",
        "## The smallest episode known",
        f"The job: {cell(job_words(found.scenario.config))}.",
        "\n".join(f"{at}. {cell(step_in_words(step, component))}" for at, step in enumerate(found.scenario.steps, 1)),
        "Then the last life reads everything to the end, and finishes.",
        "## Run it again",
        "Five times each, where the campaign was started; the second one is the episode as it was drawn, whose evidence"
        " is kept:" if has_evidence else "Five times, where the campaign was started:",
        markdown_block(
            "\n".join(
                again_command(str(path / file), name)
                for file in ("scenario.json", *([f"{EVIDENCE}/episode.json"] if has_evidence else []))
            ),
            "sh",
        ),
        "## Evidence",
        f"`{EVIDENCE}/` has what episode {found.first} has left: the folder of the job with its recovery data and"
        " output (`job`), a log and the notes of user code for each life, and what was wrong (`finding.txt`)."
        if has_evidence else "None was kept.",
        "## The property",
        f"`{judged.slug}`, failure class **{cell(found.failure_class)}**: "
        f"{cell(failure_class_in_words(found.failure_class))}.",
        *([f"Rule {judged.invariant}: `conformance docs episodes`."] if judged.invariant else []),
        "## Environment",
        table(("", ""), [(key, cell(value)) for key, value in this_environment(name).items()]),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"
