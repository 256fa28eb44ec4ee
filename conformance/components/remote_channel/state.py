"""The state of one remote channel: what was sent, what the task took, and what follows from both.

An element is `sure` once the operation that sent it is over: from then on the task must find it.
"""

from __future__ import annotations

from conformance.components.remote_channel.credit import Accounts, Credit
from conformance.parts.lane import Lane, Sent
from conformance.parts.notice import Notice
from conformance.parts.starts import DECLINED, SUBSUMED, SUBSUMED_OR_DECLINED, UNOPPOSED, Refusal
from conformance.parts.words import name
from conformance.ports import (
    Buffer,
    CheckpointReason,
    Element,
    Next,
    Places,
)

FLOWING = ("live", "starting")
OPEN = ("new", *FLOWING)
"""Phases of a channel that is not released and has not lost its connection."""
_PRIORITY, _DATA, _EVENT, _NONE = Next.PRIORITY, Next.DATA, Next.EVENT, Next.NONE
NOTHING = -1
"""Stands for an element that comes without a backlog."""


class ChannelState(Accounts):
    """What the rules, and the functions that enable steps, read. `Ledger` says how steps change it."""

    __slots__ = (
        "announced", "arriving", "astray", "checkpointing", "crossed", "disturbed", "doubtful", "end_left",
        "error_came", "error_comes", "errors", "first_number", "forgotten", "input", "kept", "last_barrier",
        "may_hold", "moving", "must_learn", "newest", "notice", "over", "polling", "producer_failed", "records",
        "said", "times_out", "trespassing", "tried", "twice", "urged",
        "without_barrier",
    )  # fmt: skip

    def __init__(
        self, recovery: str, handed_over: int, exclusive: int, floating: int, first: int, can_fail: Places,
        without_barrier: CheckpointReason, times_out: bool,
    ) -> None:  # fmt: skip
        """`without_barrier`: why a checkpoint is declined whose recovery barrier is missing. `times_out`: whether an
        announced barrier may become unaligned."""
        self.times_out = times_out
        super().__init__(recovery, handed_over, (exclusive, floating), can_fail)
        self.without_barrier = without_barrier
        self.first_number = first
        """The sequence number of the first live element. The ledger itself counts positions from 0."""
        self.records = handed_over
        """The next record id. Restores do not reset it."""
        self.restore(tuple(range(handed_over)))

    def restore(self, handed_over: tuple[int, ...] = ()) -> None:
        """Begins with a fresh channel. Only the first channel of a run is handed over recovered buffers.

        The phase is `broken` after the producer sent an element that it must not send, and after an operation has
        failed with what it calls: the connection is lost, and the task fails; before that it is `kept` if the channel
        keeps the error for the next take. The phase is `starting` while the recovery barrier of a checkpoint is
        inserted and the checkpoint has not started.
        """
        self.begin_life("new")
        self.kept = ""
        """The name of the step whose error the channel keeps; empty: it keeps none."""
        self.lane = Lane(handed_over, self.recovery == "pushed")
        self.input = self.lane.input
        """The input state that the channel must have written."""
        self.credit = Credit(*self.buffers)
        self.end_left = self.recovery == "in-memory"
        """Whether an end of recovered data that was handed over may be left, which takes a turn of its own."""
        self.notice = Notice(awake=self.end_left)  # at the conversion the gate asks for the buffers in use
        self.urged = False
        """Whether the gate knows of a priority event: it was told of one, or the last take said that one follows."""
        self.twice = False
        """Whether the channel said more than once that recovery is over, or in a channel that never was in recovery."""
        self.over = False
        """Whether the producer sends no more elements: the end of partition was sent, or the producer has failed."""
        self.producer_failed = False
        """Whether the producer has failed, so that its error arrives instead of elements."""
        self.errors = 0
        """Number of times that its error has arrived."""
        self.error_comes = self.error_came = False
        """Whether the arrival of an error, which the next take answers, has begun; whether it is over."""
        self.must_learn = False
        """Whether an error was there when the take began."""
        self.astray = 0
        """Number of buffers that an operation that has failed may have recycled, or not: that of an arrival, or the
        exclusive ones of a request."""
        self.may_hold = 0
        """Number of buffers that the task may hold without knowing it: a take was in flight when it was cancelled."""
        self.arriving: Sent | None = None
        """The live element whose arrival is in flight; None: none is."""
        self.said = NOTHING
        """The backlog that comes with this element, or `NOTHING`."""
        self.crossed = False
        """Whether the start or stop of a checkpoint has overlapped this arrival."""
        self.polling = self.moving = self.trespassing = self.disturbed = False
        """Whether a take is in flight; whether the conversion of a barrier to a priority event is; whether live data is
        arriving during recovery; whether the producer sent an element that it must not send, which counts as its first
        message, too."""
        self.newest = self.tried = self.last_barrier = 0
        """The newest checkpoint that a step has named; the newest that the task tried to start; that of the last
        barrier."""
        self.checkpointing = self.doubtful = False
        """Whether the start or stop of a checkpoint is in flight; whether a barrier that arrives meanwhile decides
        if the start succeeds."""
        self.forgotten = False
        """Whether the channel has perhaps forgotten its last barrier, so that the conversion of it may fail."""
        self.announced: dict[int, int] = {}
        """By sequence number, the checkpoints whose announcement was taken and whose barrier was not."""

    # ---- sequence numbers ------------------------------------------------------------------------------------------
    def number(self, position: int) -> int:
        """Returns the sequence number of the live element at this position, an integer of 32 bits."""
        return (position + self.first_number + 2**31) % 2**32 - 2**31

    def position(self, number: int) -> int:
        """Returns the position of the live element with this sequence number."""
        return (number - self.first_number) % 2**32

    # ---- queries ---------------------------------------------------------------------------------------------------
    def keeps(self) -> int:
        """Returns the number of buffers that the task may hold and that stay in use after release."""
        return self.credit.held + self.may_hold

    def takeable(self) -> Sent | None:
        """Returns the element that a take certainly finds; None: there is none."""
        lane = self.lane
        line = lane.urgent or lane.waiting or (lane.live if lane.consumed else [])
        return line[0] if line and line[0].sure else None

    def stashed(self) -> Element | None:
        """Returns the next element without priority if it arrived during recovery, otherwise None."""
        lane = self.lane
        return lane.live[0].element if lane.live and not lane.waiting and lane.live[0].stashed else None

    def must_answer(self) -> bool:
        """Returns whether an element could certainly be taken when the take began."""
        if not self.alone or self.phase not in FLOWING or self.error_comes:
            return False
        return self.takeable() is not None and not self.end_may_follow()

    def something_waits(self) -> bool:
        """Returns whether an element, the end of recovered data or an error can certainly be taken."""
        lane = self.lane
        at_the_end = lane.finished and not lane.consumed and not lane.waiting
        return (at_the_end or self.takeable() is not None or self.error_came) and self.phase in FLOWING

    def following(self) -> Next:
        """Returns the type of what the next take finds, provided that no other operation is in flight."""
        lane = self.lane
        if lane.urgent:
            return _PRIORITY
        if lane.waiting:
            return _DATA
        if not lane.consumed:
            return _EVENT if lane.finished else _NONE
        if not lane.live:
            return _NONE
        return _DATA if type(lane.live[0].element) is Buffer else _EVENT

    def end_may_follow(self) -> bool:
        """Returns whether the next take may find an end of recovered data that was handed over."""
        return self.end_left and not self.lane.waiting and not self.lane.urgent

    def first(self) -> str:
        """Describes what the next take must find."""
        if self.error_came:
            return "an error"
        sent = self.takeable()
        return "the end of recovered data" if sent is None else name(sent.element)

    def urgent_waits(self) -> bool:
        """Returns whether a priority event waits."""
        return bool(self.lane.urgent) and self.phase in FLOWING

    def first_urgent(self) -> str:
        """Describes the first priority event that waits."""
        return name(self.lane.urgent[0].element)

    def in_recovery(self) -> bool:
        """Returns whether the end of recovered data was not taken yet."""
        return not self.lane.consumed

    def upstream_is_there(self) -> bool | None:
        """Returns whether the producer has sent an element; None: it sent a forbidden one or has failed, or the release
        has begun."""
        if self.lane.arrived:
            return True
        return None if self.disturbed or self.releasing else False

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released before the push began, otherwise None."""
        return self.released or None

    def refuses(self, checkpoint: int) -> Refusal | None:
        """Returns the reasons to refuse the start now; None: a barrier that arrives meanwhile decides."""
        if self.doubtful:
            return None
        unmarked = not self.lane.consumed and checkpoint not in self.lane.marks
        if self.input.subsumes(checkpoint):
            return SUBSUMED_OR_DECLINED if unmarked else SUBSUMED
        return DECLINED if unmarked else UNOPPOSED
