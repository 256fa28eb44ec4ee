"""Implementations and known bugs are found by name, and what cannot be found is reported in words."""

from __future__ import annotations

import pytest

from conformance.engines.matrix import Asked, matrix
from conformance.ports import (
    UnusableImplementation,
    find_implementation,
    find_known_bug,
    known_bugs,
    registered_names,
)


def test_the_three_generations_of_the_reference_are_registered():
    assert {"reference", "reference-in-memory", "reference-recover-first", "jsonl"} <= set(registered_names())
    assert find_implementation("reference").name == "reference"


@pytest.mark.parametrize("name", ["reference_impl:Reference.__doc__", "reference_impl:PUSHED"])
def test_an_object_of_another_kind_is_reported(name):
    with pytest.raises(UnusableImplementation, match="Implementation"):
        find_implementation(name)


def test_a_factory_a_class_and_a_known_bug_are_accepted_by_their_path():
    assert find_implementation("reference_impl:reference_in_memory").name == "reference-in-memory"
    assert find_implementation("tests.implementations:With").name == "mine"
    bug = known_bugs()[0]
    assert find_implementation(f"known-bug:{bug.id}").name == f"known-bug:{bug.id}"
    assert find_known_bug(bug.id) == find_known_bug(f"known-bug:{bug.id}") == bug


@pytest.mark.parametrize(("name", "component"), [("AS_A_CLASS", "subpartition"), ("AS_A_CHANGE", "deque")])
def test_known_bugs_of_other_people_are_classes_or_changes_of_text(name, component):
    path = f"tests.ports.foreign_bugs:{name}"
    assert find_known_bug(path).component == component
    assert component in find_implementation(path).components()


def test_a_change_of_text_of_other_people_is_found_by_the_suite():
    (line,) = matrix(["tests.ports.foreign_bugs:AS_A_CHANGE"], Asked(("a",), 500))
    assert line.kills[0].killed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("referenc", "Registered are"),
        ("known-bug:B-00", "There is no known bug .*The nearest are B-"),
        ("no_such_module:thing", "cannot be imported"),
        ("reference_impl:nothing", "has no object"),
        ("reference@2.0", "could not be made"),
        ("tests.implementations:records", "it must make an Implementation"),
        ("reference_impl:Reference", "could not be made"),
    ],
)
def test_what_cannot_be_found_is_reported(name, said):
    with pytest.raises(UnusableImplementation, match=said):
        find_implementation(name)
