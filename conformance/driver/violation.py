"""The exception with which a run ends when a property does not hold."""

from __future__ import annotations

from types import NoneType

from conformance.driver.judgement import Broken, FailureClass
from conformance.driver.operations import must_succeed
from conformance.driver.rule import Property
from conformance.ports import CheckpointReason, Error, ErrorKind, PortError
from conformance.scenarios import Scenario, Step
from conformance.system.text import neutral

_REASONS = frozenset({NoneType, CheckpointReason})
_TOOLS = frozenset({"_pytest", "pytest", "xdist", "hypothesis"})
_DIRECTING = frozenset({"Exit", "UnsatisfiedAssumption", "Frozen"})
"""Those of their exceptions that direct a run although they are an Exception."""


class Interrupt(BaseException):
    """Ends a run, and is not the outcome of an operation."""


class Violation(Exception):
    """A property does not hold."""

    def __init__(self, judged: Property, broken: Broken, step: Step) -> None:
        super().__init__(f"{judged.slug}: {broken}")
        self.property = judged
        self.broken = broken
        self.step = step
        """The operation at which the failure showed. For a turn, it is the operation that went on."""
        self.scenario: Scenario | None = None
        """The scenario that fails with it. Set by the machine of Hypothesis only."""

    @property
    def signature(self) -> tuple[str, str, str]:
        """Failures with equal signatures count as one: property, failure class, operation at which it showed."""
        return self.property.slug, self.broken.failure_class.value, self.step[0]


def as_error(error: BaseException) -> Error:
    """Returns an exception as the error of an outcome. All but PortError count as crashes of the implementation.

    Raises: the exception itself if it is none of the implementation: Ctrl-C, or the control flow of a tool.
    """
    if isinstance(error, PortError) and type(error.kind) is ErrorKind and type(error.checkpoint_reason) in _REASONS:
        return Error(error.kind, neutral(_text(error.reason)), error.checkpoint_reason)
    if isinstance(error, KeyboardInterrupt | Interrupt) or _controls(error):
        raise error
    return Error(ErrorKind.CRASHED, f"{type(error).__name__}: {neutral(_text(error))}")


def _controls(error: BaseException) -> bool:
    """Returns whether pytest or Hypothesis directs a run with this exception, as with `pytest.skip` or `assume`."""
    return any(
        str(one.__module__).partition(".")[0] in _TOOLS
        and not (issubclass(one, Exception) and one.__name__ not in _DIRECTING)
        for one in type(error).__mro__
    )


def _text(what: object) -> str:
    try:
        return str(what)
    except Exception:
        return "an exception that has no text"


def unexpected(judged: Property, error: Error, step: Step, key: str = "") -> Violation:
    """Returns the violation for an operation that failed although the interface allows no error here.

    `key`: that of the case of the step; empty if the step has no cases, or it does not matter which one it is."""
    classes = {ErrorKind.CRASHED: FailureClass.CRASHED, ErrorKind.HUNG: FailureClass.HUNG}
    owed = f"{step[0]} must return a value, or fail with an error that the interface allows here"
    observed = f"it failed with an error of kind {error.kind}, which the interface does not allow here"
    if error.kind is ErrorKind.HUNG:
        observed = "it did not return in time"
    elif error.kind is ErrorKind.CRASHED:
        observed = "it did not keep to the interface"
    elif (condition := must_succeed(judged.component, key or step[0])) is not None:
        owed = condition
    observed += f": {error.reason}" if error.reason else ""
    failure_class = classes.get(error.kind, FailureClass.PROTOCOL)
    return Violation(judged, Broken(failure_class, owed, observed), step)
