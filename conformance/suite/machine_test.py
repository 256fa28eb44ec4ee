"""The state machine of a user, whose test says what a failure means, and has the settings that fit a machine."""

from __future__ import annotations

from functools import cache, wraps
from typing import Any
from unittest import TestCase

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from conformance.driver import Program, Violation
from conformance.engines import machine
from conformance.engines.replay import replay
from conformance.engines.search import LENGTH
from conformance.suite.telling import told
from conformance.system.notes import without_our_lines

_HYPOTHESIS_STEPS = 50
"""The number of steps of an example if no profile says another one."""


def state_machine(program: Program) -> type[machine.ConformanceMachine]:
    """Returns the machine for one component of one implementation. Its attribute `TestCase` is the test.

    Raises: ValueError if the implementation understands no configuration of the component.
    """
    found: Any = machine.state_machine(program)
    found.TestCase = MachineTest()
    return found  # type: ignore[no-any-return]


def default_settings() -> settings:
    """Returns the settings of the profile that is loaded, without deadline and health checks, as for every machine of
    Hypothesis. Examples are as long as the scenarios of the random search, unless the profile says another length."""
    steps = settings().stateful_step_count
    return settings(
        deadline=None,
        suppress_health_check=list(HealthCheck),
        stateful_step_count=LENGTH if steps == _HYPOTHESIS_STEPS else steps,
    )


class MachineTest:
    """The attribute `TestCase` of a machine class: the class of its test, whose `settings` can be replaced."""

    def __get__(self, instance: object, kind: type[machine.ConformanceMachine]) -> type[TestCase]:
        return _test_of(kind)


@cache
def _test_of(kind: type[machine.ConformanceMachine]) -> type[TestCase]:
    plain: Any = RuleBasedStateMachine.__dict__["TestCase"].__get__(None, kind)

    @wraps(plain.runTest)  # which also copies the marks that tell pytest of Hypothesis
    def run(self: Any) -> None:
        __tracebackhide__ = True
        try:
            plain.runTest(self)
        except Violation as violation:
            explain(kind.program, violation)
            _report(violation.with_traceback(None))  # the way to it leads through lines of the suite only
        except Exception as failure:
            explain(kind.program, failure)
            raise

    body = {"settings": default_settings(), "runTest": run, "__doc__": kind.__doc__}
    found: type[TestCase] = type(plain.__name__, (plain,), body)
    return found


def explain(program: Program, failure: BaseException) -> None:
    """Remove the lines of the suite from the notes of Hypothesis, and put in front of them, for each violation, the
    rule, the steps with their outcomes, and the command that replays them."""
    without_our_lines(failure)
    if isinstance(failure, BaseExceptionGroup):  # Hypothesis has found several failures
        for one in failure.exceptions:
            explain(program, one)
    elif isinstance(failure, Violation) and failure.scenario is not None:
        implementation, component = program.implementation, program.component
        assumed = program.capabilities - implementation.capabilities
        again = replay(failure.scenario, implementation, assumed, {component.name: component})
        notes: list[str] = getattr(failure, "__notes__", [])
        failure.__notes__ = [told(again, implementation, assumed), *notes]


def _report(violation: Violation) -> None:
    raise violation from None
