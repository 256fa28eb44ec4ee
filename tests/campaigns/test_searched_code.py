"""What a search depends on: all that it runs, and neither the other components nor what is printed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conformance.campaigns import searched_code
from conformance.campaigns.searched_code import search_digest, searched_modules, without_words
from conformance.components import COMPONENTS

TRIED = """
import json, sys
from conformance.engines.matrix import Asked, matrix
from conformance.engines.variants import try_variant
from conformance.ports import find_legal_variant, known_bugs, legal_variants

component, scenarios = sys.argv[1], int(sys.argv[2])
bug = next(one for one in known_bugs() if one.component == component)
variant = next(one for one in legal_variants() if one.component == component)
ran = set()


def search(seed):
    if component == "deque":  # what follows a search is the same in all
        matrix([bug.id], Asked((seed,), scenarios, optimal=True, confirmed=True))
    try_variant(variant.id, variant, seed, scenarios)


def note(frame, event, argument):
    ran.add(frame.f_globals.get("__name__", ""))


search("0")  # whatever is imported, is imported now: what follows is what a search runs
sys.setprofile(note)
search("1")
sys.setprofile(None)
print(json.dumps(sorted(one for one in ran if one.partition(".")[0] == "conformance")))
"""


@pytest.mark.parametrize(("component", "scenarios"), [("deque", 20), ("writer", 20), ("drainer", 20)])
def test_a_search_runs_nothing_else(component, scenarios):
    command = [sys.executable, "-c", TRIED, component, str(scenarios)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    ran = set(json.loads(done.stdout))
    assert "conformance.driver.world" in ran
    assert ran <= searched_modules(component).keys()


@pytest.mark.parametrize("component", COMPONENTS)
def test_it_depends_on_one_component_and_on_no_room_to_the_left_of_the_engines(component):
    rooms = {".".join(one.split(".")[:2]) for one in searched_modules(component)}
    assert rooms <= {
        "conformance", "conformance.components", "conformance.driver", "conformance.engines", "conformance.models",
        "conformance.ports", "conformance.scenarios", "conformance.scheduling", "conformance.state_files",
        "conformance.system",
    }  # fmt: skip
    folders = {one.split(".")[2] for one in searched_modules(component) if one.startswith("conformance.components.")}
    assert folders == {component.replace("-", "_")}


@pytest.mark.parametrize(
    ("package", "module", "concerns"),
    [
        ("conformance", "conformance.engines.search", True),
        ("conformance", "conformance.components.deque.rules", True),
        ("conformance", "conformance.driver.drain", True),
        ("conformance", "conformance.components.gate.rules", False),
        ("conformance", "conformance.engines.related", False),
        ("conformance", "conformance.reporting.legal_variants", False),
        ("reference_impl", "reference_impl.network.deque", True),
    ],
)
def test_a_change_of_what_it_depends_on_gives_another_digest(package, module, concerns, monkeypatch):
    texts = searched_code._texts
    assert module in texts(package), "the test names a module that is gone"
    before = search_digest("deque", "all")

    def changed(asked: str) -> dict[str, str]:
        found = dict(texts(asked))
        return {**found, module: f"{found[module]}\na_change = 1\n"} if asked == package else found

    monkeypatch.setattr(searched_code, "_texts", changed)
    monkeypatch.setattr(searched_code, "_code", searched_code._code.__wrapped__)
    assert (search_digest("deque", "all") != before) is concerns


def test_a_comment_gives_the_same_digest(monkeypatch):
    texts = searched_code._texts
    before = search_digest("deque", "all")
    monkeypatch.setattr(
        searched_code, "_texts", lambda asked: {name: f"{text}# a comment\n" for name, text in texts(asked).items()}
    )
    monkeypatch.setattr(searched_code, "_code", searched_code._code.__wrapped__)
    assert search_digest("deque", "all") == before


WORDS = '''"""A module: it says why."""

import os  # it is used


class One:
    """With an attribute of its own."""

    size = "# no comment"
    """In bytes, naïvely."""; other = 1


def text():
    """It returns
    text.

    # No comment either."""
    # This is one.
    return """
    # A line of text.

    """
'''

WITHOUT = '''
import os


class One:

    size = "# no comment"
; other = 1


def text():
    return """
    # A line of text.

    """
'''


def test_what_a_person_reads_is_left_out_and_a_string_that_is_used_is_not():
    assert without_words(WORDS) == WITHOUT


def test_what_is_searched_for_is_part_of_it():
    assert search_digest("deque", ["B-1", 20_000]) != search_digest("deque", ["B-1", 2_000])
    assert search_digest("deque", "all") != search_digest("gate", "all")
