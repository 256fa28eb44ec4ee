"""What the ledger of a coordinator knows of the job master: its main thread, its calls, and what has failed."""

from __future__ import annotations

from conformance.ports import NO_CHECKPOINT, Signal

ORDINARY, REPEATED, ABORTING, REPORTED, OUTDATED, OLD_ID, CUTS = 0, 1, 2, 3, 4, 5, 6
"""What a queued turn is for: anything; an acknowledgement that was repeated; an abort because of a failure; a failure
of the coordinator, since the last restart of the job or before it; a request with an old id; or, with the id added, a
cut."""


class Turns:
    """The main thread of the job master, which runs one turn after another."""

    __slots__ = ("current", "most", "queue", "tag")

    def __init__(self, most: int) -> None:
        self.most = most
        """How many turns may wait before other threads wait too; 0: any number."""
        self.queue: list[int] = []
        """What the turns are for that were not run."""
        self.tag = self.current = ORDINARY
        """What turns are for that an operation queues now; and what the last turn was for."""


class Calls:
    """The calls of the coordinator: it was asked for its state, given a report, or notified of an end."""

    __slots__ = ("last", "newest_request", "with_old_id")

    def __init__(self) -> None:
        self.last: Signal | None = None
        self.newest_request = NO_CHECKPOINT - 1
        """The newest checkpoint that it was asked for."""
        self.with_old_id = 0
        """How many requests with an old id have not been acknowledged."""


class Failures:
    """What has failed in the job, and the restart that this leads to."""

    __slots__ = ("answered", "cancelled", "failover", "reported", "restarting", "thrown")

    def __init__(self) -> None:
        self.thrown: list[str] = []
        """The kinds of calls in which the coordinator threw."""
        self.reported = False
        """Whether the coordinator has reported a failure since the last reset."""
        self.failover = False
        """Whether the job must be restarted."""
        self.answered = False
        """Whether a restart was asked for because of a failure that the coordinator has reported since the last one."""
        self.restarting: tuple[tuple[int, ...], tuple[int, ...]] = (), ()
        """The subtasks of a restart that has begun, and the checkpoints that it aborts."""
        self.cancelled: tuple[tuple[int, int], ...] = ()
        """The attempts that were alive when a restart of the job began: each fails by it."""
