"""What an implementation says it can do. Capabilities, never version numbers, decide which properties apply."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """One feature. The comment behind a value says what claiming it promises."""

    BLOCKED_PRIORITY_LOCAL = "blocked-priority-local"
    """A priority event passes a blocked subpartition: it is announced and can be polled (FLINK-39018)."""
    BLOCKED_PRIORITY_REMOTE = "blocked-priority-remote"
    """The same for a reader over the network, whether it has credit or not."""
    TIMEOUTABLE_BARRIERS = "timeoutable-barriers"
    """Aligned barriers can be converted to unaligned ones on the way (FLINK-19681)."""
    OUTPUT_RECOVERED_UPSTREAM = "output-recovered-upstream"
    """Output channel state can be recovered at the producing subpartition."""
    PERSISTED_READBACK = "persisted-readback"
    """`persisted(checkpoint)` answers what was written."""
    RESOURCES = "resources"
    """`resources()` answers real counts."""
    STEPPING = "stepping"
    """Operations pause at their locks and at whatever they wait for, so that they can be interleaved inside."""
    RECOVERS_FIRST = "recover-first"
    """Recovery is over before a channel becomes physical, and before the first checkpoint."""
    RECOVERS_IN_MEMORY = "recover-in-memory"
    """Recovered buffers move into the physical channel, which can be checkpointed with them (FLINK-39018)."""
    RECOVERS_BY_PUSHING = "recover-by-pushing"
    """Recovered buffers are pushed into the physical channel, behind which live data waits (FLINK-38544)."""
