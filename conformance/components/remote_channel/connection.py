"""The part of the ledger of a remote channel about its producer, the elements that arrive, and the barriers among them.

Specification: remote-channel.md.
"""

from __future__ import annotations

from conformance.models import checkpoints
from conformance.models.lane import Sent
from conformance.ports import CheckpointReason


class Connection:
    """The producer, the connection to it, and the errors that come from them."""

    __slots__ = (
        "error_came", "error_comes", "errors", "misused", "producer_failed", "sends_in_recovery", "was_refused"
    )  # fmt: skip

    def __init__(self) -> None:
        self.producer_failed = False
        """Whether the producer has failed, so that its error arrives instead of elements."""
        self.errors = 0
        """Number of times that its error has arrived."""
        self.error_comes = self.error_came = False
        """Whether the arrival of an error, which the next take returns, has begun, so that what is recycled from then
        on need not be announced; whether it is over."""
        self.misused = self.sends_in_recovery = False
        """Whether the producer sent an element that it must not send, which counts as its first message, too; whether
        such an element is arriving: live data during recovery."""
        self.was_refused = False
        """Whether the channel has refused an element with the expected number: the upstream is ready all the same."""


class Arrival:
    """The arrival of a live element that is in flight."""

    __slots__ = ("backlog", "crossed", "sent")

    def __init__(self, sent: Sent, backlog: int, crossed: bool) -> None:
        self.sent = sent
        self.backlog = backlog
        """The backlog that comes with the element; negative: none."""
        self.crossed = crossed
        """Whether the start or stop of a checkpoint has overlapped the arrival."""


class Checkpoints(checkpoints.Checkpoints):
    """The checkpoints of a remote channel, whose barriers arrive in another thread than its starts and stops."""

    __slots__ = ("announced", "converting", "forgotten", "in_flight", "start_is_unsure", "times_out")

    def __init__(self, without_barrier: CheckpointReason, times_out: bool) -> None:
        """`times_out`: whether an announced barrier may become unaligned."""
        super().__init__(without_barrier)
        self.times_out = times_out
        self.announced: dict[int, int] = {}
        """By sequence number, the checkpoints whose announcement was taken and whose barrier was not."""
        self.converting = False
        """Whether the conversion of an announced barrier to a priority event is in flight."""
        self.in_flight = self.start_is_unsure = False
        """Whether the start or stop of a checkpoint is in flight; whether a barrier that arrives meanwhile decides
        if the start succeeds."""
        self.forgotten = False
        """Whether the channel has perhaps forgotten its last barrier, so that the conversion of it may fail."""

    def barrier(self, checkpoint: int) -> None:
        """Notes that a barrier begins to arrive."""
        super().barrier(checkpoint)
        self.start_is_unsure = self.start_is_unsure or self.in_flight
        self.forgotten = self.in_flight

    def begin_start(self, checkpoint: int, barrier_arrives: bool) -> None:
        """Notes that the start of a checkpoint begins. `barrier_arrives`: whether a barrier is arriving."""
        super().start(checkpoint)
        self.in_flight = True
        self.start_is_unsure = barrier_arrives  # data is written in either order
        self.forgotten = self.forgotten or checkpoint > self.last_barrier

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins."""
        self.in_flight = True
        self.forgotten = self.forgotten or checkpoint == self.last_barrier

    def forget_announcement(self, checkpoint: int) -> None:
        """Notes that the barrier of a checkpoint was taken."""
        self.announced = {seq: one for seq, one in self.announced.items() if one != checkpoint}
