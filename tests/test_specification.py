"""The specification and what points at it: every number has an anchor, every promise a judge."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Kind
from conformance.ports import CheckpointReason, known_bugs, legal_variants
from conformance.ports.changes import CATALOGUES
from conformance.reporting import chapter_file, rules, specification_folder, with_judged, without_judged

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "specification"
LETTERS = {
    "deque": "D", "subpartition": "S", "persister": "P", "recovered-channel": "V", "local-channel": "L",
    "remote-channel": "R", "gate": "GU", "chain": "C",
    "coordinator": "O", "barrier-handler": "H",
    "subtask-checkpoint": "T", "writer": "W", "consumer-loop": "M", "task-restore": "E",
    "spill": "K", "drainer": "N", "assignment": "A", "filter": "X", "pipeline": "J",
}  # fmt: skip
REASONS = re.compile(rf"`(?:{'|'.join(one.name for one in CheckpointReason)})`")
"""A reason as Python names it."""
READ = ("conformance", "reference_impl", "strategies", "tests", "docs")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r"\]\((?:([\w-]+\.md))?(?:#([\w-]+))?\)")
NUMBER = r"(?:F?[DSPVLRGUCOHTWMEKNAXJ]\d+|I-\d+|CP\d+)"
CITATION = re.compile(rf"(?:\b([a-z-]+\.md)(?:#|,?\s+))?\b({NUMBER}(?:(?:,|,?\s+(?:and|or|to))\s+{NUMBER})*)\b")
"""One number or a list of them, behind the chapter or without it: `gate.md#G7`, `gate.md G7 to G9, I-30`, `G7`."""
RANGE = re.compile(rf"({NUMBER})(?:\s+to\s+({NUMBER}))?")
FOLLOWS = re.compile(r"Specification: ([a-z-]+\.md)")
"""In the docstring of a module of the reference: the chapter that the module follows."""
VERSIONS = {("coordinator.md", f"V{number}") for number in range(3)}
"""What looks like a number of a transition, and is the name of a version of the protocol."""
GONE = re.compile(r"\brecovery\.m[d]\b")
WITHOUT_CODE = {
    "recovered-channel.md V1": "the port has no operation for it: scenarios push buffers that are filled already",
    "recovered-channel.md V15": "it says which operations a recovered channel does not have",
}
"""The transitions that no docstring of the reference cites, and why."""
WITHOUT_TEST = {
    "recovered-channel.md V1": "the port has no operation for it, so there is nothing that a test could call",
}
"""The transitions that no test of the reference cites, and why."""


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
    beginnings = [beginning for letter in LETTERS[component] for beginning in (letter, f"F{letter}")]
    for beginning in beginnings:
        numbered = [anchor for anchor in anchors if anchor.rstrip("0123456789") == beginning]
        assert numbered == [f"{beginning}{number}" for number in range(1, len(numbered) + 1)]
        assert numbered
    assert {anchor.rstrip("0123456789") for anchor in anchors} - {"CP"} == {*beginnings, "I-"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_rule_is_a_paragraph_that_begins_with_its_number(component):
    found = rules(chapter(component))
    assert list(found) == ANCHOR.findall(chapter(component))
    for number, text in found.items():
        assert text.startswith(f"**{number} "), number
        assert len(text) > 60, number


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_property_judges_a_promise_of_its_chapter_and_every_promise_is_judged(component):
    promised = {anchor for anchor in ANCHOR.findall(chapter(component)) if anchor.startswith(("I-", "CP"))}
    judged = {one.invariant for one in COMPONENTS[component].properties if one.kind is not Kind.SOMETIMES}
    assert judged == promised


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_freedom_has_a_legal_variant_and_every_legal_variant_a_freedom(component):
    freedoms = {anchor for anchor in ANCHOR.findall(chapter(component)) if anchor.startswith("F")}
    assert {one.freedom for one in legal_variants() if one.component == component} == freedoms


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_end_of_a_chapter_says_what_judges_it(component):
    """Written by `conformance properties --specification docs/specification`."""
    text = chapter(component)
    assert with_judged(text, COMPONENTS[component], known_bugs()) == text
    assert without_judged(text) + "\n" in text


def test_the_glossary_is_in_alphabetical_order():
    text = (FOLDER / "glossary.md").read_text(encoding="utf-8")
    words = [
        re.sub(r"[^a-z ]", "", word.lower().replace(",", "  ")) for word in re.findall(r"^\*\*(.+?)\.\*\*", text, re.M)
    ]
    assert words == sorted(words)
    assert len(words) == len(re.findall(r"\n\n\*\*", text)), "each word begins a paragraph"


def test_links_between_chapters_lead_to_rules():
    wrong = []
    for file in sorted(FOLDER.glob("*.md")):
        for target, anchor in LINK.findall(file.read_text(encoding="utf-8")):
            there = FOLDER / target if target else file
            known = ANCHOR.findall(there.read_text(encoding="utf-8")) if there.is_file() else None
            if known is None or (anchor and anchor[:1].isupper() and anchor not in known):
                wrong.append(f"{file.name}: {target}#{anchor}")
    assert wrong == []


# ---- what cites the chapters -----------------------------------------------------------------------------------------
ANCHORS = {chapter_file(one): ANCHOR.findall(chapter(one)) for one in COMPONENTS}


def cited(text: str, follows: str = "") -> list[tuple[str, str]]:
    """Chapter and number of all that a text cites. Numbers without a chapter count only if the text `follows` one."""
    return [
        (name or follows, number)
        for name, listed in CITATION.findall(text)
        if name or follows
        for first, last in RANGE.findall(listed)
        for number in span(first, last)
        if (name or follows, number) not in VERSIONS
    ]


def span(first: str, last: str) -> list[str]:
    """All numbers of a range; of a range that is none, its text, which has no anchor."""
    letter, low, high = (
        first.rstrip("0123456789"),
        first.lstrip("I-FDSPVLRGUCOHTWMEKNAXJ"),
        last.lstrip("I-FDSPVLRGUCOHTWMEKNAXJ"),
    )
    if not last:
        return [first]
    if not last.startswith(letter) or int(low) >= int(high):
        return [f"{first} to {last}"]
    return [f"{letter}{number:0{len(low)}}" for number in range(int(low), int(high) + 1)]


def without_anchor(found: list[tuple[str, str]]) -> list[str]:
    return [f"{name} {number}" for name, number in found if number not in ANCHORS.get(name, ())]


def python_files(folder: str) -> list[Path]:
    """The Python files of a folder, without those of known bugs and legal variants."""
    files = sorted((ROOT / folder).rglob("*.py"))
    return [file for file in files if not any(name in str(file) for name in CATALOGUES)]


REFERENCE = python_files("reference_impl")
TESTS_OF_THE_REFERENCE = python_files("tests/reference_impl")


@cache
def followed(file: Path) -> str:
    """The chapter that a module of the reference names in its docstring, or nothing."""
    found = FOLLOWS.search(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")
    return found[1] if found else ""


def explanations(file: Path) -> Iterator[str]:
    """The docstrings of a module, those of attributes included, and its comments."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def functions(file: Path) -> list[tuple[str, str]]:
    """Name and docstring of each function in a module that is not abstract."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    defined = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    defined = [node for node in defined if "abstractmethod" not in [ast.unparse(one) for one in node.decorator_list]]
    return [(node.name, ast.get_docstring(node) or "") for node in defined]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gate.md G7", ["gate.md G7"]),
        ("`gate.md#G7` and more", ["gate.md G7"]),
        ("gate.md, G7, G9, I-30. G11", ["gate.md G7", "gate.md G9", "gate.md I-30"]),
        ("gate.md G7 to G9, and\n    G12", ["gate.md G7", "gate.md G8", "gate.md G9", "gate.md G12"]),
        ("gate.md G9 to G11 and chain.md C1", ["gate.md G9", "gate.md G10", "gate.md G11", "chain.md C1"]),
        ("gate.md G9 to G7, G1 to U3", ["gate.md G9 to G7", "gate.md G1 to U3"]),
        ("G7, B-G7 and FLINK-7", []),
    ],
)
def test_lists_and_ranges_are_read_in_full(text, found):
    assert [" ".join(one) for one in cited(text)] == found


def test_numbers_without_a_chapter_belong_to_that_of_the_module():
    found = [" ".join(one) for one in cited("G7, G9, chain.md C1, C2. This is G12.", "gate.md")]
    assert found == ["gate.md G7", "gate.md G9", "chain.md C1", "chain.md C2", "gate.md G12"]


def test_a_number_without_an_anchor_is_found():
    found = without_anchor(cited("gate.md G1, G999, I-30; gates.md G1; gate.md G9 to G7; U1", "deque.md"))
    assert found == ["gate.md G999", "gates.md G1", "gate.md G9 to G7", "deque.md U1"]


def test_every_number_that_is_cited_has_an_anchor():
    found = {name: cited(text) for name, text in texts() if name != "tests/test_specification.py"}
    assert {name: wrong for name, one in found.items() if (wrong := without_anchor(one))} == {}
    assert any(found.values())


@pytest.mark.parametrize("file", REFERENCE, ids=[str(file.relative_to(ROOT)) for file in REFERENCE])
def test_a_number_in_the_reference_is_one_of_the_chapter_that_its_module_follows(file):
    follows = followed(file) or "no chapter"
    assert follows in {*ANCHORS, "no chapter"}
    assert [wrong for text in explanations(file) for wrong in without_anchor(cited(text, follows))] == []


def test_every_function_of_the_reference_begins_with_its_rules():
    missing = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in REFERENCE
        if followed(file)
        for name, docstring in functions(file)
        if not name.startswith("_") and not CITATION.match(docstring)
    ]
    assert missing == []


def test_every_test_of_the_reference_begins_with_the_rules_that_it_shows():
    missing = [
        f"{file.name}: {name}"
        for file in TESTS_OF_THE_REFERENCE
        for name, docstring in functions(file)
        if name.startswith("test_") and not ((found := CITATION.match(docstring)) and found[1])
    ]
    assert missing == []


def transitions_without(found: set[tuple[str, str]]) -> list[str]:
    """The transitions of all chapters that are not among these."""
    others = ("I-", "CP", "F")
    every = [(name, one) for name, anchors in ANCHORS.items() for one in anchors if not one.startswith(others)]
    return [" ".join(one) for one in every if one not in found]


def test_every_transition_is_cited_by_the_reference_or_has_a_reason():
    found = {one for file in REFERENCE for text in explanations(file) for one in cited(text, followed(file))}
    assert transitions_without(found) == list(WITHOUT_CODE)


def test_every_transition_is_cited_by_a_test_of_the_reference_or_has_a_reason():
    docstrings = [docstring for file in TESTS_OF_THE_REFERENCE for _, docstring in functions(file)]
    assert transitions_without({one for text in docstrings for one in cited(text)}) == list(WITHOUT_TEST)


def test_nothing_cites_a_text_that_is_not_here():
    assert [name for name, text in texts() if GONE.search(text)] == []


def test_reasons_are_named_as_a_program_writes_them():
    found = {file.name: REASONS.findall(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*.md")}
    assert {name: reasons for name, reasons in found.items() if reasons} == {}
