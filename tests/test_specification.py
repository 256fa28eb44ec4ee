"""The specification and what points at it: every number has an anchor, every promise a judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Kind
from conformance.ports import known_bugs
from conformance.reporting import chapter_file, rules, specification_folder, with_judged, without_judged

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "specification"
LETTERS = {
    "deque": "D", "subpartition": "S", "persister": "P", "recovered-channel": "V", "local-channel": "L",
    "remote-channel": "R", "gate": "G", "union-gate": "U", "chain": "C",
}  # fmt: skip
READ = ("conformance", "reference_impl", "strategies", "tests", "docs")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r"\]\((?:([\w-]+\.md))?(?:#([\w-]+))?\)")
CITATION = re.compile(r"\b([a-z-]+\.md)(?:#|, | )([DSPVLRGUC]\d+|I-\d+)\b")
GONE = re.compile(r"\b(?:recovery|coordinator)\.m[d]\b")


def chapter(component: str) -> str:
    return (FOLDER / chapter_file(component)).read_text(encoding="utf-8")


def texts() -> list[tuple[str, str]]:
    """What people read in this project."""
    files = [file for folder in READ for file in sorted((ROOT / folder).rglob("*")) if "__pycache__" not in file.parts]
    files += sorted(ROOT.glob("*.md"))
    return [
        (str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))
        for file in files
        if file.suffix in (".py", ".md", ".toml", ".java") and file.is_file()
    ]


def test_the_chapters_are_found_where_they_lie():
    assert specification_folder() == FOLDER


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_has_a_chapter_whose_rules_are_numbered_without_gaps(component):
    anchors = ANCHOR.findall(chapter(component))
    assert len(set(anchors)) == len(anchors)
    letter = LETTERS[component]
    transitions = [anchor for anchor in anchors if not anchor.startswith("I-")]
    assert transitions == [f"{letter}{number}" for number in range(1, len(transitions) + 1)]
    assert transitions


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_rule_is_a_paragraph_that_begins_with_its_number(component):
    found = rules(chapter(component))
    assert list(found) == ANCHOR.findall(chapter(component))
    for number, text in found.items():
        assert text.startswith(f"**{number} "), number
        assert len(text) > 60, number


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_property_judges_a_promise_of_its_chapter_and_every_promise_is_judged(component):
    promised = {anchor for anchor in ANCHOR.findall(chapter(component)) if anchor.startswith("I-")}
    judged = {one.invariant for one in COMPONENTS[component].properties if one.kind is not Kind.SOMETIMES}
    assert judged == promised


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_end_of_a_chapter_says_what_judges_it(component):
    """Written by `conformance properties --specification docs/specification`."""
    text = chapter(component)
    assert with_judged(text, COMPONENTS[component], known_bugs()) == text
    assert without_judged(text) + "\n" in text


def test_links_between_chapters_lead_to_rules():
    wrong = []
    for file in sorted(FOLDER.glob("*.md")):
        for target, anchor in LINK.findall(file.read_text(encoding="utf-8")):
            there = FOLDER / target if target else file
            known = ANCHOR.findall(there.read_text(encoding="utf-8")) if there.is_file() else None
            if known is None or (anchor and anchor[:1].isupper() and anchor not in known):
                wrong.append(f"{file.name}: {target}#{anchor}")
    assert wrong == []


def test_every_number_that_is_cited_has_an_anchor():
    anchors = {chapter_file(one): set(ANCHOR.findall(chapter(one))) for one in COMPONENTS}
    cited = [(name, *found) for name, text in texts() for found in CITATION.findall(text)]
    assert [one for one in cited if one[1] in anchors and one[2] not in anchors[one[1]]] == []
    assert cited


def test_nothing_cites_a_text_that_is_not_here():
    assert [name for name, text in texts() if GONE.search(text)] == []
