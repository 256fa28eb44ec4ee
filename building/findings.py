"""Writes reports/findings.md: every finding in released Flink, one line each.

What is recorded already is not written again: the releases and tickets are those of the known failures, and in how many
scenarios a finding showed is what the pages of the searches say.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from conformance.components import COMPONENTS
from conformance.scenarios.reading import read_toml

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "reports"
PAGE = REPORTS / "findings.md"
KNOWN_FAILURES = ROOT / "conformance" / "bridges" / "flink" / "known_failures"
RELEASES = ("2.3.0", "2.2.1", "1.20.5")
NO_TICKET = "no ticket found"

_SCENARIOS = re.compile(r"^\| (?P<component>[a-z-]+) \| (?P<many>[\d,]+) scenarios, ", re.MULTILINE)
_SECTION = re.compile(r"^### (?P<component>[a-z-]+)$", re.MULTILINE)
_FAILED = re.compile(r"^\| `(?P<slug>[a-z0-9-]+)` \| must \| known failure \((?P<many>[\d,]+)\) \|$", re.MULTILINE)


class Finding(Struct, frozen=True, forbid_unknown_fields=True):
    """One finding, as reports/findings.toml has it: the fields are explained there."""

    says: Annotated[str, Meta(min_length=1)]
    state: Literal["live", "latent", "unknown"]
    page: str
    scenarios: tuple[str, ...] = ()
    design: str = ""
    releases: tuple[str, ...] = ()
    ticket: str = ""
    folder: str = ""
    found: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    finding: tuple[Finding, ...]


class Known(Struct, frozen=True):
    """What this page needs of a known failure. `conformance.engines.known_failures` reads all of it."""

    component: str
    property: str
    ticket: str
    scenario: str


class _KnownFile(Struct, frozen=True):
    failure: tuple[Known, ...]


class Searched(NamedTuple):
    """What the page of a search of one release says."""

    scenarios: Mapping[str, int]
    """By component, how many scenarios were run."""
    failed: Mapping[tuple[str, str], int]
    """By component and property, in how many it failed."""


def read_findings(path: Path = REPORTS / "findings.toml") -> tuple[Finding, ...]:
    """Returns the findings, in their order. Raises: SchemaError; OSError if the file cannot be read."""
    return read_toml(path, _File, "it should have one [[finding]] for each").finding


def known() -> dict[str, tuple[Known, ...]]:
    """Returns by release what is known to fail."""
    right = "its failures have component, property, ticket and scenario"
    return {one: read_toml(KNOWN_FAILURES / f"{one}.toml", _KnownFile, right).failure for one in RELEASES}


def read_page(text: str) -> Searched:
    """Returns what the page of a search says."""
    scenarios = {found["component"]: _number(found["many"]) for found in _SCENARIOS.finditer(text)}
    failed: dict[tuple[str, str], int] = {}
    sections = list(_SECTION.finditer(text))
    for one, after in zip(sections, [*(each.start() for each in sections[1:]), len(text)], strict=True):
        for found in _FAILED.finditer(text, one.end(), after):
            failed.setdefault((one["component"], found["slug"]), _number(found["many"]))
    return Searched(scenarios, failed)


def searched(release: str) -> Searched:
    """Returns what the pages of a release say: that of its components, of its coordinator, and of whole jobs."""
    names = (f"flink-{release}.md", f"flink-coordinator-{release}.md", f"flink-pipeline-{release}.md")
    pages = [read_page((REPORTS / name).read_text(encoding="utf-8")) for name in names]
    return Searched(
        {component: many for one in pages for component, many in one.scenarios.items()},
        {broken: many for one in pages for broken, many in one.failed.items()},
    )


HEADER = """# All findings in released Flink

{count} findings in {releases}: one line each, with the page that gives the cause. *Live*: Flink's own callers
get there; *latent*: no way was found; *unknown*: nobody has looked far enough. The design *in memory*, in which
recovered buffers are handed over at the conversion, is no longer on Flink's master branch: what concerns it alone is of
interest for the releases that have it.

In how many scenarios a finding shows is what the newest search of each release says
({pages}). For each component, it is the figure of the
property that fails most often, in the release with the most; † means that other findings break the same property, so
that the figure is that of all of them. *None* means that the search on that page did not come there: another one did,
whose scenario is kept. No draft of a ticket was filed.

`make findings` writes this page from [findings.toml](findings.toml), the known failures and the pages of the searches.

| finding | state | releases | design | found by | ticket |
|---|---|---|---|---|---|
"""


def releases_of(one: Finding, failures: Mapping[str, Sequence[Known]]) -> list[str]:
    """Returns the releases in which it was found, or that its program was run on, the newest first."""
    found = {release for release, some in failures.items() if any(each.scenario in one.scenarios for each in some)}
    return [release for release in RELEASES if release in found or release in one.releases]


def page(findings: Sequence[Finding]) -> str:
    """Returns the page."""
    failures, pages = known(), {release: searched(release) for release in RELEASES}
    owners = _owners(findings, failures)
    linked = ", ".join(f"[{release}](flink-{release}.md)" for release in RELEASES)
    text = HEADER.format(count=len(findings), releases=", ".join(RELEASES), pages=linked)
    for one in findings:
        mine = {release: [each for each in failures[release] if each.scenario in one.scenarios] for release in RELEASES}
        where = releases_of(one, failures)
        by = [*_shows(mine, pages, owners), *filter(None, [one.found])]
        text += (
            f"| [{one.says}]({one.page}) | {one.state} | {', '.join(where)} | {one.design or 'any'} |"
            f" {'; '.join(by) or 'not measured'} | {_ticket(one, mine)} |\n"
        )
    return text


Owners = Mapping[tuple[str, str, str], set[str]]
"""By release, component and property, what the findings say that break it."""


def _owners(findings: Sequence[Finding], failures: Mapping[str, Sequence[Known]]) -> Owners:
    owners: dict[tuple[str, str, str], set[str]] = {}
    for one in findings:
        for release, some in failures.items():
            for each in some:
                if each.scenario in one.scenarios:
                    owners.setdefault((release, each.component, each.property), set()).add(one.says)
    return owners


def _shows(mine: Mapping[str, Sequence[Known]], pages: Mapping[str, Searched], owners: Owners) -> Iterator[str]:
    """Yields for each component in how many scenarios it fails, in the release in which these are most."""
    components = dict.fromkeys(each.component for some in mine.values() for each in some)
    for component in components:
        found = [
            (_failed(pages[release], each), release, each)
            for release, some in mine.items()
            for each in some
            if each.component == component
        ]
        alone = [one for one in found if one[0] and len(owners[one[1], component, one[2].property]) == 1]
        many, release, _ = max(alone or found, key=lambda one: one[0])
        of = pages[release].scenarios.get(component)
        shared = "†" if many and not alone else ""
        yield f"`{component}` {f'{many:,}' if many else 'none'}{shared} of {of:,}" if of else f"`{component}`"


def _failed(one: Searched, failure: Known) -> int:
    """Returns in how many scenarios a property failed. A page may have one of its former names."""
    properties = COMPONENTS[failure.component].properties
    former = next((each.formerly for each in properties if each.slug == failure.property), ())
    return max(one.failed.get((failure.component, slug), 0) for slug in (failure.property, *former))


def _ticket(one: Finding, mine: Mapping[str, Sequence[Known]]) -> str:
    tickets = {each.ticket for some in mine.values() for each in some} - {NO_TICKET}
    ticket = one.ticket or ", ".join(sorted(tickets))
    if one.folder:
        return f"{ticket or 'none'}, [draft](flink-findings/{one.folder}/ticket.md)"
    return ticket or "none"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m building.findings", description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", default=PAGE, help=f"default: {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    options.page.write_text(page(read_findings()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
