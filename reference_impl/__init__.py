"""The reference: recovery and checkpoints as the specification has them, compact and readable.

Each module is one component, or a part of one. Its docstring names the chapter of docs/specification that it follows,
and the docstrings inside it name the rules of that chapter by their numbers. The three recovery designs are one code
with a different `Design`. What is right is decided by the specification, never by a property or a test: the reference
imports neither.

The reference imports itself relatively, so that a copy of it with a known bug in it can be loaded beside it.
"""

from types import ModuleType

from conformance.ports import Implementation

from .design import IN_MEMORY, PUSHED, RECOVER_FIRST, VALVE, Design
from .implementation import CoordinatorReference, Reference

__all__ = [
    "IN_MEMORY",
    "PUSHED",
    "RECOVER_FIRST",
    "VALVE",
    "CoordinatorReference",
    "Design",
    "Reference",
    "reference",
    "reference_in_memory",
    "reference_of",
    "reference_recover_first",
    "reference_v0",
    "reference_v1",
]


def reference() -> Reference:
    """The newest design: recovered data is pushed into channels that are live already."""
    return Reference("reference", PUSHED)


def reference_in_memory() -> Reference:
    """Recovered data is handed over in memory; checkpoints are possible during recovery."""
    return Reference("reference-in-memory", IN_MEMORY)


def reference_recover_first() -> Reference:
    """Recovery is over before the first checkpoint."""
    return Reference("reference-recover-first", RECOVER_FIRST)


def reference_v1() -> Reference:
    """The operator coordinator with a gate for each subtask: Flink since 1.16."""
    return CoordinatorReference("reference-v1", RECOVER_FIRST)


def reference_v0() -> Reference:
    """The operator coordinator with one valve: Flink before 1.16."""
    return CoordinatorReference("reference-v0", VALVE)


def reference_of(package: ModuleType, name: str) -> Implementation:
    """The newest design, made out of this package, which may be a changed copy of this one."""
    made: Implementation = package.Reference(name, package.PUSHED)
    return made
