"""Ends a check or a campaign: writes bug reports, prints verdicts and determines the exit status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from conformance.campaigns import SEARCHED, CampaignResult, evidence_of, found_of
from conformance.components import COMPONENTS
from conformance.driver import Components, Program
from conformance.engines import Found, KnownFailure, Standing, replay, standing
from conformance.engines.apart import find
from conformance.engines.explain import explain
from conformance.engines.fresh import in_fresh_process
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.patience import PATIENCE
from conformance.engines.transcribe import transcribe
from conformance.ports import Capability, Implementation, check_chosen, find_implementation
from conformance.ports.registry import KNOWN_BUG_SCHEME
from conformance.reporting.bug_report import this_environment, write_bug_report
from conformance.reporting.campaign import campaign_verdicts, idle, must_fail, restores
from conformance.reporting.checked import Checked
from conformance.reporting.console import CarefulConsole
from conformance.reporting.counts import counted
from conformance.reporting.ctrf import write_ctrf
from conformance.reporting.differences import differences
from conformance.reporting.episode_reports import EpisodeReport, report_episode
from conformance.reporting.markdown import Report
from conformance.reporting.page import Content, check_index, evidence_by_key
from conformance.reporting.reports_folder import about_plan, conclude_folder, print_page, print_reports
from conformance.reporting.showing import BELOW, print_verdicts
from conformance.reporting.since import Since
from conformance.reporting.status import (
    CONFORMS,
    INCONCLUSIVE,
    INTERRUPTED,
    VIOLATION,
    status_in_words,
    status_of,
    worst,
)
from conformance.reporting.summary import Summed, write_summary
from conformance.reporting.verdicts import Remark


def report_of(
    name: str,
    found: Found,
    implementation: Implementation,
    assumed: Iterable[Capability],
    components: Components = COMPONENTS,
    interruption: Interruption = NEVER,
) -> Report:
    """Run the scenario of a violation again, on the reference, too, and return the data of its report.

    Nothing is written. The scenario is not run in a fresh process, so that there is no opinion of one. Once it is
    interrupted, the reason for each step is left out, which takes long.
    """
    seen = replay(found.scenario, implementation, assumed, components)
    reference = None
    if name != "reference":
        reference = replay(found.scenario, find_implementation("reference"), components=components)
    reasons: tuple[str, ...] = ()
    if _may_run_often(found, interruption):
        reasons = explain(Program(components[found.scenario.component], implementation, assumed), found.scenario)
    environment = this_environment(name, implementation.version)
    return Report(found, seen, name, reference, sorted(one.value for one in assumed), environment, reasons)


def report_violation(
    folder: Path,
    name: str,
    found: Found,
    implementation: Implementation,
    assumed: Iterable[Capability],
    components: Components = COMPONENTS,
    interruption: Interruption = NEVER,
) -> Report:
    """Write the bug report of a violation, with the outcomes of the reference on the same scenario; return its data.

    Once it is interrupted, it is written without what takes long: the reason for each step, a fresh process, and the
    lines that were sent to a program.
    """
    assumed = frozenset(assumed)
    report = report_of(name, found, implementation, assumed, components, interruption)
    if _may_run_often(found, interruption):
        report = replace(report, opinion=in_fresh_process(found.scenario, name, assumed, components))
    if not interruption.requested:
        program = Program(components[found.scenario.component], implementation, assumed)
        report = replace(report, transcript=transcribe(program, found.scenario))
    write_bug_report(folder, report)
    return report


def _may_run_often(found: Found, interruption: Interruption) -> bool:
    """Return whether there is time to run a scenario many times. One that crashes or hangs is not run so often."""
    return found.failure_class not in PATIENCE and not interruption.requested


def status_of_check(everybody: Iterable[Checked]) -> int:
    """Return the exit status of a check that was not interrupted."""
    statuses = [CONFORMS]
    for one in everybody:
        statuses += [status_of(check.found, one.standing) for check in one.checks]
        statuses += [INCONCLUSIVE for check in one.checks if check.idle or check.interrupted]
        statuses += [VIOLATION for _ in one.standing.fixed]
    return worst(statuses)


def conclude_campaign(
    console: CarefulConsole,
    result: CampaignResult,
    folder: Path,
    entries: Iterable[KnownFailure],
    components: Components = SEARCHED,
    chosen: Collection[str] = (),
    everything: bool = False,
    ctrf: Path | None = None,
    unfinished: Sequence[str] = (),
    interruption: Interruption = NEVER,
    summary: Path | None = None,
    earlier: Since | None = None,
    home: Path | None = None,
) -> int:
    """Print the result of a campaign, write a bug report for each violation, and return the exit status.

    A known bug must be found. Every other implementation may only have the failures that `entries` list. `chosen` are
    implementations that are not built in: the caller must name those with findings, whose scenarios are run here.
    `everything`: see `print_verdicts`. `ctrf`: where to write the verdicts in the Common Test Report Format.
    `unfinished`: sentences about what is missing if the campaign has no result yet, which is inconclusive.
    `summary`: where to write a summary in Markdown. `earlier`: what has changed since another campaign. `home`: the
    folder of the campaign, which has the evidence of episodes; they are not run again, and are no known failures.

    Once it is interrupted, every violation still has its bug report and its place on the page, without what takes long,
    and both the page and what is printed say so.

    Raises: NotChosen.
    """
    run = {one.name for one in result.implementations if entries or any(part.findings for part in one.components)}
    run = set() if result.plan.of_episodes else run
    names = [one.name for one in result.implementations]
    check_chosen(names, (*chosen, *(name for name in names if name not in run)), "The result of the campaign")
    statuses = [INCONCLUSIVE] if result.lost_blocks or unfinished or idle(result) else [CONFORMS]
    if result.plan.of_episodes and not restores(result):
        statuses.append(INCONCLUSIVE)
    standings: dict[str, Standing] = {}
    reports: list[Report] = []
    hurried = 0
    episodes: list[EpisodeReport] = []
    check_index(folder)
    for one in result.implementations:
        found = [found_of(finding, components) for component in one.components for finding in component.findings]
        is_known = one.name.startswith(KNOWN_BUG_SCHEME)
        if must_fail(one, unfinished) and not found:
            statuses.append(VIOLATION)
        if result.plan.of_episodes:
            for finding in found:
                kept = home and finding.first is not None and evidence_of(home, result.plan, one.name, finding.first)
                episodes.append(report_episode(folder, one.name, finding, components, kept or None))
            statuses += [VIOLATION] if found else []
            continue
        if not found and not entries:
            continue
        with closing(find(one.name, components=components)) as implementation:
            now = standing(
                entries, one.name, implementation, result.plan.components, result.plan.assume, components
            )  # fmt: skip
            for finding in found:
                reports.append(
                    report_violation(
                        folder, one.name, finding, implementation, result.plan.assume, components, interruption
                    )
                )
                hurried += interruption.requested
        standings[one.name] = now
        if not is_known:
            statuses += [status_of(found, now), *(VIOLATION for _ in now.fixed)]
    verdicts = campaign_verdicts(result, standings, folder if reports or episodes else None, components, unfinished)
    verdicts = replace(verdicts, remarks=(*verdicts.remarks, *_otherwise(reports)))
    cut_short = _cut_short(hurried, len(reports)) if interruption.requested else []
    verdicts = replace(verdicts, remarks=(*verdicts.remarks, *map(Remark, cut_short)))
    if earlier is not None:
        verdicts = replace(verdicts, remarks=(*verdicts.remarks, earlier.remark))
    print_verdicts(console, verdicts, everything, BELOW + 1)  # where the result is stands there, too
    status = INTERRUPTED if interruption.requested else worst(statuses)
    console.print(status_in_words(status))
    if reports or episodes:
        print_reports(console, folder)
    exercise = {
        (one.name, part.component): part.exercise
        for one in result.implementations
        for part in one.components
        if part.exercise is not None
    }
    content = Content(
        verdicts, status_in_words(status), evidence_by_key(reports), exercise, about_plan(result.plan),
        [*unfinished, *cut_short], differences(result, chosen, components, interruption), earlier, episodes=episodes,
    )  # fmt: skip
    if ctrf is not None:
        write_ctrf(ctrf, verdicts)
    if summary is not None:
        write_summary(summary, Summed(verdicts, content.status, content.unfinished, content.differences, earlier))
    print_page(console, conclude_folder(folder, content))
    return status


def _otherwise(reports: Sequence[Report]) -> list[Remark]:
    """Name the findings whose scenario, run just now for its report, does not show what is recorded of it.

    A crash or a hang is described in words that are not the same everywhere.
    """
    lines = tuple(
        f"{report.implementation}, {report.found.scenario.component}: {report.found.slug}"
        for report in reports
        if report.found.failure_class not in PATIENCE and not _as_recorded(report)
    )
    if not lines:
        return []
    sentence = (
        f"Not as recorded: {counted(len(lines), 'finding')}. Run just now, the scenario shows something else: the "
        "implementation has changed or is not deterministic, or somebody has changed the files."
    )
    return [Remark(sentence, lines, few=3)]


def _as_recorded(report: Report) -> bool:
    found, violation = report.found, report.replay.violation
    if violation is None or violation.signature != found.signature:
        return False
    # Behind what was observed may stand why a scenario was not reduced.
    return violation.broken.owed == found.owed and found.observed.startswith(violation.broken.observed)


def _cut_short(hurried: int, every: int) -> list[str]:
    """Say what an interruption has left out of so many reports. The verdicts do not depend on it."""
    if not hurried:
        return ["Interrupted, when all bug reports had been written."]
    return [
        f"Interrupted: {hurried:,} of {counted(every, 'bug report')} may lack the reason for each step, the replay in "
        "a fresh process and the lines of a program. conformance campaign report writes them again."
    ]
