"""Which properties notice each known bug: what is kept beside the corpus."""

from __future__ import annotations

import tomllib

import pytest

from conformance.components import COMPONENTS
from conformance.engines.check import Found
from conformance.engines.noticed import noticed, noticed_text
from conformance.engines.related import known_together, links_without_runs
from conformance.ports import find_known_bug, known_bugs
from conformance.scenarios import Scenario
from tests.engines.noticing import noticing

KNOWN = {
    "gate": {
        "one": frozenset({"a", "b"}),
        "two": frozenset({"a"}),
        "three": frozenset({"a", "c"}),
        "four": frozenset({"a", "c"}),
        "five": frozenset({"c"}),
        **{f"more-{number}": frozenset({"c"}) for number in range(6)},
    },
    "chain": {"six": frozenset({"a", "d"})},
}


def found(slug: str, component: str = "gate", steps: tuple[tuple[str], ...] = ()) -> Found:
    scenario = Scenario(component, COMPONENTS[component].configs[0], steps)
    return Found((slug, "stuck", "poll"), "", "", scenario, 1)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("a", "b", "1 of 1 known bugs that break b break a, too."),
        ("b", "a", "1 of 1 known bugs that break b break a, too."),
        ("a", "c", "2 of 4 known bugs that break a break c, too."),
        ("b", "c", None),
        ("a", "d", None),
        ("a", "unheard-of", None),
    ],
)
def test_properties_are_together_if_known_bugs_of_the_component_break_both(one, other, why):
    assert known_together(KNOWN)(found(one), found(other)) == why


def test_a_bug_that_breaks_both_does_not_count_if_it_is_left_out():
    assert known_together(KNOWN, ["one"])(found("a"), found("b")) is None
    assert known_together(KNOWN, ["three"])(found("a"), found("c")) == "1 of 3 known bugs that break a break c, too."


def test_one_bug_of_many_is_not_enough():
    """The bug that breaks both breaks two properties, and counts as half a bug."""
    many = {"gate": {"both": frozenset({"a", "b"})}}
    for number in range(2):
        many["gate"][f"a-{number}"] = frozenset({"a"})
        many["gate"][f"b-{number}"] = frozenset({"b"})
    assert known_together(many)(found("a"), found("b")) is None, "half of 2 1/2"
    del many["gate"]["b-1"]
    assert known_together(many)(found("a"), found("b")) is not None, "half of 1 1/2"


@pytest.mark.parametrize(("bugs", "properties", "linked"), [(1, 4, True), (1, 5, False), (1, 8, False), (2, 8, True)])
def test_a_bug_that_breaks_many_properties_says_little_of_two_of_them(bugs, properties, linked):
    broad = frozenset("abcdefgh"[:properties])
    known = {"gate": {f"broad-{number}": broad for number in range(bugs)}}
    assert (known_together(known)(found("a"), found("b")) is not None) is linked


def test_what_is_kept_names_known_bugs_and_properties():
    kept, bugs = noticed(), {bug.id: bug for bug in known_bugs()}
    for component, broken in kept.items():
        slugs = {one.slug for one in COMPONENTS[component].properties}
        for bug, properties in broken.items():
            assert bugs[bug].component == component
            assert properties
            assert properties <= slugs, bug
    count = sum(map(len, kept.values()))
    assert 10 * count >= 9 * len(bugs), "run `make corpus`: too many known bugs are missing"


def test_what_is_kept_of_a_known_bug_has_the_property_that_must_notice_it():
    """Those that came since the file was written may be missing."""
    kept = noticed()
    wrong = [one.id for one in known_bugs() if one.property not in kept[one.component].get(one.id, {one.property})]
    assert wrong == []


@pytest.mark.parametrize("bug", ["B-D1", "B-S9"])
def test_what_is_kept_is_what_a_search_shows(bug):
    assert noticed()[find_known_bug(bug).component][bug] == noticing(bug), "`make corpus` writes it again"


def test_the_file_is_the_same_however_it_was_collected():
    text = noticed_text(KNOWN)
    backwards = {component: dict(reversed(KNOWN[component].items())) for component in reversed(KNOWN)}
    assert noticed_text(backwards) == text
    read = tomllib.loads(text)
    assert {name: {bug: frozenset(slugs) for bug, slugs in bugs.items()} for name, bugs in read.items()} == KNOWN


def test_the_sign_needs_no_run():
    """What two known bugs of the reference break together is linked without an implementation."""
    component = next(iter(noticed()))
    properties = next(sorted(slugs) for slugs in noticed()[component].values() if len(slugs) == 2)
    one, other = (found(slug, component, ((slug,), ("poll",))) for slug in properties[:2])
    (link,) = links_without_runs([one, other])
    assert "known bugs that break" in link.why
