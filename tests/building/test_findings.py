"""The page of all findings is what its command writes now, and leaves out no known failure."""

from __future__ import annotations

import re
from collections import Counter

from building.findings import (
    PAGE,
    RELEASES,
    REPORTS,
    Finding,
    known,
    page,
    read_findings,
    read_page,
    releases_of,
    searched,
)

FINDINGS = read_findings()


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(FINDINGS), "write it again: make findings"


def test_each_known_failure_belongs_to_one_finding() -> None:
    claimed = Counter(scenario for one in FINDINGS for scenario in one.scenarios)
    there = {one.scenario for some in known().values() for one in some}
    assert set(claimed) == there
    assert set(claimed.values()) == {1}


def test_each_folder_with_evidence_belongs_to_a_finding() -> None:
    folders = {one.name for one in (REPORTS / "flink-findings").iterdir() if one.is_dir()}
    assert folders == {one.folder for one in FINDINGS if one.folder}


def test_each_finding_says_where_it_was_found() -> None:
    assert all(one.scenarios or (one.found and one.releases) for one in FINDINGS)
    assert all(set(one.releases) <= set(RELEASES) for one in FINDINGS)


def test_the_figures_of_each_release_are_read() -> None:
    for release in RELEASES:
        found = searched(release)
        assert {one.component for one in known()[release]} <= set(found.scenarios)
        assert found.failed


def test_figures_are_those_of_the_section_of_their_component() -> None:
    text = (
        "| gate | 4,000 scenarios, 9 steps |\n| deque | 20 scenarios, 1 steps |\n\n### deque\n\n"
        "| `a-rule` | must | passed (7) |\n\n### gate\n\n| `a-rule` | must | known failure (1,234) |\n"
    )
    found = read_page(text)
    assert found.scenarios == {"gate": 4000, "deque": 20}
    assert found.failed == {("gate", "a-rule"): 1234}


def test_what_several_findings_break_is_marked_and_what_none_has_shown_is_none() -> None:
    owner = next(one for one in FINDINGS if "failed-write-leaks-gate.json" in one.scenarios)
    other = next(one for one in FINDINGS if "failed-conversion-leaks-gate.json" in one.scenarios)
    assert re.search(r"`gate` \d+† of ", page([owner, other]))
    assert re.search(r"`gate` \d+ of ", page([owner]))
    assert "| not measured |" in page([Finding("It happens", "live", "page.md", releases=("2.3.0",))])


def test_a_heading_names_the_releases() -> None:
    for one in FINDINGS:
        if one.page.startswith("flink-findings.md#"):
            numbers = "-".join(release.replace(".", "") for release in releases_of(one, known()))
            assert re.search(rf"-{numbers}(-[a-z]|$)", one.page), one.page


def test_a_page_of_causes_names_each_property_that_fails() -> None:
    pages = {
        name: (REPORTS / name).read_text("utf-8") for name in ("flink-coordinator-findings.md", "flink-findings.md")
    }
    for one in (one for some in known().values() for one in some):
        page = "flink-coordinator-findings.md" if one.component == "coordinator" else "flink-findings.md"
        assert f"`{one.property}`" in pages[page], page


def test_the_page_of_causes_counts_what_is_recorded() -> None:
    broken, causes = {}, {}
    for release, some in known().items():
        mine = [one for one in some if one.component not in ("coordinator", "pipeline")]
        broken[release] = len({(one.component, one.property) for one in mine})
        causes[release] = sum(any(one.scenario in finding.scenarios for one in mine) for finding in FINDINGS)
    text = (REPORTS / "flink-findings.md").read_text(encoding="utf-8")
    new, old, oldest = RELEASES
    counts = f"| {broken[new]}, with {causes[new]} causes | {broken[old]}, with {causes[old]} of these causes |"
    assert counts in text
    assert f"{broken[oldest]} properties are broken, with {causes[oldest]} of" in text


def test_the_readme_counts_all_findings() -> None:
    text = (REPORTS.parent / "README.md").read_text(encoding="utf-8")
    pattern = (
        r"\| (FLINK-.*) in 2\.3\.0, (\d+) defects without a ticket in .*, (\d+) in coordinators, and (\d+) in whole"
    )
    ((tickets, *counts),) = re.findall(pattern, text)
    assert len(re.findall(r"\d{5}", tickets)) + sum(map(int, counts)) == len(FINDINGS)
