"""Moves a finding of a campaign into a corpus: a folder of minimal scenarios, each with its ticket, kept for good.

The corpus of the suite and that of a user are the same: the files `*.json` of a folder, each of which is a scenario.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from json import dumps
from pathlib import Path

from conformance.campaigns import EPISODE, CampaignError, CampaignResult, found_of
from conformance.campaigns.names import SEARCHED
from conformance.driver import Components
from conformance.engines import Found, Replay, replay
from conformance.engines.apart import find
from conformance.engines.replay import read_scenario
from conformance.ports import check_chosen
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.counts import counted
from conformance.reporting.words import plain
from conformance.scenarios import Finding, Scenario, encode_scenario, scenario_id
from conformance.system.text import neutral_line
from conformance.system.writing import write_text

_TICKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST = 20
"""How many findings are named to somebody who has named none of them."""


@dataclass(frozen=True, slots=True)
class Named:
    """A finding of a campaign, with the names by which a person knows it."""

    implementation: str
    """The name in the plan."""
    found: Found
    folder: str
    """The name of its bug report, which the page shows, too."""

    def is_called(self, name: str) -> bool:
        """Return whether this is its folder, the digits at the end of that, or the id of its scenario."""
        return name in (self.folder, self.folder.rpartition("-")[2], scenario_id(self.found.scenario))

    def __str__(self) -> str:
        _, failure_class, operation = self.found.signature
        return f"{self.folder} ({self.implementation}: {failure_class} at {operation})"


@dataclass(frozen=True, slots=True)
class Promoted:
    """A finding that is in a corpus now."""

    path: Path
    named: Named
    ticket: str


def promote(
    result: CampaignResult, name: str, ticket: str, corpus: Path, chosen: Collection[str] = (),
    components: Components = SEARCHED,
) -> Promoted:  # fmt: skip
    """Write the minimal scenario of a finding into a corpus, and return what was written.

    `name`: of the finding, or a path that ends with it. `chosen`: implementations that are not built in, as for
    `conclude_campaign`. The scenario is run first: it must fail as the campaign recorded it.

    Raises: CampaignError if there is no such finding, the corpus has its scenario, or the scenario does not fail so;
    NotChosen; SchemaError if a file of the corpus is no scenario; OSError.
    """
    if not _TICKET.fullmatch(ticket):
        raise CampaignError(
            f"The ticket {ticket[:100]!r} cannot begin the name of a file. Name it as FLINK-40519, in letters, digits "
            "and . _ - only."
        )
    one = _meant(result, name, components)
    scenario = one.found.scenario
    if scenario.component == EPISODE:
        raise CampaignError(
            "An episode cannot be promoted: two runs of one need not be alike, and no corpus is replayed with them. "
            f"Keep its folder {one.folder}."
        )
    check_chosen([one.implementation], chosen, "The result of the campaign")
    if (same := _same(scenario, corpus, components)) is not None:
        raise CampaignError(
            f"{same} has this scenario already, so nothing was written. Another ticket for it belongs into that file, "
            'into the field "ticket" of its finding.'
        )
    with closing(find(one.implementation, components=components)) as implementation:
        seen = replay(scenario, implementation, result.plan.assume, components)
    if (instead := _instead(seen, one.found)) is not None:
        raise CampaignError(
            f"{one.folder} does not fail on {one.implementation} now as the campaign recorded it: {instead}. A corpus "
            "has scenarios that fail as recorded. If the implementation has changed, run a new campaign and promote "
            "what that finds; if it has not, it does not give the same results every time, and needs a ticket for that."
        )
    slug, failure_class, _ = one.found.signature
    kept = Scenario(
        scenario.component, scenario.config, scenario.steps, Finding(slug, failure_class, one.implementation, ticket)
    )
    path = _free(corpus, f"{ticket}-{scenario.component}")
    write_text(path, encode_scenario(kept))
    return Promoted(path, one, ticket)


def promoted_lines(promoted: Promoted) -> list[str]:
    """Return what is said of a finding that was promoted: where it is, and its entry in a list of known failures."""
    found = promoted.named.found
    entry = {
        "property": found.slug,
        "component": found.scenario.component,
        "class": found.failure_class,
        "ticket": promoted.ticket,
        "reason": plain(found.observed),
        "scenario": promoted.path.name,
        "implementation": promoted.named.implementation,
    }
    return [
        f"Promoted: {promoted.path} ({counted(len(found.scenario.steps), 'step')})",
        "Until the bug is fixed, a list of known failures in the same folder needs this entry:",
        "[[failure]]",
        # A text of TOML is one of JSON, if nothing in it is a control character.
        *(f"{key} = {dumps(neutral_line(text), ensure_ascii=False)}" for key, text in entry.items()),
    ]


def _named(result: CampaignResult, components: Components) -> Iterator[Named]:
    for one in result.implementations:
        for part in one.components:
            for finding in part.findings:
                found = found_of(finding, components)
                yield Named(one.name, found, report_folder_name(one.name, found))


def _meant(result: CampaignResult, name: str, components: Components) -> Named:
    """Return the finding of this name. Raises: CampaignError if there is none, or more than one."""
    every = list(_named(result, components))
    meant = [one for one in every if one.is_called(Path(name).name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise CampaignError(f"{name!r} is the scenario of several findings. Name one of them: {_list(meant)}.")
    if not every:
        raise CampaignError(f"There is no finding {name[:200]!r}: the campaign found nothing that failed.")
    raise CampaignError(
        f"There is no finding {name[:200]!r} in the result of the campaign. A finding is named by the folder of its "
        f"bug report, the digits at the end of that, or the id of its scenario: {_list(every)}."
    )


def _list(findings: list[Named]) -> str:
    more = f"; and {len(findings) - _MOST:,} more" if len(findings) > _MOST else ""
    return "; ".join(neutral_line(str(one)) for one in findings[:_MOST]) + more


def _same(scenario: Scenario, corpus: Path, components: Components) -> Path | None:
    """Return the file of a corpus that has the same component, configuration and steps; None if there is none."""
    wanted = scenario_id(scenario)
    files = sorted(corpus.glob("*.json")) if corpus.is_dir() else []
    return next((file for file in files if scenario_id(read_scenario(file, components)) == wanted), None)


def _instead(seen: Replay, found: Found) -> str | None:
    """Return what a replay shows instead of a finding; None if it shows the finding."""
    if seen.violation is None:
        return f"{seen.verdict.value}, {seen.reason}"
    if seen.violation.signature == found.signature:
        return None
    slug, failure_class, operation = seen.violation.signature
    return f"{slug} fails ({failure_class}, at {operation}), and not {found.slug} (at {found.signature[2]})"


def _free(corpus: Path, stem: str) -> Path:
    """Return the first name in a corpus that nothing has: a ticket may have several scenarios."""
    path, number = corpus / f"{stem}.json", 1
    while path.exists() or path.is_symlink():
        number += 1
        path = corpus / f"{stem}-{number}.json"
    return path
