"""The known bugs of the reference: each is a change of its text that can be made, and is the only one of its kind."""

from __future__ import annotations

import sys

import pytest

from conformance.components import COMPONENTS
from conformance.ports import KnownBug, UnusableImplementation, known_bugs, read_known_bugs
from conformance.ports.changed import Package, hunks
from conformance.ports.changes import CATALOGUES

BUGS = known_bugs()
PACKAGE = Package("reference_impl", CATALOGUES)


@pytest.mark.slow  # it loads every eighth copy of the reference; other tests load each, one by one
def test_many_of_them_can_be_loaded_in_one_process_and_leave_nothing_behind():
    """Every eighth, since all copies of the reference stay in memory here. `test_kill` loads each of them."""
    some = BUGS[::8]
    modules, finders = set(sys.modules), list(sys.meta_path)
    made = [bug.build() for bug in some]
    assert [one.name for one in made] == [f"known-bug:{bug.id}" for bug in some]
    assert len({type(one) for one in made}) == len(some) > 100, "each is a class of its own copy"
    assert {one for one in set(sys.modules) - modules if one.startswith("reference_impl")} == set()
    assert sys.meta_path == finders


def test_names_are_unique_and_of_something_that_exists():
    assert len({bug.id for bug in BUGS}) == len(BUGS) > 250
    for bug in BUGS:
        assert bug.property in {one.slug for one in COMPONENTS[bug.component].properties}, bug.id


@pytest.mark.parametrize("bug", BUGS, ids=[bug.id for bug in BUGS])
def test_a_known_bug_is_a_small_change_and_one_sentence(bug):
    assert bug.summary.endswith(".")
    assert ". " not in bug.summary
    lines = [line for line in bug.change.splitlines() if line[:1] in "-+" and not line.startswith("--- ")]
    assert 1 <= len(lines) <= 24, "this is not a small change"
    assert PACKAGE.changed_texts(bug.change)
    assert all(hunk.was for hunk in hunks(bug.change))


GOOD = """
component = "deque"
[[bug]]
id = "X-1"
ticket = "own"
property = "a-poll-takes-the-head"
summary = "The tail is polled."
change = '''
--- network/prioritized_deque.py
@@ def poll
-        return self.elements.pop(0)
+        return self.elements.pop()
'''
"""


@pytest.fixture
def read(tmp_path):
    """Reads a catalogue with this text."""

    def reads(text: str) -> tuple[KnownBug, ...]:
        file = tmp_path / "bugs.toml"
        file.write_text(text)
        return read_known_bugs(file, "reference_impl", lambda copy, name: copy.Reference(name, copy.PUSHED))

    return reads


def test_a_catalogue_of_ones_own_is_read_in_the_same_way(read):
    (bug,) = read(GOOD)
    assert (bug.id, bug.component, bug.summary) == ("X-1", "deque", "The tail is polled.")
    assert bug.change.startswith("--- network/prioritized_deque.py\n")
    assert bug.build().name == "known-bug:X-1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace('ticket = "own"', ""), "bugs.toml: .*`ticket`"),
        (GOOD.replace("[[bug]]", "[bug]"), "bugs.toml: .*bug"),
        (GOOD.replace("summary", "sumary"), "bugs.toml: .*sumary"),
        ("component = ", "bugs.toml: "),
    ],
    ids=["a field is missing", "no list", "a field too many", "no TOML"],
)
def test_a_damaged_catalogue_says_where(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_change_that_fits_nowhere_is_reported_when_the_bug_is_built(read):
    (bug,) = read(GOOD.replace("pop(0)", "pop(1)"))
    message = "known-bug:.* does not fit reference_impl: network/prioritized_deque.py: these lines occur 0 times"
    with pytest.raises(UnusableImplementation, match=message):
        bug.build()
