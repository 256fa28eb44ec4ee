"""The test case of a machine: its settings, and what it leaves out when it reports a failure."""

from __future__ import annotations

from functools import cache, wraps
from typing import Any
from unittest import TestCase

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from conformance.driver import Violation
from conformance.engines.search import LENGTH
from conformance.system.notes import without_our_lines

_HYPOTHESIS_STEPS = 50
"""The number of steps of an example if no profile says another one."""


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

    def __get__(self, machine: object, kind: type[RuleBasedStateMachine]) -> type[TestCase]:
        return _test_of(kind)


@cache
def _test_of(machine: type[RuleBasedStateMachine]) -> type[TestCase]:
    plain: Any = RuleBasedStateMachine.__dict__["TestCase"].__get__(None, machine)

    @wraps(plain.runTest)  # which also copies the marks that tell pytest of Hypothesis
    def run(self: Any) -> None:
        __tracebackhide__ = True
        try:
            plain.runTest(self)
        except Violation as violation:
            without_our_lines(violation)
            _report(violation.with_traceback(None))  # the way to it leads through lines of the suite only
        except Exception as failure:
            without_our_lines(failure)
            raise

    body = {"settings": default_settings(), "runTest": run, "__doc__": machine.__doc__}
    found: type[TestCase] = type(plain.__name__, (plain,), body)
    return found


def _report(violation: Violation) -> None:
    raise violation from None
