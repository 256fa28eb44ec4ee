"""Known bugs of the reference, by subject: each a subclass that overrides one part.

`CATALOGUE` is registered as an entry point; nothing here runs unless it is asked for by name.
"""

from conformance.ports import KnownBug
from reference_impl.known_bugs import (
    chain,
    deque,
    gate,
    local_channel,
    local_channel_checkpoints,
    recovered_channel,
    subpartition,
    union_gate,
)

CATALOGUE: tuple[KnownBug, ...] = (
    *chain.BUGS,
    *deque.BUGS,
    *gate.BUGS,
    *local_channel.BUGS,
    *local_channel_checkpoints.BUGS,
    *recovered_channel.BUGS,
    *subpartition.BUGS,
    *union_gate.BUGS,
)

__all__ = ["CATALOGUE"]
