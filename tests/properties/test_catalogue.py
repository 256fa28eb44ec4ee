"""Every property has a good name, is judged at steps that exist, and is itself put to the test by a known bug."""

from __future__ import annotations

import re

import pytest

from conformance.alphabets import ALPHABETS
from conformance.ports import known_bugs
from conformance.properties import CATALOGUE, Kind, Level, Property

EVERY = [one for properties in CATALOGUE.values() for one in properties]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.component}:{one.slug}")
def test_a_property_reads_as_a_sentence(one: Property):
    assert re.fullmatch(r"[a-z]+(-[a-z]+){2,}", one.slug)
    assert one.statement[0].isupper()
    assert one.statement.endswith(".")
    steps = {kind.name for kind in ALPHABETS[one.component].steps}
    assert set(one.on) <= steps


def test_slugs_are_unique_within_a_component():
    for properties in CATALOGUE.values():
        slugs = [one.slug for one in properties]
        assert len(set(slugs)) == len(slugs)


def test_every_property_that_can_fail_is_killed_by_a_known_bug():
    guarded = {(bug.component, bug.property) for bug in known_bugs()}
    can_fail = {
        (one.component, one.slug)
        for one in EVERY
        if one.kind is not Kind.SOMETIMES and one.level is not Level.UNTESTABLE
    }
    assert can_fail == guarded


def test_every_step_is_judged_somewhere_or_feeds_the_ledger():
    for alphabet in ALPHABETS.values():
        assert len({kind.name for kind in alphabet.steps}) == len(alphabet.steps)
        for bias in alphabet.biases:
            assert set(bias) <= {kind.name for kind in alphabet.steps}
