"""Every property has a good name, one meaning everywhere, and is itself put to the test by a known bug."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Component, Defined, Kind, Level, Property, Rules, Steps
from conformance.ports import known_bugs
from conformance.ports.catalogue import INTERFACES
from conformance.scenarios import Scenario

EVERY = [one for component in COMPONENTS.values() for one in component.properties]
LISTED = Path(__file__).with_name("declared.txt")
"""All steps and properties there are, a line each, in their order: the draws of a search depend on that of the steps,
and of several broken properties the first is reported."""


def test_no_step_or_rule_is_lost_or_moved_in_silence():
    """After a change that is meant: `python -m tests.components.test_catalogue` writes the list anew."""
    assert LISTED.read_text(encoding="utf-8").splitlines() == listed()


def listed() -> list[str]:
    return [
        line
        for component in COMPONENTS.values()
        for line in (
            *(f"{component.name} step {one.key}" for one in component.steps),
            *(f"{one.component} {one.kind.value} {one.slug}" for one in component.properties),
        )
    ]


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=lambda one: one.name)
def test_what_the_modules_of_a_component_declare_is_listed_in_it(component: Component):
    package = import_module(f"conformance.components.{component.name.replace('-', '_')}")
    declared = [
        value
        for found in iter_modules(package.__path__)
        for value in vars(import_module(f"{package.__name__}.{found.name}")).values()
        if isinstance(value, Rules | Steps)
    ]
    listed = {id(one) for one in (*component.steps, *component.properties)}
    assert {id(one) for own in declared for one in own.all} == listed
    assert {one.component for one in component.properties} == {component.name}


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.component}:{one.slug}")
def test_a_property_reads_as_a_sentence(one: Property):
    assert re.fullmatch(r"[a-z]+(-[a-z]+){2,}", one.slug)
    assert one.statement[0].isupper()
    assert one.statement.endswith(".")
    steps = {kind.key for kind in COMPONENTS[one.component].steps}
    assert set(one.on) <= steps


def test_slugs_are_unique_within_a_component():
    for component in COMPONENTS.values():
        slugs = [one.slug for one in component.properties]
        assert len(set(slugs)) == len(slugs)


def test_a_slug_has_one_statement_everywhere():
    statements = defaultdict(set)
    for one in EVERY:
        statements[one.slug].add(one.statement)
    assert {slug: said for slug, said in statements.items() if len(said) > 1} == {}


def test_a_former_slug_means_something_that_is_there_and_is_no_slug_of_today():
    for component in COMPONENTS.values():
        slugs = {one.slug for one in component.properties}
        former = {old for one in component.properties for old in one.formerly}
        assert not former & slugs
        for old in former:
            assert component.meant(old) == tuple(one for one in component.properties if old in one.formerly) != ()


def test_every_property_that_can_fail_is_killed_by_a_known_bug():
    guarded = {(bug.component, bug.property) for bug in known_bugs()}
    can_fail = {
        (one.component, one.slug)
        for one in EVERY
        if one.kind is not Kind.SOMETIMES and one.level is not Level.UNTESTABLE
    }
    assert can_fail == guarded


def test_steps_have_names_of_their_own():
    for component in COMPONENTS.values():
        assert len({kind.key for kind in component.steps}) == len(component.steps)


def test_failing_and_restoring_is_the_drivers_business_everywhere():
    for component in COMPONENTS.values():
        for kind in component.steps:
            if kind.name in ("fail", "restore"):
                assert kind.by == "driver"


def test_every_interface_has_a_component_that_speaks_to_it():
    assert {name: one.port for name, one in COMPONENTS.items()} == {name: one.port for name, one in INTERFACES.items()}


def test_to_another_process_goes_only_where_the_components_stand():
    assert pickle.loads(pickle.dumps(COMPONENTS)) is COMPONENTS
    assert len(pickle.dumps(COMPONENTS)) < 200


def test_a_component_is_imported_when_it_is_first_asked_for_also_by_a_message():
    data = pickle.dumps(Scenario("deque", COMPONENTS["deque"].configs[0], ()))
    program = f"""
import sys
from conformance.cli import main
from conformance.components import COMPONENTS
from conformance.engines.wire import Wire
loaded = lambda: [name for name in COMPONENTS if f"conformance.components.{{name.replace('-', '_')}}" in sys.modules]
assert len(COMPONENTS) == {len(COMPONENTS)} and "gate" in COMPONENTS
print(loaded(), COMPONENTS["persister"].name, loaded())
print(Wire(COMPONENTS).decoded({data!r}).component, loaded())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] persister ['persister']\ndeque ['deque', 'persister']\n"


def test_the_place_of_a_component_is_that_of_no_other():
    with pytest.raises(AssertionError, match=r"^conformance\.components\.deque does not define queue"):
        Defined("queue", "conformance.components.deque").imported()
    deque = Defined("deque", "conformance.components.deque")
    assert [deque.has(f"conformance.components.{one}") for one in ("deque", "deque.rules", "deques")] == [
        True,
        True,
        False,
    ]


if __name__ == "__main__":
    LISTED.write_text("\n".join(listed()) + "\n", encoding="utf-8")
