"""Known bugs of the reference, by subject: each a subclass that overrides one part.

`CATALOGUE` is registered as an entry point; nothing here runs unless it is asked for by name.
"""

from conformance.ports import KnownBug
from reference_impl.known_bugs import deque, subpartition

CATALOGUE: tuple[KnownBug, ...] = (*deque.BUGS, *subpartition.BUGS)

__all__ = ["CATALOGUE"]
