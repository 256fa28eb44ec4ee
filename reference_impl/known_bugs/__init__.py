"""Known bugs of the reference, by subject: each a subclass that overrides one part.

`CATALOGUE` is registered as an entry point; nothing here runs unless it is asked for by name.
"""

from conformance.ports import KnownBug
from reference_impl.known_bugs import (
    chain,
    deque,
    gate,
    gate_checkpoints,
    local_channel,
    local_channel_checkpoints,
    persister,
    recovered_channel,
    remote_channel,
    subpartition,
    union_gate,
)

CATALOGUE: tuple[KnownBug, ...] = (
    *chain.BUGS,
    *deque.BUGS,
    *gate.BUGS,
    *gate_checkpoints.BUGS,
    *local_channel.BUGS,
    *local_channel_checkpoints.BUGS,
    *persister.BUGS,
    *recovered_channel.BUGS,
    *remote_channel.BUGS,
    *subpartition.BUGS,
    *union_gate.BUGS,
)

__all__ = ["CATALOGUE"]
