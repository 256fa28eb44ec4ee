"""The tutorial does what it says, and its commands print what it shows.

`python -m tests.pages` writes into the page what the commands print now.
"""

from __future__ import annotations

import re

import pytest

from conformance.reporting.columns import Word
from conformance.reporting.counts import NOT_PUT_TO_THE_TEST
from tests.pages import ROOT, Printed, changed, follow

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> list[Printed]:
    return list(follow(TUTORIAL, tmp_path_factory.mktemp("reader"), "my_engine.py"))


def test_every_command_prints_what_the_page_shows(followed):
    wrong = [f"$ {one.command}\n{chr(10).join(one.printed)}" for one in followed if not one.agrees]
    assert not wrong, "the page shows something else; see the docstring of this file"


def test_there_are_three_rejections_and_then_it_conforms(followed):
    text = ["\n".join(one.printed) for one in followed]
    assert ["MyEngine 1: FAILED" in one for one in text] == [True, True, True, False]
    assert "MyEngine 1: conforms" in text[-1]


def test_a_page_that_shows_something_else_is_noticed():
    assert Printed("conformance", ["one", "..."], ["one", "two", "three"]).agrees
    assert not Printed("conformance", ["one", "two"], ["one", "two", "three"]).agrees
    assert not Printed("conformance", ["one", "..."], ["two"]).agrees


def test_a_method_that_the_module_does_not_have_is_not_replaced():
    with pytest.raises(AssertionError, match="does not have"):
        changed("class Persister:\n    def stop(self):\n        pass\n", "    def start(self):\n        pass\n")


def test_the_page_explains_each_first_word_of_a_line_in_a_pipe():
    told = re.findall(r"(?m)^\| `([\w-]+)` \|", TUTORIAL.read_text(encoding="utf-8"))
    words = [Word.FAILED.shown, *(one.value.replace(" ", "-") for one in NOT_PUT_TO_THE_TEST), "counts"]
    assert sorted(told) == sorted(words)
