"""Prose uses the words of the field. Words that do not are listed here, with what to say instead."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.components import COMPONENTS

ROOT = Path(__file__).resolve().parents[1]
PROSE = ("conformance", "reference_impl", "strategies", "building", "docs")
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")

INSTEAD = {
    r"whoever": "the caller, the reader, a thread that ...",
    r"(?:in|of) a circle(?! of threads)": "deadlock, deadlocked",
    r"hand(?:s|ed|ing)? (?:\w+ )?out": "return (an operation), deliver (a channel)",
    r"answers? (?:nothing|whether|an error|no error)|answered (?:nothing|an error|no error)": "return, fail with",
    r"(?:is|are|was|were|be|been|being|nobody) told": "notified, called with",
    r"(?:tell|tells|told|telling) (?:of|apart|nobody|somebody)|tells? the (?:gate|consumer|producer|task)":
        "notify, distinguish",
    r"in vain|lets? \w+ sleep": "say what happens",
}  # fmt: skip
ALLOWED = {
    "conformance/bridges/jsonl": "the lines of a program are answers",
    "docs/jsonl-protocol.md": "the lines of a program are answers",
    "docs/decisions/15-deadlock-lock-order-and-stuck-differ.md": "it defines what a deadlock is",
}
WORDS = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)
ANSWERS = re.compile(r"\b(?:answer|answers|answered|tell|tells|told|whoever)\b", re.IGNORECASE)


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Comments, docstrings, and texts of several words, each with the number of its first line."""
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        if one.type == tokenize.COMMENT or (one.type == tokenize.STRING and " " in one.string):
            yield one.start[0], re.sub(r"\s+(?:# )?", " ", one.string)


def prose_of_a_page(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs without blocks of code and identifiers, each with the number of its first line."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    number = 1
    for paragraph in text.split("\n\n"):
        yield number, re.sub(r"\s+", " ", re.sub(r"`[^`]*`|\]\([^)]*\)", "", paragraph))
        number += paragraph.count("\n") + 2


def texts() -> Iterator[tuple[str, int, str]]:
    """All prose of the repository but that of its tests and reports: a file, a line, a text."""
    files = [ROOT / page for page in PAGES] + [file for folder in PROSE for file in sorted((ROOT / folder).rglob("*"))]
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if file.suffix in (".py", ".md") and not name.startswith(tuple(ALLOWED)):
            read = prose_of_python if file.suffix == ".py" else prose_of_a_page
            for number, text in read(file.read_text(encoding="utf-8")):
                yield name, number, text


def test_prose_uses_the_words_of_the_field():
    found = [f"{name}:{number}: {hit[0]}" for name, number, text in texts() for hit in WORDS.finditer(text)]
    assert found == [], "say instead: " + "; ".join(f"{word}: {better}" for word, better in INSTEAD.items())


def test_no_statement_of_a_property_answers_or_tells():
    found = {one.slug for component in COMPONENTS.values() for one in component.properties
             if ANSWERS.search(one.statement)}  # fmt: skip
    assert found == set()


@pytest.mark.parametrize(
    "text",
    ["the gate is told of data", "a poll answers nothing", "whoever takes next", "it hands them out",
     "wait in a circle", "it cannot tell apart", "which tells the gate"],
)  # fmt: skip
def test_the_words_are_recognised(text):
    assert WORDS.search(text)


def test_code_in_prose_is_not_read():
    page = "# Told\n\n```\nis told\n```\n\nA `whoever` is [named](whoever.md).\n"
    assert [(number, text) for number, text in prose_of_a_page(page) if text] == [(1, "# Told"), (7, "A is [named. ")]
    assert [text for _, text in prose_of_python('told = "told" + "is  told"  # a # b\n')] == ['"is told"', "# a b"]
