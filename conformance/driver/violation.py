"""The exception with which a run ends when a property does not hold."""

from __future__ import annotations

from conformance.driver.judgement import Broken, FailureClass
from conformance.driver.rule import Property
from conformance.ports import Error, ErrorKind, PortError
from conformance.scenarios import Step


class Violation(Exception):
    """A property does not hold."""

    def __init__(self, judged: Property, broken: Broken, step: Step) -> None:
        super().__init__(f"{judged.slug}: {broken}")
        self.property = judged
        self.broken = broken
        self.step = step
        """The operation at which the failure showed. For a turn, it is the operation that went on."""

    @property
    def signature(self) -> tuple[str, str, str]:
        """Failures with equal signatures count as one: property, failure class, operation at which it showed."""
        return self.property.slug, self.broken.failure_class.value, self.step[0]


def as_error(error: Exception) -> Error:
    """Returns an exception as the error of an outcome. All but PortError count as crashes of the implementation."""
    if isinstance(error, PortError):
        return Error(error.kind, error.reason, error.checkpoint_reason)
    return Error(ErrorKind.CRASHED, f"{type(error).__name__}: {error}")


def unexpected(judged: Property, error: Error, step: Step) -> Violation:
    """Returns the violation for an operation that answered an error although the interface allows none here."""
    classes = {ErrorKind.CRASHED: FailureClass.CRASHED, ErrorKind.HUNG: FailureClass.HUNG}
    owed = f"{step[0]} must answer as the interface says"
    observed = f"it answered an error of kind {error.kind}, which the interface does not allow here"
    if error.kind is ErrorKind.HUNG:
        observed = "it did not answer in time"
    elif error.kind is ErrorKind.CRASHED:
        observed = "it gave no valid answer"
    observed += f": {error.reason}" if error.reason else ""
    failure_class = classes.get(error.kind, FailureClass.PROTOCOL)
    return Violation(judged, Broken(failure_class, owed, observed), step)
