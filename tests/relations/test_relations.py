"""Relations hold on the references and on whatever the specification allows, and a known bug breaks each of them."""

from __future__ import annotations

import shlex
import sys
import unittest
from dataclasses import replace

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.ports import Capability, Implementation, Limits, Port, Resources, find_implementation, legal_variants
from conformance.relations import RELATIONS, Relation, Subject, attempt
from conformance.relations.apart import RelationWorker
from conformance.suite import relations
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from tests.by_default import one_of

NAMED = {f"{one.component}-{one.slug}": one for some in RELATIONS.values() for one in some}
REFERENCES = ("reference", "reference-in-memory", "reference-recover-first")
VARIANTS = {one.id: one for one in legal_variants() if one.component in RELATIONS}
BROKEN_BY = {
    "assignment-the-names-of-vertices-change-nothing": "B-A35",
    "assignment-the-order-of-calls-changes-nothing": "B-A36",
    "assignment-earlier-questions-change-nothing": "B-A11",
    "assignment-all-new-subtasks-together-keep-each-record-once": "B-46b",
    "assignment-a-rescale-and-its-reverse-keep-each-record": "B-A9",
    "filter-where-chunks-end-and-how-they-alternate-changes-nothing": "B-21-filter",
    "filter-all-new-subtasks-together-keep-each-record-once": "B-F9",
    "filter-what-is-kept-is-what-a-fresh-partitioner-sends-there": "B-48-filter",
    "filter-filtering-what-was-filtered-changes-nothing": "B-F16",
    "filter-the-sizes-of-page-and-pool-change-nothing": "B-20-filter",
    "filter-a-rescale-and-its-reverse-keep-each-record-and-the-order-of-each-key": "B-F7",
    "filter-a-virtual-channel-without-elements-changes-watermarks-only": "B-F4",
    "filter-other-bytes-of-the-same-length-change-nothing": "B-F130",
    "filter-two-copies-of-the-state-give-each-record-twice": "B-F16",
}
"""By relation, a known bug of which each run may be right by itself, where there is one."""
NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)
LIMITS = Limits(5.0)


class Releasing(Subject):
    """Looks at what a port holds after its release, and whether a port is made before the one before is released."""

    def port(self, config: object) -> object:
        assert not self._held
        return super().port(config)

    def release(self, port: Port) -> None:
        super().release(port)
        assert self.call(port.resources) == NOTHING


def subject_of(implementation: Implementation, component: str, kind: type[Subject] = Subject) -> Subject:
    return kind(implementation.components()[component], implementation.capabilities)


def served(name: str) -> str:
    return f"jsonl:{shlex.join([sys.executable, '-m', 'conformance.bridges.jsonl', 'serve', name])}"


@pytest.mark.parametrize("name", one_of(3, REFERENCES))
@pytest.mark.parametrize("relation", NAMED.values(), ids=NAMED)
def test_a_reference_keeps_every_relation(relation: Relation, name: str):
    subject = subject_of(find_implementation(name), relation.component, Releasing)
    assert attempt(relation, subject, 60, "references") is None


@pytest.mark.parametrize("holds", [True, False])
def test_every_port_is_released_also_if_the_relation_does_not_hold(holds: bool):
    made, released = list[Port](), list[Port]()

    class Counting(Subject):
        def port(self, config: object) -> object:
            made.append(super().port(config))
            return made[-1]

        def call(self, operation, *operands):
            if operation.__name__ == "release":
                released.append(operation.__self__)
            return super().call(operation, *operands)

    def breaks(subject, question):
        subject.port(question.job)
        raise AssertionError("it does not hold")

    relation = NAMED["assignment-earlier-questions-change-nothing"]
    tried = relation if holds else replace(relation, check=breaks)
    why = attempt(tried, subject_of(find_implementation("reference"), "assignment", Counting), 10, "0")
    assert (why is None) == holds
    assert made
    assert [id(one) for one in made] == [id(one) for one in released]


@pytest.mark.slow  # the references are tried by default
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_legal_variant_keeps_every_relation(variant):
    subject = subject_of(variant.build(), variant.component)
    assert {one.slug: attempt(one, subject, 20, "variants") for one in RELATIONS[variant.component]} == {
        one.slug: None for one in RELATIONS[variant.component]
    }


@pytest.mark.parametrize(
    ("name", "bug"),
    one_of(2, BROKEN_BY.items()),
)
def test_a_known_bug_breaks_the_relation(name, bug):
    relation = NAMED[name]
    subject = subject_of(find_implementation(f"known-bug:{bug}"), relation.component)
    # Which examples a seed draws depends on the constants in the modules that are imported, and so on the tests before.
    why = attempt(relation, subject, 2000, "bugs")
    assert why is not None
    assert "\nexample: " in why


def test_every_relation_is_broken_by_a_known_bug():
    assert list(BROKEN_BY) == list(NAMED)


@pytest.mark.parametrize("relation", NAMED.values(), ids=NAMED)
def test_a_relation_says_what_must_hold_and_follows_from_a_promise(relation: Relation):
    assert relation.statement.endswith(".")
    assert relation.needs <= find_implementation("reference").capabilities
    assert relation.invariant in {one.invariant for one in COMPONENTS[relation.component].properties}


def test_the_same_seed_draws_the_same_examples():
    relation = NAMED["filter-filtering-what-was-filtered-changes-nothing"]
    subject = subject_of(find_implementation("known-bug:B-F16"), "filter")
    why = attempt(relation, subject, 100, "1")
    assert why is not None
    assert attempt(relation, subject, 100, "1") == why


def test_a_failure_says_what_is_wrong_with_the_simplest_example():
    relation = NAMED["filter-what-is-kept-is-what-a-fresh-partitioner-sends-there"]
    why = attempt(relation, subject_of(find_implementation("known-bug:B-48-filter"), "filter"), 100, "0")
    assert why is not None
    assert why.startswith("what is kept and what is sent here must be the same:\n  [[]]\n  [[0]]\nexample: Restored(")
    assert "elements=(Record(id=0, key=0, size=17, timestamp=None),)" in why


# ---- behind a wire, and in a process of its own ----------------------------------------------------------------------
@pytest.mark.parametrize("component", RELATIONS)
def test_a_program_behind_json_lines_keeps_every_relation(component):
    worker = RelationWorker(served("reference"), LIMITS)
    try:
        assert [worker.attempt(one, frozenset(), 8, "0") for one in RELATIONS[component]] == [None] * len(
            RELATIONS[component]
        )
    finally:
        worker.close()


def test_a_program_behind_json_lines_breaks_a_relation_as_in_python():
    relation = NAMED["assignment-earlier-questions-change-nothing"]
    here = attempt(relation, subject_of(find_implementation("known-bug:B-A11"), "assignment"), 60, "0")
    assert here is not None
    worker = RelationWorker(served("known-bug:B-A11"), LIMITS)
    try:
        assert worker.attempt(relation, frozenset(), 60, "0") == here
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("what", "said"),
    [("exits", "its process exited with status 3"), ("hangs", "it did not return in time")],
)
def test_an_implementation_that_ends_its_process_breaks_the_relation(what, said):
    worker = RelationWorker(f"tests.relations.hanging:{what}", Limits(1.0))
    try:
        for _ in range(2):  # in a new process
            why = worker.attempt(NAMED["assignment-the-order-of-calls-changes-nothing"], frozenset(), 8, "0")
            assert why is not None
            assert said in why
    finally:
        worker.close()


# ---- as tests of a user ----------------------------------------------------------------------------------------------
def results(name: str, component: str) -> unittest.TestResult:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(
        relations(Program(COMPONENTS[component], find_implementation(name)))
    )
    found = unittest.TestResult()
    suite.run(found)
    return found


def test_a_user_has_a_test_for_each_relation():
    found = results("reference", "assignment")
    assert found.testsRun == len(RELATIONS["assignment"])
    assert found.wasSuccessful()


@pytest.mark.slow  # it shrinks for seconds; other relations are tried by default
def test_a_test_of_a_user_fails_with_the_example():
    failed = {test.id().rpartition(".")[2]: text for test, text in results("known-bug:B-A30", "assignment").failures}
    assert list(failed) == ["test_earlier_questions_change_nothing"]
    assert "what is assigned if the same is asked twice must be the same" in failed.popitem()[1]


def test_a_component_without_relations_is_refused():
    with pytest.raises(ValueError, match="the component deque has no relations; assignment, filter have"):
        relations(Program(COMPONENTS["deque"], find_implementation("reference")))


def test_relations_that_need_a_capability_are_left_out():
    class Plain(Reference):
        @property
        def capabilities(self) -> frozenset[Capability]:
            return super().capabilities - {Capability.FILTERS_RECORDS}

    plain = Plain("plain", PUSHED)
    assert not [name for name in vars(relations(Program(COMPONENTS["filter"], plain))) if name.startswith("test")]


@pytest.mark.parametrize("component", RELATIONS)
def test_no_relation_applies_where_no_example_can_be_drawn(component):
    reference = find_implementation("reference")
    for one in RELATIONS[component]:
        without = reference.capabilities - one.one_of
        assert one.applies(reference.capabilities)
        assert not one.applies(without)
        assert one.missing(without) == [" or ".join(sorted(one.one_of))]
        assert all(one.applies(without | {claim}) for claim in one.one_of)
