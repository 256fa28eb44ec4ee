"""The reference: the recovery and checkpoint pipeline as the specification has it, compact and readable.

Each module is one component, and says which chapter of docs/specification it follows. The three recovery designs are
one code with a different `Design`. The reference knows no judge: the specification decides what it must do, not a test.
It imports itself relatively, so that a copy of it with a known bug in it can be loaded beside it.
"""

from .design import IN_MEMORY, PUSHED, RECOVER_FIRST, Design
from .implementation import Reference

__all__ = [
    "IN_MEMORY",
    "PUSHED",
    "RECOVER_FIRST",
    "Design",
    "Reference",
    "reference",
    "reference_in_memory",
    "reference_recover_first",
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
