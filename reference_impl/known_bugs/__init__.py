"""Known bugs of the reference, one file for each component: each is a change of a few lines of the reference's text.

`CATALOGUE` is registered as an entry point. A bug is built when it is asked for by name, and not before.
"""

from conformance.ports import KnownBug, read_known_bugs
from conformance.ports.changes import tables

from .. import reference_of

CATALOGUE: tuple[KnownBug, ...] = tuple(
    bug for file in tables(__name__) for bug in read_known_bugs(file, "reference_impl", reference_of)
)

__all__ = ["CATALOGUE"]
