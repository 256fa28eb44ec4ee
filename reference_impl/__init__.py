"""The reference: the recovery and checkpoint pipeline as the specification has it, compact and readable.

Three generations of the design (recovery.md, section 0) are one code with a different `Design`. The reference knows no
judge; what it must do is decided by the specification, not by a test.
"""

from reference_impl.design import IN_MEMORY, PUSHED, RECOVER_FIRST, Design
from reference_impl.implementation import Reference

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
    """The newest design: recovered data is spilled and pushed (recovery.md: G2)."""
    return Reference("reference", PUSHED)


def reference_in_memory() -> Reference:
    """Recovered data is handed over in memory; checkpoints during recovery (G1)."""
    return Reference("reference-in-memory", IN_MEMORY)


def reference_recover_first() -> Reference:
    """Recovery is over before the first checkpoint (G0)."""
    return Reference("reference-recover-first", RECOVER_FIRST)
