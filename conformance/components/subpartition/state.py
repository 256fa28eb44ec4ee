"""The state of one subpartition: what the producer added, what the consumer polled, and what must come next.

Records are numbered in the order in which the producer writes them, across failures: after a restore the producer
writes the records behind the restored checkpoint again, under the same numbers. The consumer must therefore get the
records 0, 1, 2, … for ever, and one integer, `delivered`, says which of them it has. Everything else is a short queue
of elements that were not polled."""

from __future__ import annotations

from conformance.driver import PortLedger
from conformance.parts.words import name
from conformance.ports import (
    Alignment,
    Barrier,
    Buffer,
    Element,
    Next,
    OutputState,
    Places,
    RecoveryMetadata,
    StateStatus,
)

NONE, DATA, EVENT, PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11, and most steps are polls."""
ABSENT = OutputState(StateStatus.ABSENT)
PENDING = OutputState(StateStatus.PENDING)
FAILED = OutputState(StateStatus.FAILED)
WRITTEN_EMPTY = OutputState(StateStatus.WRITTEN)
DESERTED = "deserted"
"""The phase between the failure of the producer and the poll that tells the consumer of it."""


class Queued:
    """One queued element. A data buffer has no `element`: it contains the records up to id `end` (exclusive)."""

    __slots__ = ("element", "end", "fresh", "open", "ready")

    def __init__(self, element: Element | None, end: int = 0) -> None:
        self.element = element
        self.end = end
        self.open = False
        """Whether the producer is still writing the buffer."""
        self.ready = True
        """Whether it was finished when it was added. If not, and it is the last element, the consumer need not be
        notified of it without a flush."""
        self.fresh = False
        """Whether it was added unfinished behind another element, and no poll has looked at it: a flush, also one that
        the implementation makes by itself, may count although there is nothing to read in it."""


class SubpartitionState(PortLedger):
    """What the rules, and the functions that enable steps, read. `Ledger` says how steps change it.

    Phases: `recovering`, `live`, `writing` (the last buffer is unfinished), `finished` (by the producer),
    `deserted`, `broken`, `failed`."""

    __slots__ = (
        "aborted", "announced", "awake", "barriers", "blocked", "buffers", "delivered", "events", "flushed",
        "hands_out_empty", "last_checkpoint", "ordinary", "passes_blocked", "polled", "probe", "replaced", "restored",
        "resumed", "rises", "sent", "seq", "states", "timeoutable", "times_out", "to_recover",
        "unwritten", "urgent", "view",
    )  # fmt: skip

    def __init__(
        self, exclusive_buffers: int, recovered: int | None, passes_blocked: bool, can_fail: Places, times_out: bool
    ) -> None:
        """`times_out`: whether the alignment timeout fires, so that a timeoutable barrier becomes unaligned."""
        super().__init__(can_fail)
        self.times_out = times_out
        self.hands_out_empty = exclusive_buffers == 0
        self.passes_blocked = passes_blocked
        self.delivered = self.last_checkpoint = self.events = 0
        self.sent = recovered or 0
        self.begin_subpartition("live" if recovered is None else "recovering")

    def begin_subpartition(self, phase: str) -> None:
        """Begins with a fresh subpartition, which will recover the records from `delivered` to `sent` (exclusive)."""
        self.begin_life(phase)
        self.restored = self.sent
        """Records below this id were recovered, or delivered before the restore."""
        self.to_recover: list[Element] = []
        for record in range(self.delivered, self.sent):
            self.to_recover += (RecoveryMetadata(0, 0), Buffer((record,)))
        self.ordinary: list[Queued] = []
        self.urgent: list[Barrier] = []
        """Unaligned barriers, which stand in front of everything else."""
        self.rises = False
        """Whether the operation in progress puts a barrier in front of everything else."""
        self.buffers = 0
        """Number of data buffers in `ordinary`."""
        self.seq = 0
        self.view = self.blocked = False
        self.flushed = False
        """Whether a flush asks to hand out all records, also those in an unfinished buffer."""
        self.awake = False
        """Whether the consumer has a reason to poll."""
        self.probe = False
        """Whether the consumer will ask next whether an element is available."""
        self.resumed = False
        """Whether the consumer resumed the subpartition and has neither asked nor polled since."""
        self.announced: Next = NONE
        """Whether the consumer was notified of data or of a priority event since its last poll."""
        self.barriers: list[int] = []
        self.timeoutable: list[int] = []
        self.polled: dict[int, int] = {}
        """By checkpoint, the value of `delivered` when its barrier was polled: the consumer's side of the cut."""
        self.aborted: list[int] = []
        self.replaced: list[int] = []
        """Checkpoints whose channel state future must fail because a newer timeoutable barrier was added."""
        self.states: dict[int, OutputState] = {}
        """By checkpoint, the output state that must have been written by now; not in the dict if there must be none."""
        self.unwritten: list[int] = []
        """Checkpoints whose output state, or channel state future, the channel state writer did not take."""

    # ---- queries ---------------------------------------------------------------------------------------------------
    @property
    def open_future(self) -> int:
        """The checkpoint whose channel state future is open; 0: none. At most one is open, because a newer one fails
        it."""
        newest = self.timeoutable[-1] if self.timeoutable else 0
        return newest if self.states.get(newest) is PENDING else 0

    def state(self, checkpoint: int) -> OutputState:
        """Returns the output state that must have been written by now."""
        return self.states.get(checkpoint, ABSENT)

    def in_front(self, checkpoint: int) -> list[Queued]:
        """Returns the elements in front of a timeoutable barrier that is queued without priority."""
        for place, queued in enumerate(self.ordinary):
            if type(queued.element) is Barrier and queued.element.checkpoint == checkpoint:
                return self.ordinary[:place]
        return []

    def is_empty(self, queued: Queued) -> bool:
        """Returns whether a data buffer is finished and all its records were read, so that a poll skips it."""
        return queued.element is None and queued.end <= self.delivered and not queued.open and not self.hands_out_empty

    def head(self) -> Queued | None:
        """Returns the first element without priority that is not empty; None: there is none."""
        for queued in self.ordinary:
            if not self.is_empty(queued):
                return queued
        return None

    def owed(self, head: Queued) -> Element:
        """Returns what a poll of this element answers now."""
        return Buffer(tuple(range(self.delivered, head.end))) if head.element is None else head.element

    def readable(self) -> bool:
        """Returns whether a poll finds an element if the subpartition is not blocked."""
        if self.urgent:
            return True
        head = self.head()
        return head is not None and (head.element is not None or head.end > self.delivered or not head.open)

    def due(self) -> bool:
        """Returns whether an element can be polled of which the consumer must have been notified by now."""
        if self.urgent:
            return self.passes_blocked or not self.blocked
        if self.blocked or not self.ordinary:
            return False
        last, head = self.ordinary[-1], self.head()
        if head is None:
            return False
        return head is not last or last.ready or (self.flushed and (not last.open or last.end > self.delivered))

    def can_be_polled(self) -> bool:
        """Returns whether a poll would answer something now."""
        if self.blocked:
            return self.passes_blocked and bool(self.urgent)
        return self.readable()

    def only_waits_for_records(self) -> bool:
        """Returns whether nothing is queued but an unfinished buffer without anything to read, and no flush can count
        for it."""
        if len(self.ordinary) != 1 or self.urgent:
            return False
        alone = self.ordinary[0]
        return alone.open and alone.end <= self.delivered and not alone.fresh

    def first(self) -> str:
        """Describes what the next poll must find."""
        if self.urgent:
            return name(self.urgent[0])
        head = self.head()
        return "nothing" if head is None else name(self.owed(head))

    def must_answer(self) -> bool:
        """Returns whether the subpartition is not blocked and a poll finds an element."""
        return not self.blocked and self.readable()

    def next_number(self, has_priority: bool) -> int:
        """Returns the sequence number that the next element must carry."""
        return self.seq

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Returns one segment for each queued buffer, one listener for the view, and one future that may be open.

        What a producer that has failed leaves behind may be given back at any moment.
        """
        if self.phase == DESERTED:
            return ()
        return ("segments", self.buffers), ("listeners", int(self.view)), ("futures", int(self.open_future > 0))

    def restorable(self) -> list[tuple[int]]:
        """Returns the checkpoints whose barrier was polled and whose output state is complete, as operands of a
        step."""
        return [
            (checkpoint,)
            for checkpoint in self.polled
            if checkpoint not in self.aborted and self.state(checkpoint) not in (PENDING, FAILED)
        ]

    def read_again(self) -> list[int]:
        """Returns the checkpoints whose output state is to be read after the release as well."""
        return self.barriers if self.can_fail else []
