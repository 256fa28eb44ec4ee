"""Shows the result of a campaign, and how far it is. It reads only the data in the folder of the campaign."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from conformance.campaigns import (
    CampaignResult,
    ComponentResult,
    DifferenceResult,
    ImplementationResult,
    LostBlock,
    SoFar,
    Status,
    causes_of,
)
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.status import FoundSoFar
from conformance.driver import ANSWERS, Components
from conformance.engines import Standing
from conformance.engines.claims import never_used
from conformance.ports import Capability
from conformance.ports.registry import KNOWN_BUG_SCHEME
from conformance.reporting.claims import claims_remarks
from conformance.reporting.columns import (
    NO_STANDING,
    NOTHING_KNOWN,
    columns_of_result,
    places_of,
    unfinished_column,
)
from conformance.reporting.counts import counted
from conformance.reporting.known import standing_remarks
from conformance.reporting.looks import Slug, simple_table
from conformance.reporting.verdicts import Remark, Tried, Verdicts
from conformance.reporting.words import plain

_FEW = 20
"""How many lost blocks are listed."""


def campaign_verdicts(
    result: CampaignResult,
    standings: Mapping[str, Standing] = NOTHING_KNOWN,
    reports: Path | None = None,
    components: Components = SEARCHED,
    unfinished: Sequence[str] = (),
) -> Verdicts:
    """Return what a person is shown of a campaign.

    `standings`: by the name of the implementation. `unfinished`: sentences about what is missing; empty if it is over.
    """
    columns = columns_of_result(result, components, standings)
    if unfinished:
        columns = [unfinished_column(one) for one in columns]
    tried = tuple(
        Tried(
            one.name,
            tuple(column for column in columns if column.name == one.name),
            causes_of(one, components),
            standings.get(one.name, NO_STANDING),
            must_fail=must_fail(one, unfinished),
            never_used=() if unfinished or one.name in result.plan.sought else _never_used(one, components),
        )
        for one in result.implementations
    )
    place = places_of(components)
    lost = sorted(result.lost_blocks, key=lambda one: place(one.component))
    differences = sorted(result.differences, key=lambda one: place(one.component))
    remarks = [*_lost(lost), *_differences(differences, result.plan.baseline)]
    remarks += [*_sought(result), *claims_remarks(tried), *_idle(result, unfinished), *map(Remark, unfinished)]
    remarks += _episodes(result)
    for name, now in standings.items():
        remarks += standing_remarks(name, now)
    return Verdicts(tried, tuple(remarks), reports, components)


def _never_used(one: ImplementationResult, components: Components) -> tuple[Capability, ...]:
    """Return what an implementation claims and never used. Results of earlier versions do not say what it claims."""
    judged = [judged for part in one.components for judged in components[part.component].properties]
    exercised = [slug for part in one.components for slug in _exercised(part)]
    return never_used(one.claims or (), judged, exercised)


def must_fail(one: ImplementationResult, unfinished: Sequence[str]) -> bool:
    """Return whether this is a known bug that must have been found: while blocks are missing, it may still be found."""
    return one.name.startswith(KNOWN_BUG_SCHEME) and (not unfinished or any(part.findings for part in one.components))


def idle(result: CampaignResult) -> list[str]:
    """Name the implementations of which nothing was put to the test, each with the component if it offers any.

    As in a check, that an operation returns counts for nothing. Known bugs are to be found, and of episodes it counts
    what was restored.
    """
    if result.plan.of_episodes:
        return []
    found = []
    for one in result.implementations:
        parts = [] if one.name.startswith(KNOWN_BUG_SCHEME) else one.components
        found += [f"{one.name} in {part.component}" for part in parts if not _exercised(part) - {ANSWERS}]
        found += [] if one.components else [f"{one.name}, which offers no component of this campaign"]
    return found


def _exercised(part: ComponentResult) -> set[str]:
    return {judged.slug for judged in part.properties if judged.scenarios}


def _idle(result: CampaignResult, unfinished: Sequence[str]) -> list[Remark]:
    """Say that something was not put to the test at all. While blocks are missing, each cell says so."""
    lines = () if unfinished else tuple(idle(result))
    return [Remark("Nothing was put to the test. The campaign is inconclusive.", lines, few=3)] if lines else []


def so_far_lines(now: SoFar) -> list[str]:
    """Say in sentences how far a campaign without a result is, what that means, and how it goes on."""
    if now.planned is None:
        lines = [f"The campaign has not ended: {counted(now.blocks, 'block')} {_be(now.blocks)} committed."]
    else:
        planned = counted(now.planned, "block")
        lines = [f"The campaign has not ended: {now.blocks:,} of {planned} {_be(now.blocks)} committed."]
    if now.result is not None and any(part.findings for one in now.result.implementations for part in one.components):
        lines.append(
            "The scenarios are as the search found them, and each finding stands alone: when the campaign ends, they "
            "are reduced and grouped by likely cause."
        )
    if now.held_by is None:
        lines.append(f"No process runs the campaign. Continue with: {now.resume}")
    else:
        lines.append(f"The campaign is being run by {now.held_by}. If that stops early, continue with: {now.resume}")
    return lines


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _sought(result: CampaignResult) -> list[Remark]:
    """Say that some implementations were run until they failed, so that they have fewer scenarios than others."""
    sought = result.plan.sought
    if not sought:
        return []
    found = sum(any(part.findings for part in one.components) for one in result.implementations if one.name in sought)
    return [
        Remark(
            f"Run until a failure was found, each in one component: {counted(len(sought), 'known bug')}, of which "
            f"{found:,} failed. What they did not come to is not tested. Where all have failed, {result.plan.baseline} "
            "was run no longer, unless others were compared with it."
        )
    ]


def restores(result: CampaignResult) -> int:
    """Return in how many episodes of a campaign a life was seen that was restored from recovery data."""
    from conformance.episodes import RESTORES  # only such a campaign loads what judges them

    parts = [part for one in result.implementations for part in one.components]
    return sum(judged.scenarios for part in parts for judged in part.properties if judged.slug == RESTORES)


def _episodes(result: CampaignResult) -> list[Remark]:
    """Say what the result of a campaign of episodes is worth."""
    if not result.plan.of_episodes:
        return []
    seen = restores(result)
    restored = f"In {counted(seen, 'episode')} a life was restored from recovery data."
    if not seen:
        restored = "No life was restored from recovery data, so nothing was put to the test."
    alike = "Two runs of an episode need not be alike: another campaign may find more, or less."
    return [*_happened(result), Remark(f"{restored} {alike}")]


def _happened(result: CampaignResult) -> Iterator[Remark]:
    """Say how many lives there were, and how they ended: what a clean result is worth."""
    from conformance.episodes.running import IMAGES, LIVES, RESTORED

    for one in result.implementations:
        counts = Counter[str]()
        for part in one.components:
            counts.update(part.happened or {})
        first = {words: counts.pop(words) for words in (LIVES, RESTORED, IMAGES) if words in counts}
        shown = ", ".join(f"{words} {count:,}" for words, count in (*first.items(), *counts.most_common()))
        if shown:
            whose = f" to {one.name}" if len(result.implementations) > 1 else ""
            yield Remark(f"What happened{whose}: {shown}.")


def _differences(differences: Sequence[DifferenceResult], baseline: str) -> list[Remark]:
    if not differences:
        return []
    lines = tuple(
        f"difference {one.component} {one.operation} {one.field} {one.implementation} "
        f"({counted(one.count, 'scenario')}, {counted(one.steps, 'step')})"
        for one in differences
    )
    numbers = Counter(one.implementation for one in differences)
    whose = ", ".join(f"{name} {number:,}" for name, number in numbers.items())
    sentence = f"Differences from {baseline}, which are no violations: {whose}."
    return [Remark(sentence, lines, _differences_table(differences), on_page=False)]


def _lost(blocks: Sequence[LostBlock]) -> list[Remark]:
    if not blocks:
        return []
    scenarios = counted(sum(one.count for one in blocks), "scenario")
    lines = tuple(f"lost {one.component} {_numbers(one)}: {plain(one.reason)}" for one in blocks)
    return [Remark(f"Lost, since they could not be run: {scenarios}. The campaign is inconclusive.", lines, few=3)]


def _numbers(block: LostBlock) -> str:
    return f"{block.first}-{block.first + block.count - 1}"


def _differences_table(differences: Sequence[DifferenceResult]) -> Table:
    table = simple_table(
        None, "A difference is no violation. seen: in how many scenarios; steps: of the shortest, up to the difference."
    )
    table.add_column("implementation", ratio=1)
    table.add_column("component")
    table.add_column("operation", ratio=1)
    table.add_column("field")
    table.add_column("seen", justify="right")
    table.add_column("steps", justify="right")
    for one in differences:
        operation = Text(one.operation, overflow="fold")
        table.add_row(
            Slug(one.implementation), Slug(one.component), operation, Text(one.field), f"{one.count:,}", str(one.steps)
        )
    return table


def _is_known_bug(one: FoundSoFar) -> bool:
    return one.implementation.startswith(KNOWN_BUG_SCHEME)


def status_lines(now: Status, folder: Path, components: Components = SEARCHED) -> list[str]:
    """Describe the progress of a campaign in sentences. What known bugs did, which must fail, comes last.

    At most twenty failures are shown, and the number of the others.
    """
    place = places_of(components)
    planned = "an unlimited number of" if now.planned is None else f"{now.planned:,}"
    lines = [f"{now.blocks:,} of {planned} blocks are committed: {now.scenarios:,} scenarios, {now.steps:,} steps."]
    found = sorted(now.found, key=lambda one: (_is_known_bug(one), one.implementation, place(one.component)))
    lines += [
        f"{one.implementation} {one.component}: {one.property} ({one.failure_class}, at {one.operation}) failed in "
        f"{counted(one.count, 'scenario')}; the shortest so far has {counted(one.steps, 'step')}."
        for one in found[:_FEW]
    ]
    if more := found[_FEW:]:
        known = sum(map(_is_known_bug, more))
        lines.append(f"{counted(len(more), 'more failure')}, {known:,} of known bugs.")
    lines += [f"Lost block: {one}." for one in now.lost[:_FEW]]
    if len(now.lost) > _FEW:
        lines.append(f"{len(now.lost) - _FEW:,} more blocks are lost.")
    if now.finished:
        lines.append(
            f"The campaign has ended. Show the verdicts with: conformance campaign report {shlex.quote(str(folder))}"
        )
    elif now.held_by is not None:
        lines.append(f"The campaign is being run by {now.held_by}.")
    else:
        lines.append(
            f"No process runs the campaign. Continue with: conformance campaign resume {shlex.quote(str(folder))}"
        )
    return lines
