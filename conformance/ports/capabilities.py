"""The features that an implementation can claim. They decide which properties apply; its version never does."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """One feature. The text below a value says what an implementation that claims it promises."""

    BLOCKED_PRIORITY_LOCAL = "blocked-priority-local"
    """A blocked subpartition announces priority events and hands them out (FLINK-39018)."""
    BLOCKED_PRIORITY_REMOTE = "blocked-priority-remote"
    """A blocked subpartition does the same for a reader over the network, whether it has credit or not."""
    TIMEOUTABLE_BARRIERS = "timeoutable-barriers"
    """A timeoutable barrier becomes unaligned if the alignment timeout fires while it is queued (FLINK-19681)."""
    OUTPUT_RECOVERED_UPSTREAM = "output-recovered-upstream"
    """A subpartition can recover output state."""
    PERSISTED_READBACK = "persisted-readback"
    """`persisted(checkpoint)` answers what was given to the channel state writer."""
    RESOURCES = "resources"
    """`resources()` answers real counts."""
    STEPPING = "stepping"
    """Operations pause at their locks and wherever they wait, so that a scenario can interleave them there."""
    BEGINS_ANYWHERE = "begins-anywhere"
    """A remote channel can begin with any sequence number, as after a long run. Sequence numbers have 32 bits and wrap
    around."""
    FAULTS = "faults"
    """`fault` lets what a component calls fail."""
    RECOVERS_FIRST = "recover-first"
    """The consumer takes all recovered data before a channel is converted and before the first checkpoint starts."""
    RECOVERS_IN_MEMORY = "recover-in-memory"
    """Conversion moves recovered buffers into the physical channel, and a checkpoint can contain them (FLINK-39018)."""
    RECOVERS_BY_PUSHING = "recover-by-pushing"
    """Recovered buffers are pushed into the physical channel, and live data waits behind them (FLINK-38544)."""
    NOT_READY_WITHOUT_BARRIER = "not-ready-without-barrier"
    """A checkpoint that starts in a channel in recovery without its recovery barrier is declined as
    `declined-task-not-ready`, as in the first design of FLINK-38544. Without this capability it is declined as
    `declined`, which counts as a failure of the checkpoint."""
    DOWN_GATE = "down-gate"
    """An event that the coordinator sends after its part of a checkpoint reaches a subtask only after the subtask has
    taken its snapshot, whether the subtask is a source or not (FLINK-26029)."""
    UP_GATE = "up-gate"
    """A checkpoint contains the same reports on both sides: each one that a subtask has sent before its snapshot was
    received before the coordinator's part, or is stored for replay (FLINK-28639)."""
    UP_BLOCKED = "up-blocked"
    """Reports are held back in the subtasks while a checkpoint is in progress. An engine can satisfy `up-gate` in
    another way, for example by storing in the coordinator's state what arrives after its cut."""
