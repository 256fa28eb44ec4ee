"""The ledger of a filter: what was read of each virtual channel, and what came out of each channel of the task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from conformance.components.filter.lanes import TargetChannel, VirtualChannel, filters, home, layouts, next_reads
from conformance.components.filter.taking import NOTHING_FOUND, take_apart
from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.lookers import Lookers
from conformance.ports import (
    BUFFER_POOL,
    CHANNEL_PUSH,
    CHANNEL_STATE_READ,
    LEAST_PAGE,
    PARTITIONER,
    RECORD_FILE_CREATE,
    RECORD_FILE_DELETE,
    RECORD_FILE_READ,
    RECORD_FILE_WRITE,
    RECORD_READ,
    RECORD_WRITE,
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    Capability,
    FaultStruck,
    FilterConfig,
    Places,
    Recovery,
    SegmentBeforeFilter,
    Taken,
)

_DELETIONS = (RECORD_FILE_DELETE, SPILL_FILE_DELETE)
_RECORD_FILES = (RECORD_FILE_CREATE, RECORD_FILE_WRITE, RECORD_FILE_READ, RECORD_FILE_DELETE)
_SPILL_WRITES = (SPILL_FILE_CREATE, SPILL_FILE_WRITE, SPILL_FILE_SYNC, SPILL_FILE_CLOSE)
_SPILL_READS = (SPILL_FILE_OPEN, SPILL_FILE_READ, SPILL_FILE_CLOSE, SPILL_FILE_DELETE)


@cache
def strikable_places(config: FilterConfig) -> Mapping[str, Collection[str]]:
    """Returns by phase the places at which a fault can strike, with the design of the configuration."""
    pushed = config.recovery is Recovery.PUSHED
    first = config.recovery is Recovery.RECOVER_FIRST
    work = (PARTITIONER, RECORD_READ, *(() if first else (RECORD_WRITE,)), *_RECORD_FILES) if config.rescaled else ()
    hands = (BUFFER_POOL, CHANNEL_PUSH)
    begin = (SPILL_DIRECTORY,) if pushed else ()
    through_pool = hands if not pushed else () if config.rescaled else (BUFFER_POOL,)
    fetch = (CHANNEL_STATE_READ, *through_pool, *(_SPILL_WRITES if pushed else ()), *work)
    return {"new": begin, "fetching": fetch, "fetched": (*hands, *_SPILL_READS) if pushed else work if first else ()}


@cache
def places_of(config: FilterConfig) -> Sequence[tuple[int, int]]:
    """Returns the gate and the number of each channel, through all gates."""
    return tuple(
        (gate, channel) for gate, one in enumerate(config.gates) for channel in range(len(one.mapping.channels))
    )


@cache
def numbers_of(config: FilterConfig) -> Mapping[tuple[int, int], int]:
    """Returns the number of each channel, counted through all gates."""
    return {place: number for number, place in enumerate(places_of(config))}


@cache
def order_of(config: FilterConfig) -> Mapping[int, int]:
    """Returns for each record, by its id, its place among all of them."""
    return {record: at for at, record in enumerate(home(config))}


class Segment:
    """The segment before the filter, as far as anybody asked for it."""

    __slots__ = ("numbers", "requested", "requests")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        """Which one it is; empty if nobody has seen it."""
        self.requested: int | None = None
        """The number of the buffer that was requested, and not given back."""
        self.requests = 0
        """How often it was given out."""


class Ledger(PortLedger):
    """Phases: *new* until `begin`; *fetching* until `end`; then *fetched*; *broken* once something has failed or the
    task is cancelled."""

    __slots__ = (
        "all_taken", "cancelled", "capabilities", "channels", "checkpoints", "chunks", "config", "damaged", "drained",
        "draining", "fetch_failed", "fetching", "files_left", "filters", "found", "has_read", "held", "input_left",
        "large", "late", "left", "lookers", "meanwhile", "must_find", "must_start_now", "numbers", "open_takes",
        "order", "pages", "places", "readable", "reading", "scale", "segment", "sound", "strikable", "takes",
        "virtuals",
    )  # fmt: skip

    def __init__(
        self, config: FilterConfig, scale: tuple[int, int], capabilities: frozenset[Capability], can_fail: Places
    ) -> None:
        """`scale`: the parallelism of the vertex before and now."""
        super().__init__(can_fail)
        self.config = config
        self.scale = scale
        self.filters = filters(config)
        """Whether records are filtered while they are read."""
        self.capabilities = capabilities
        self.strikable = strikable_places(config)
        """By phase, the places at which a fault can strike."""
        self.places = places = places_of(config)
        """The gate and the number of each channel."""
        self.numbers = numbers_of(config)
        """By these two, its number, counted through all gates."""
        self.order = order_of(config)
        """By id of a record, its place among all of them."""
        self.restart()
        self.damaged: Sequence[tuple[int, int]] = ()
        """The channels in which the task demultiplexes what is damaged."""
        if config.recovery is Recovery.RECOVER_FIRST:
            self.damaged = [(one.gate, one.channel) for one in self.channels if one.is_damaged()]
        self.sound = tuple(one for one in places if one not in self.damaged) if self.damaged else places
        """All others."""

    def restart(self) -> None:
        """Begins with a fresh task, which has the same state."""
        self.begin_life("new")
        config = self.config
        self.virtuals = [VirtualChannel(one) for one in layouts(config)]
        of_channel: dict[int, list[VirtualChannel]] = {}
        for one in self.virtuals:
            of_channel.setdefault(one.layout.channel, []).append(one)
        self.channels = [
            TargetChannel(gate, channel, of_channel.get(at, ())) for at, (gate, channel) in enumerate(self.places)
        ]
        self.input_left = sum(one.layout.cut for one in self.virtuals if one.layout.is_known)
        """How many bytes of input state were not read, of those that can be."""
        self.left = sum(one.layout.total for one in self.virtuals)
        """How many bytes were not read."""
        self.has_read = False
        """Whether anything was read."""
        self.large = [one for one in self.virtuals if one.layout.largest > config.partial_in_memory]
        """The virtual channels with a record that has to go to a file if it is cut behind enough of it."""
        self.readable: Sequence[tuple[int, int]] | None = None
        """The reads that may come next; None: these were not found yet."""
        self.chunks: list[tuple[int, int]] = []
        """By chunk that was read, its virtual channel and the byte behind it there."""
        self.reading = False
        """Whether a read is in flight."""
        self.pages = self.meanwhile = 0
        """How many pages the last read hands on, if it hands on records; how many buffers the task took since it
        began."""
        self.fetching = self.draining = False
        """Whether an operation of the thread that fetches, or of the one that drains, is in flight."""
        self.drained = False
        """Whether everything was pushed into its channel."""
        self.fetch_failed = self.cancelled = False
        """Whether the thread that fetches or drains has failed, and the task does not know it: a take that fails ends
        the task; whether the task was cancelled."""
        self.held: list[int] = []
        """The numbers of the buffers that the task has taken and not given back."""
        self.segment = Segment()
        self.lookers: Lookers[int] = Lookers(*range(len(self.channels)))
        """By channel, whether the task found nothing in it since anything else happened."""
        self.found = NOTHING_FOUND
        """What was found in the last take."""
        self.must_find = False
        """Whether everything was handed on when the last take began."""
        self.all_taken = False
        """Whether everything was taken out of all channels."""
        self.takes = 0
        """How many takes have returned something."""
        self.open_takes = 0
        """How many takes have ended that may have returned a buffer of which nothing is known."""
        self.late = 0
        """How many takes began after a failure."""
        self.must_start_now: bool | None = None
        """Whether the last checkpoint must start; None: it may."""
        self.checkpoints = 0
        self.files_left = 0
        """How many files could not be deleted."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def has_good_page(self) -> bool:
        """Returns whether the page size is one that is accepted."""
        return self.config.page >= LEAST_PAGE and not self.config.page & (self.config.page - 1)

    def has_found(self) -> bool:
        """Returns whether the last take has returned something."""
        return self.found is not NOTHING_FOUND

    def number(self, gate: int, channel: int) -> int:
        """Returns the number of a channel, counted through all gates."""
        return self.numbers[gate, channel]

    def is_handed_on(self) -> bool:
        """Returns whether everything was handed on, so that the task must find it."""
        if self.phase != "fetched" or self.fetching or self.draining:
            return False
        return self.drained or self.config.recovery is not Recovery.PUSHED

    def may_end(self) -> bool:
        """Returns whether the channels may be notified of their end by now: everything was read, and with pushed
        everything was pushed. A thread that is about to say so may have notified some of them."""
        has_read = self.phase == "fetched" or (self.fetching and not self.left)
        if self.config.recovery is not Recovery.PUSHED:
            return has_read
        return has_read and (self.drained or self.draining or not any(one.layout.kept for one in self.virtuals))

    def next_reads(self) -> Sequence[tuple[int, int]]:
        """Returns the reads that may come next: of each virtual channel first the one that an exploration tries."""
        found = self.readable
        if found is None:
            found = self.readable = self._next_reads()
        return found

    def _next_reads(self) -> list[tuple[int, int]]:
        page = self.config.page
        first: list[tuple[int, int]] = []
        rest: list[tuple[int, int]] = []
        for one in self.virtuals:
            layout, read = one.layout, one.read
            if read < layout.total and layout.is_known and (read < layout.cut or not self.input_left):
                likely, others = next_reads(layout, read, page)
                first.append(likely)
                rest += others
        return first + rest

    def whole_reads(self) -> Sequence[tuple[int, int]]:
        """Returns the read of a whole chunk of the first virtual channel of which one may come next."""
        for virtual, length in self.next_reads()[:1]:
            layout, read = self.virtuals[virtual].layout, self.virtuals[virtual].read
            stage = layout.cut if read < layout.cut else layout.total
            return ((virtual, max(length, min(self.config.page, stage - read))),)
        return ()

    def unknown_reads(self) -> Sequence[tuple[int, int]]:
        """Returns the reads of virtual channels that their gate does not know."""
        return [
            (one.layout.number, one.layout.total - one.read)
            for one in self.virtuals
            if not one.layout.is_known and one.read < one.layout.total
        ]

    def chunks_since(self, virtual: int, start: int) -> list[int]:
        """Returns the virtual channel of each chunk since this one was read up to this byte."""
        before = [at for at, (number, to) in enumerate(self.chunks) if number == virtual and to <= start]
        return [number for number, _ in self.chunks[before[-1] + 1 if before else 0 :]]

    def has_large(self) -> bool:
        """Returns whether so much was read at once of a record that it had to go to a file."""
        most = self.config.partial_in_memory
        return any(one.read > most for one in self.large)

    def most_begun(self, virtual: int) -> int:
        """Returns how many bytes may be kept at most of a virtual channel."""
        one = self.virtuals[virtual]
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return one.layout.largest
        return one.layout.begun(one.read) if self.filters else 0

    def count_begun(self) -> int:
        """Returns of how many virtual channels parts of elements may be kept in files. What was taken has ended, so
        that with RECOVER_FIRST only what is behind it may be kept."""
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return sum(one.past < len(one.layout.elements) for one in self.virtuals)
        return sum(self.most_begun(number) > 0 for number in range(len(self.virtuals)))

    def is_damaged(self) -> bool:
        """Returns whether a virtual channel ends inside an element."""
        return any(one.layout.ends_inside() for one in self.virtuals)

    def must_start(self) -> bool | None:
        """Returns whether a checkpoint must start now; None: it may be declined or not."""
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return self.all_taken
        if self.phase == "fetched":
            return True
        return None if self.fetching and not self.left else False

    def may_keep(self, place: str) -> bool:
        """Returns whether an operation that was struck there may succeed: nothing is lost with a file that cannot be
        deleted, or not closed after it was read."""
        return place in _DELETIONS or (place == SPILL_FILE_CLOSE and self.phase != "fetching")

    def keeps(self) -> int:
        """Returns how many segments the task may still hold after release: those of the buffers that it holds, and of
        those that a take may have returned which was in flight when the task was cancelled."""
        return len(self.held) + self.open_takes

    def fail(self) -> None:
        """Notes that the task has failed at an arbitrary moment."""
        super().fail()
        self.fetching = self.reading = self.draining = False

    # ---- the thread that fetches -------------------------------------------------------------------------------------
    def begin_fetching(self, *operands: object) -> None:
        """Notes that an operation of the thread that fetches begins."""
        self.begin()
        self.lookers.wake()
        self.fetching = True

    def end_fetching(self, *operands: object) -> None:
        """Notes that it has ended."""
        self.end()
        self.fetching = self.reading = False
        self.lookers.wake()

    def begun(self, seen: Seen[None]) -> None:
        """Notes that the fetch has begun, or that its configuration was refused."""
        self.phase = "fetching" if seen.error is None else BROKEN

    def begin_read(self, virtual: int, length: int) -> None:
        """Notes that bytes are read: from now on, the task may take what ends in them."""
        self.begin_fetching()
        one = self.virtuals[virtual]
        one.begun = one.read + length
        one.chunks.append(one.begun)
        self.chunks.append((virtual, one.begun))
        self.reading = True
        self.meanwhile = 0
        self.pages = -(-one.kept_between(one.read, one.begun) // self.config.page)

    def begin_refused(self, virtual: int, length: int) -> None:
        """Notes that bytes are asked for that cannot be read now."""
        self.begin_fetching()

    def was_read(self, seen: Seen[None], virtual: int, length: int) -> None:
        """Notes that they were read."""
        one = self.virtuals[virtual]
        if seen.error is not None:
            self.fetch_fails()
            return
        layout, before = one.layout, one.read
        one.read = one.begun
        self.has_read = True
        if layout.is_known and before < layout.cut:
            self.input_left -= length
        self.left -= length
        self.readable = None

    def read_struck(self, seen: Seen[None], virtual: int, length: int) -> None:
        """Notes that a call has failed while they were read."""
        self.end_fetching()
        self.strike(seen)
        self.was_read(seen, virtual, length)

    def fetch_fails(self) -> None:
        """Notes that the thread that fetches, or the one that drains, has failed."""
        self.fetch_failed = True
        self.phase = BROKEN

    def struck(self, seen: Seen[Any]) -> None:
        """Notes that a call has failed while the fetch began."""
        self.end_fetching()
        self.strike(seen)
        self.begun(seen)

    def ended(self, seen: Seen[None]) -> None:
        """Notes that everything was read, or that the end was refused."""
        if seen.error is not None:
            self.fetch_fails()
        elif self.phase != BROKEN:
            self.phase = "fetched"

    def end_struck(self, seen: Seen[None]) -> None:
        """Notes that a call has failed at the end."""
        self.end_fetching()
        self.strike(seen)
        self.ended(seen)

    def requested(self, seen: Seen[int]) -> None:
        """Notes that the segment before the filter was requested."""
        self.segment.requested = seen.value
        self.segment.requests += 1

    # ---- the thread that drains --------------------------------------------------------------------------------------
    def begin_draining(self) -> None:
        """Notes that the drainer goes on."""
        self.begin()
        self.lookers.wake()
        self.draining = True

    def end_draining(self) -> None:
        """Notes that it pauses."""
        self.end()
        self.draining = False
        self.lookers.wake()

    def was_drained(self, seen: Seen[bool]) -> None:
        """Notes whether there was anything to push."""
        self.drained = not seen.value

    def drain_struck(self, seen: Seen[bool]) -> None:
        """Notes that a call has failed while it pushed."""
        self.end_draining()
        self.strike(seen)
        if seen.error is None:
            self.was_drained(seen)
        else:
            self.fetch_fails()

    # ---- the task ----------------------------------------------------------------------------------------------------
    def begin_take(self, gate: int, channel: int) -> None:
        """Notes that the task takes."""
        self.begin()
        self.must_find = self.is_handed_on()

    def end_take(self, gate: int, channel: int) -> None:
        """Notes that a take has ended. What it returned is learned next, unless the task was cancelled meanwhile."""
        self.end()
        self.open_takes += 1

    def begin_late_take(self, gate: int, channel: int) -> None:
        """Notes that the task takes although the fetch has failed, of which it was not notified yet."""
        self.late += 1
        self.begin_take(gate, channel)

    def taken(self, seen: Seen[Taken | None], gate: int, channel: int) -> None:
        """Notes what the task got."""
        self.open_takes -= 1
        number = self.number(gate, channel)
        if seen.error is not None:
            self.found = NOTHING_FOUND
            self.phase = BROKEN
            self.fetch_failed = False
            return
        taken = seen.value
        if taken is None:
            self.found = NOTHING_FOUND
            if self.closing or not (self.fetching or self.draining):  # then no thread is about to bring anything
                self.lookers.look(number, nothing=True)
            return
        self.takes += 1
        self.lookers.wake()
        self.found = take_apart(
            self.config, self.channels[number], self.virtuals, home(self.config),
            (*self.held, self.segment.requested), taken,
        )  # fmt: skip
        if taken.last:
            self.all_taken = all(one.last for one in self.channels)
        if taken.buffer is not None:
            self.meanwhile += 1
            self.held.append(taken.buffer)

    def take_struck(self, seen: Seen[Taken | None], gate: int, channel: int) -> None:
        """Notes that a call has failed while the task took."""
        self.end_take(gate, channel)
        self.strike(seen)
        self.taken(seen, gate, channel)

    def recycled(self, buffer: int) -> None:
        """Notes that a buffer was given back."""
        self.end()
        self.lookers.wake()
        if buffer in self.held:
            self.held.remove(buffer)
        else:
            self.segment.requested = None

    def begin_checkpoint(self, checkpoint: int) -> None:
        """Notes that a checkpoint is taken."""
        self.begin()
        self.checkpoints = checkpoint
        self.must_start_now = self.must_start()

    def end_checkpoint(self, checkpoint: int) -> None:
        """Notes that it was taken, or declined."""
        self.end()

    def checkpoint_struck(self, seen: Seen[Any], checkpoint: int) -> None:
        """Notes that a call has failed while it was taken. The task goes on."""
        self.end()
        self.strike(seen)

    # ---- the canceler, the observer and the faults -------------------------------------------------------------------
    def begin_cancel(self) -> None:
        """Notes that the task is cancelled."""
        self.begin()
        self.cancelled = True
        self.phase = BROKEN

    def cancel_struck(self, seen: Seen[None]) -> None:
        """Notes which files could not be deleted."""
        self.end()
        self.strike(seen)

    def looked(self, seen: Seen[SegmentBeforeFilter | None]) -> None:
        """Notes which segment there is: that one is used for every chunk."""
        if seen.value is not None and not self.segment.numbers:
            self.segment.numbers.append(seen.value.number)

    def strike(self, seen: Seen[Any]) -> None:
        """Notes which calls have failed."""
        self.faults.struck(seen.signals)
        self.files_left += sum(type(one) is FaultStruck and one.place in _DELETIONS for one in seen.signals)
