"""The state of one gate: what was sent into each channel, what the consumer polled, and what follows from both.

The state notes an element as *sent* when the operation that sends it begins, and as *taken* when the poll that answers
it is over. An element is `sure` once the operation that sent it is over; before that, a poll may find it or not. Rules
that need to be sure are judged when no operation is in flight, or for a poll that no other operation overlapped.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.gate.credit import Credit
from conformance.components.gate.side import Side
from conformance.driver import BROKEN, FAILING, PortLedger
from conformance.parts.kept import KEPT
from conformance.parts.notice import Notice
from conformance.parts.starts import UNOPPOSED, Refusal
from conformance.ports import (
    CHANNEL_RELEASE,
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    BufferOrEvent,
    ChannelKind,
    CheckpointReason,
    Places,
    Recovery,
)
from conformance.ports.elements import Element, EndOfPartition

NOTHING = EndOfPartition()
"""A placeholder for no element."""
_UNREAD = ("converted", KEPT, BROKEN, "released", "failed")
"""Phases in which the consumer does not poll, or in which a poll answers nothing."""
_NOT_PHYSICAL = Refusal((CheckpointReason.DECLINED_TASK_NOT_READY,))


class GateState(PortLedger):
    """What the rules, and the functions that enable steps, read. `Ledger` says how steps change it."""

    __slots__ = (
        "announced", "arriving", "backlog", "cancelled_in_conversion", "cancelled_in_operation", "checkpoint",
        "converted", "converting", "credited", "doubtful", "exclusive", "floating", "kept", "left_open", "marked",
        "mistold", "most_recovered", "moving", "newest", "notice", "overlapped", "owed_refusal", "pushing",
        "recovery", "sending", "sides", "started", "starting", "stirred", "stopped", "stopping", "times_out",
        "unreleased", "unstarted", "urged", "without_barrier", "woken",
    )  # fmt: skip

    def __init__(
        self, kinds: Sequence[ChannelKind], recovery: Recovery, recovered: int, passes_blocked: bool,
        buffers: tuple[int, int], credited: bool, can_fail: Places, without_barrier: CheckpointReason,
        times_out: bool,
    ) -> None:  # fmt: skip
        """`buffers`: the exclusive buffers of a remote channel, and the floating buffers of the gate. `credited`:
        whether the producers of remote channels keep to their credit. `without_barrier`: why a checkpoint is declined
        whose recovery barrier is missing. `times_out`: whether an announced barrier may become unaligned."""
        super().__init__(can_fail)
        self.times_out = times_out
        self.without_barrier = without_barrier
        self.exclusive, self.floating = buffers
        self.credited = credited
        self.recovery = recovery
        self.most_recovered = recovered
        self.newest = 0
        """The newest checkpoint that any step has named."""
        local = [kind is ChannelKind.LOCAL for kind in kinds]
        credits = [Credit(buffers[0]) if credited and not one else None for one in local]
        self.sides = [Side(one, passes_blocked, recovery, at * 1_000_000, credits[at]) for at, one in enumerate(local)]
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh gate. The numbering of records goes on."""
        self.sides = [side.fresh() for side in self.sides]
        self.converted = self.recovery is Recovery.NONE
        self.begin_life("converted" if self.converted else "recovering")
        self.owed_refusal = False
        """Whether the operation that failed was to be refused as well: the port may keep either error."""
        self.kept = ""
        """The name of the step whose error the gate keeps for its reader; empty: it keeps none."""
        self.notice = Notice()
        self.urged = False
        """Whether the consumer has a reason to look for a priority event: a notification since its last poll began, or
        the last poll said that one follows."""
        self.woken = 0
        """Number of polls in a row that answered nothing, were overlapped by nothing, and notified the consumer."""
        self.mistold = 0
        """A channel, counted from 1, of which it was told too early or twice that its recovered data was consumed."""
        self.stirred = False
        """Whether a channel that has nothing may be queued: the request of partitions may notify for nothing, and an
        operation that overlapped a poll after the poll took what it tells of. A poll that answers nothing ends this."""
        self.pushing = False
        """Whether the push of a recovered buffer, or of the end of recovered data, is in flight."""
        self.converting = self.overlapped = False
        """Whether a conversion is in flight; whether such a push was in flight when the conversion began."""
        self.cancelled_in_conversion = self.cancelled_in_operation = False
        """Whether a conversion, or any operation, was in flight when the task was cancelled."""
        self.left_open = False
        """Whether an operation was in flight when the task failed: the ledger does not know how it ended."""
        self.sending: Side | None = None
        """The channel into which the network is delivering an element; None: the network is idle."""
        self.arriving: Element = NOTHING
        """The element that it is delivering."""
        self.backlog = -1
        """How much the producer says that waits behind that element; -1: it does not say."""
        self.moving: Side | None = None
        """The channel in which an announced barrier is being converted to a priority event; None: none."""
        self.announced: dict[tuple[int, int], int] = {}
        """By channel and sequence number, the checkpoints whose announcement was taken and whose barrier was not."""
        self.marked = 0
        """The checkpoint whose recovery barriers were inserted and which starts next; 0: none."""
        self.starting = 0
        """The checkpoint that is being started; 0: none."""
        self.stopping = False
        self.doubtful = False
        """Whether a barrier arrives while a checkpoint starts, so that the ledger cannot know which came first."""
        self.checkpoint = 0
        """The unaligned checkpoint in progress; 0: none."""
        self.started: list[int] = []
        self.stopped: list[int] = []
        self.unstarted = 0
        """The checkpoint whose start failed with the channel state writer; 0: none."""
        self.unreleased = False
        """Whether the release of a channel has failed, and no release has begun since."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def ready(self, side: Side, end: bool = True) -> bool:
        """Returns whether a poll certainly finds something in a channel, provided that no operation is in flight.

        `end`: whether the end of recovered data counts, for which a poll answers no element.
        """
        if side.ended or self.phase in _UNREAD:
            return False
        if side.urgent and side.urgent_ready():
            return True
        if side.waiting:
            return side.waiting[0].sure
        if not (side.consumed or side.unseen_end(self.converted)):
            return end and side.finished
        return bool(side.live) and side.live[0].sure and not side.blocked

    def something_waits(self) -> int:
        """Returns the first channel, counted from 1, in which a poll certainly finds something, provided that no
        operation is in flight; 0: there is none. While the gate keeps an error, a poll certainly finds that."""
        if self.phase == FAILING:
            return 1
        for number, side in enumerate(self.sides, 1):
            if self.ready(side):
                return number
        return 0

    def urgent_waits(self) -> int:
        """Returns the first channel, counted from 1, in which a poll certainly finds a priority event of which the gate
        was notified, provided that no operation is in flight; 0: there is none."""
        for number, side in enumerate(self.sides, 1):
            if side.urgent and not side.urgent[0].silent and side.urgent_ready() and self.phase not in _UNREAD:
                return number
        return 0

    def first(self) -> str:
        """Describes what the next poll must find."""
        if self.phase == FAILING:
            return "an error, or an element that was sent before,"
        return f"an element of channel {self.something_waits() - 1}"

    def first_urgent(self) -> str:
        """Describes the priority event that the next poll must find."""
        return f"a priority event of channel {self.urgent_waits() - 1}"

    def left(self, taken: BufferOrEvent) -> bool:
        """Returns whether anything is in a channel, certainly or not, besides the element that a poll has taken."""
        for number, side in enumerate(self.sides):
            if side.holds_more_than(taken.element if number == taken.channel else None):
                return True
        return False

    def priority_left(self, taken: BufferOrEvent) -> bool:
        """Returns whether a priority event is in a channel, certainly or not, besides the one that a poll has taken."""
        count = sum([len(side.urgent) for side in self.sides])
        return count > taken.element.data_type.has_priority

    def any_slow(self) -> bool:
        """Returns whether any channel is blocked or still recovering."""
        pushed = self.recovery is Recovery.PUSHED
        return True in [side.blocked or (pushed and not side.consumed) for side in self.sides]

    def all_tracked(self) -> bool:
        """Returns whether the end of output state of every channel was noted."""
        return False not in [side.tracked for side in self.sides]

    def all_ended(self) -> bool:
        """Returns whether the consumer polled the end of partition of every channel."""
        return False not in [side.ended for side in self.sides]

    def may_have_ended(self) -> bool:
        """Returns whether all channels have ended, or all but one, whose end may have been the answer of a poll that
        was in flight when the task failed."""
        return [side.ended for side in self.sides].count(False) <= self.left_open

    def conversion_loses(self) -> bool | None:
        """Returns whether a channel has state that its physical channel would not get; None: an operation in flight
        decides."""
        if self.recovery is Recovery.RECOVER_FIRST:
            return not all(side.consumed for side in self.sides)
        if self.recovery is Recovery.PUSHED or all(side.finished for side in self.sides):
            return False
        return None if all(side.finishing for side in self.sides) else True

    def refuses(self, checkpoint: int) -> Refusal | None:
        """Returns the reasons to refuse the start of a checkpoint; None: a barrier in flight decides."""
        if not self.converted:
            return _NOT_PHYSICAL
        if self.doubtful:
            return None
        for number, side in enumerate(self.sides):
            if reasons := side.refuses(checkpoint):
                return Refusal(reasons, f" by channel {number}")
        return UNOPPOSED

    def came_too_late(self) -> bool:
        """Returns whether the gate was released before the push began."""
        return self.released

    def task_has_called(self) -> bool:
        """Returns whether the operation that was struck is one of the task, and not an arrival."""
        return self.sending is None

    def polls_again(self) -> bool:
        """Returns whether the consumer has a reason to poll."""
        return self.notice.awake

    def may_find_nothing(self) -> bool:
        """Returns whether another operation overlapped the poll: that which failed may not be over."""
        return not self.alone

    def any_sure(self, checkpoint: int) -> bool:
        """Returns whether the ledger knows for any channel what must have been written for the checkpoint."""
        return True in [side.input.is_sure(checkpoint) for side in self.sides]

    def strikable(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can strike in this phase or a later one, as operands of a step."""
        over = []
        if self.phase != "recovering" or False not in [side.local for side in self.sides]:
            over.append(NETWORK_BUFFER_POOL)
        if self.phase not in ("recovering", "converted"):
            over.append(SUBPARTITION_REQUEST)
        if self.releasing:
            over.append(CHANNEL_RELEASE)
        return [one for one in self.faults.possible() if one[0] not in over]

    def is_over(self) -> bool:
        """Returns whether the gate must have given back all resources: after release, or when all channels ended."""
        return self.released or self.all_ended()
