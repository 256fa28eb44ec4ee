"""The tables of operations in the chapters: they say of each method of a port what its steps say, and what happens."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

import pytest

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program, Run, Violation, World, answers_property, run_scenario, unexpected
from conformance.driver.operations import Clause, Operation, must_succeed, operations, phases_of
from conformance.engines.search import Search
from conformance.ports import Error, ErrorKind, FaultStruck, Implementation, Port, PortError, find_implementation
from conformance.ports.catalogue import INTERFACES
from conformance.system.packaged import chapter
from reference_impl.state.spill.spill import Spill
from tests.implementations import with_parts

OF_EVERY_PORT = {"emit"}
"""What a port inherits and no driver calls."""
REFERENCES = ("reference", "reference-in-memory", "reference-recover-first")
SCENARIOS = 40
KINDS = re.compile(r"\*([\w-]+)\*")
"""A kind of error, or a reason, in the condition of a step that may fail."""
DEMANDS = ("must fail", "may fail", "must succeed")
OTHERWISE = ("or keep", "or return", "may return", "may convert")
"""Words with which a condition allows something else than the error."""
OF_THE_SUITE = {ErrorKind.CRASHED, ErrorKind.HUNG}


@cache
def table(component: str) -> list[Operation]:
    text = chapter(component)
    assert text is not None
    return operations(text)


def clauses(component: str) -> Iterator[tuple[str, bool, Clause]]:
    """Every step that the table names, with the method in whose row it stands, and whether it may fail."""
    for row in table(component):
        yield from ((row.method, False, clause) for clause in row.succeeds)
        yield from ((row.method, True, clause) for clause in row.fails)


def phases(component: str) -> tuple[str, ...]:
    """The phases in which steps of a component are enabled."""
    return tuple(dict.fromkeys(phase for step in COMPONENTS[component].steps for phase in step.during))


def methods(port: type[Port]) -> set[str]:
    """What a driver can call on a port; `fault` only if it calls something that can fail."""
    found = {name for name, what in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")}
    return found - OF_EVERY_PORT - (set() if port.can_fail else {"fault"})


def called(function: Callable[..., Any], port: str = "") -> set[str]:
    """The methods of the port that a function calls, itself or in a function that it hands the port to.

    `port`: the name of its parameter; the first one, unless it is given.
    """
    assert isinstance(function, FunctionType)
    port = port or next(iter(inspect.signature(function).parameters))
    found = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == port:
            found.add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for place, operand in enumerate(node.args):
                if isinstance(operand, ast.Name) and operand.id == port:
                    helper = inspect.getclosurevars(function).globals[node.func.id]
                    found |= called(helper, list(inspect.signature(helper).parameters)[place])
    return found


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_method_of_a_port_has_one_row(component):
    rows = [row.method for row in table(component)]
    assert sorted(rows) == sorted(methods(INTERFACES[component].port))
    assert [row.method for row in table(component) if not (row.succeeds or row.fails)] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_case_of_a_step_stands_once_in_the_row_of_the_method_that_it_calls(component):
    steps = COMPONENTS[component].steps
    there = [(clause.step, {method}) for method, _, clause in clauses(component)]
    assert sorted(there, key=str) == sorted(((step.key, called(step.call)) for step in steps), key=str)


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_table_says_which_steps_may_fail_and_in_which_phases_they_are_enabled(component):
    every, cases = phases(component), {step.key: step for step in COMPONENTS[component].steps}
    for _, fails, clause in clauses(component):
        step = cases[clause.step]
        assert fails == step.fails, clause
        assert set(phases_of(clause, every)) == set(step.during), clause


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_section_explains_every_phase(component):
    section = re.search(r"^## Operations\n\n(Phases: .*?)\n\n\|", chapter(component) or "", re.MULTILINE | re.DOTALL)
    assert section is not None
    assert set(KINDS.findall(section[1])) >= set(phases(component))


@pytest.mark.parametrize("component", COMPONENTS)
def test_what_must_not_fail_can_be_quoted(component):
    """A violation is a line: what was owed, a semicolon, and what was observed."""
    assert [clause for _, fails, clause in clauses(component) if not fails and re.search(r"[;\[]", clause.text)] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_what_may_fail_says_how(component):
    for _, fails, clause in clauses(component):
        assert clause.text.startswith(DEMANDS) == fails, clause
        assert bool(kinds(clause)) == (fails and ("fail," in clause.text)), clause


def kinds(clause: Clause) -> set[ErrorKind]:
    """The kinds of errors that a condition names."""
    return {kind for kind in ErrorKind if kind.value in KINDS.findall(clause.text)} - OF_THE_SUITE


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_references_return_what_the_table_says(component, monkeypatch):
    """With errors of the kinds that it names; and what must fail does not succeed, unless it keeps its error. No call
    comes before the one after which it is said to come, or after the one before which it is said to come."""
    rows = {clause.step: (method, clause) for method, _, clause in clauses(component)}
    names = {step.name for step in COMPONENTS[component].steps}
    several = {step.name for step in COMPONENTS[component].steps if step.case}
    fails = {clause.step for _, fails, clause in clauses(component) if fails}
    fresh = {step.name for step in COMPONENTS[component].steps if step.fresh_port}
    for run, cases in runs(component, monkeypatch):
        before: set[str] = set()
        for entry in run.entries:
            name, outcome = entry.step[0], entry.outcome
            if outcome is None or name not in names:
                continue
            key = cases.popleft() if name in several else name
            method, clause = rows[key]
            if key in fails and outcome.paused_at is None and FaultStruck not in map(type, outcome.signals):
                check(clause, outcome.error)
            check_order(clause, before)
            before.add(method)
            if name in fresh:
                before = set()
        assert not cases


def runs(component: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Run, deque[str]]]:
    """Runs of the references that have this component, each with the keys of its steps that have several cases."""
    began: deque[str] = deque()
    perform = World.perform

    def noting(world: World, step: tuple[Any, ...]) -> None:
        if step[0] in world.moves and world.moves[step[0]].cases:
            began.append(world.case(step).kind.key)
        perform(world, step)

    for name in REFERENCES:
        implementation = find_implementation(name)
        if component in implementation.components():
            search = Search(Program(COMPONENTS[component], implementation))
            for number in range(SCENARIOS):
                began.clear()
                with monkeypatch.context() as patch:
                    patch.setattr(World, "perform", noting)
                    _, run = search.run(f"operations {number}", record=True)
                assert run.violation is None
                yield run, began


AFTER = re.compile(r"(?:^|: )(?:once[^,]*, )?after `(\w+)`(?: and `(\w+)`)?(?=,| and |$)")
BEFORE = re.compile(r"(?:^|: )(?:once[^,]*, )?(?:after `\w+` and )?before `(\w+)`(?: and `(\w+)`)?(?=,|$)")
"""The words at the beginning of a condition that say after or before which calls each call comes. If they go on, as in
"after `convert` of its gate", they do not say it of the port as a whole."""


def check_order(clause: Clause, before: set[str]) -> None:
    """These calls came before, and they are those after which the condition lets the next one come."""
    for found in AFTER.finditer(clause.text):
        assert {one for one in found.groups() if one} <= before, clause
    for found in BEFORE.finditer(clause.text):
        assert not {one for one in found.groups() if one} & before, clause


def check(clause: Clause, error: Error | None) -> None:
    """The outcome of a step is one that its condition allows."""
    if error is not None:
        assert error.kind in kinds(clause) or "any error" in clause.text, (clause, error)
    elif not any(demand in clause.text.removeprefix("must fail") for demand in (*DEMANDS, *OTHERWISE)):
        assert not clause.text.startswith("must fail"), clause


# ---- a table that is wrong -------------------------------------------------------------------------------------------
ROW = "## Operations\n\n| `poll` | it | {} | {} |\n"
GOOD, BAD = "`poll` (live): at any moment", "`poll (late)` (over): must fail, kind *state*"


def test_a_row_has_the_steps_of_a_method():
    (row,) = operations(ROW.format(GOOD, BAD))
    assert row.succeeds == (Clause("poll", ("live",), "at any moment"),)
    assert row.fails == (Clause("poll (late)", ("over",), "must fail, kind *state*"),)


def test_what_is_no_condition_of_a_step_is_refused():
    with pytest.raises(ValueError, match=r"row `poll`: found 'at any moment'; write it as `step` \(phase, phase\)"):
        operations(ROW.format("at any moment", BAD))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("live", ("live",)), ("always", ("new", "live", "over")), ("always but new, over", ("live",))],
)
def test_phases_are_listed_or_left_out(written, meant):
    assert phases_of(Clause("poll", tuple(written.split(", ")), ""), ("new", "live", "over")) == meant


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("must succeed at any moment", ErrorKind.STATE),
        ("must fail, kind *state*", ErrorKind.IO),
        ("must fail, kind *state*", None),
    ],
)
def test_a_result_that_the_table_does_not_allow_is_noticed(text, kind):
    with pytest.raises(AssertionError):
        check(Clause("poll", ("live",), text), None if kind is None else Error(kind))


@pytest.mark.parametrize(
    ("text", "before", "right"),
    [
        ("after `finish`, also at the end", {"finish"}, True),
        ("after `finish`, also at the end", set(), False),
        ("once for each channel, after `convert` and `request`", {"convert"}, False),
        ("must fail, kind *state*: after `finish`", set(), False),
        ("after `convert` of its gate", set(), True),
        ("before `finish` and `discard`", set(), True),
        ("before `finish` and `discard`", {"discard"}, False),
        ("after `request` and before `finish`, also twice", {"request", "finish"}, False),
        ("at any moment, also before `finish`", {"finish"}, True),
    ],
)
def test_a_call_out_of_the_order_that_the_table_gives_is_noticed(text, before, right):
    with contextlib.nullcontext() if right else pytest.raises(AssertionError):
        check_order(Clause("poll", ("live",), text), before)


# ---- what a violation says -------------------------------------------------------------------------------------------
class Refusing(Spill):
    """A store whose reader cannot be closed before there is one."""

    def close_reader(self) -> None:
        if self.reader is None:
            raise PortError(ErrorKind.STATE, "there is no reader yet")
        super().close_reader()


def refused(implementation: Implementation) -> Violation:
    ready = Program(COMPONENTS["spill"], implementation)
    violation = run_scenario(ready, COMPONENTS["spill"].configs[0], [("close_reader",)]).violation
    assert violation is not None
    return violation


def test_a_violation_says_when_the_operation_must_succeed_and_where_that_stands():
    condition = next(clause.text for _, _, clause in clauses("spill") if clause.step == "close_reader")
    assert "before `finish`" in condition
    found = refused(with_parts("mine", spill=Refusing))
    assert found.property.slug == ANSWERS
    assert found.broken.owed == f"close_reader must succeed {condition.replace('`', '')} (spill.md#operations)"
    assert found.broken.observed == (
        "it failed with an error of kind state, which the interface does not allow here: there is no reader yet"
    )


def test_without_a_chapter_a_violation_says_what_it_knows():
    assert must_succeed("counter", "add") is None
    assert must_succeed("spill", "read (uncommitted)") is None
    step = ("add", 3)
    found = unexpected(answers_property("counter"), Error(ErrorKind.STATE, "no"), step)
    assert found.broken.owed == "add must return a value, or fail with an error that the interface allows here"


@pytest.mark.parametrize("kind", sorted(OF_THE_SUITE))
def test_a_crash_is_no_question_of_the_interface(kind):
    assert "spill.md" not in str(unexpected(answers_property("spill"), Error(kind), ("close_reader",)))
