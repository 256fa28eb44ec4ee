"""Where the recovered input state of a task is: fetched into files, handed to its channels, taken by the task, held by
a checkpoint.

Channels are numbered through all gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.models.lane import Lane
from conformance.models.records import compare_ids, in_words
from conformance.models.words import are, got, many, must_succeed, refusal
from conformance.ports import CheckpointReason, Element, Piece

_RECORDS = 100
"""How many numbers each channel has for its records: channel 2 has 200, 201, 202 and so on."""


@cache
def channels_of(gates: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Returns each channel of these gates, of which the sizes are given: its gate, and its number there."""
    return tuple([(gate, number) for gate, size in enumerate(gates) for number in range(size)])


def first_records(channel: int, count: int) -> tuple[int, ...]:
    """Returns so many records of a channel, from its first."""
    return tuple(range(_RECORDS * channel, _RECORDS * channel + count))


class FetchedState:
    """State that was fetched into spill files, record by record, and how far it was handed to its channels.

    Flink: `FetchedChannelState`, the position of its `FetchedChannelStateReader`, and that of each snapshot.
    """

    __slots__ = ("committed", "pieces", "snapshots")

    def __init__(self, pieces: Sequence[Piece] = ()) -> None:
        self.pieces = list(pieces)
        """What was fetched, one record each, in this order."""
        self.restart()

    def restart(self) -> None:
        """Begins to hand the same state to its channels again."""
        self.committed = 0
        """How many records were handed to their channels."""
        self.snapshots: dict[int, int] = {}
        """By snapshot, how many were committed when it was made: it holds the others."""

    def left(self) -> int:
        """Returns how many records were not handed to their channels."""
        return len(self.pieces) - self.committed

    def is_in_the_middle(self) -> bool:
        """Returns whether one record of a channel was committed, and the next one, of the same channel, was not."""
        around = [(one.gate, one.channel) for one in self.pieces[max(0, self.committed - 1) : self.committed + 1]]
        return self.committed > 0 and len(around) > 1 and around[0] == around[1]

    def make_snapshot(self, number: int) -> None:
        """Notes that a snapshot of what was not committed is made (Flink: `FetchedChannelStateReader.snapshot`)."""
        self.snapshots[number] = self.committed

    def holds_records(self, snapshot: int) -> bool:
        """Returns whether a snapshot holds any record."""
        return self.snapshots[snapshot] < len(self.pieces)


def must_be_granted(grants: int, least: int, most: int) -> Judgement:
    """Judges how many grants there are for spill files: one for each reader and snapshot. With the last, the files are
    deleted."""
    if least <= grants <= most:
        return True
    kind = FailureClass.LOST if grants < least else FailureClass.LEAKED
    owed = f"{many(least, 'grant') if least == most else f'{least} to {most} grants'} must be held"
    return Broken(kind, owed, f"{are(grants, 'grant')} there")


class RecoveredState:
    """The recovered state of each channel of a task, the live data behind it, how much of both the task took, and what
    of it belongs to each checkpoint."""

    __slots__ = ("buffers", "channels", "gates", "handing_on", "lanes", "newest", "started", "state")

    def __init__(self, gates: tuple[int, ...], state: tuple[tuple[int, ...], ...], buffers: int) -> None:
        """`gates`: how many channels each has. `state`: the recovered records of each channel."""
        self.gates = gates
        self.channels = channels_of(gates)
        self.state = state
        """By channel, the recovered records. Each is in a buffer of its own."""
        self.buffers = buffers
        """How many buffers there are for recovered data. A record has one from its push until the task takes it."""
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh task, which has got nothing."""
        self.handing_on = False
        """Whether the thread that hands recovered data to its channels is in the middle of an operation."""
        self.lanes = [Lane(ids) for ids in self.state]
        """By channel, what the task must get and did not: the recovered records, handed over or not, then what was
        sent."""
        self.newest = 0
        """The newest checkpoint, whether it has started or the task has declined it."""
        self.started: dict[int, tuple[tuple[int, ...], ...]] = {}
        """By checkpoint that has started, the recovered records of each channel that the task had not got."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def number(self, gate: int, channel: int) -> int:
        """Returns the number through all gates of a channel of a gate."""
        return self.channels.index((gate, channel))

    def left_in(self, channel: int) -> int:
        """Returns how many recovered records of a channel were not taken."""
        return len(self.lanes[channel].waiting)

    def left(self) -> int:
        """Returns how many recovered records were not taken."""
        return sum([len(lane.waiting) for lane in self.lanes])

    def left_of(self, gate: int) -> int:
        """Returns how many recovered records of a gate were not taken."""
        return sum(self.left_in(channel) for channel, (of, _) in enumerate(self.channels) if of == gate)

    def owed(self, channel: int) -> Element | None:
        """Returns what must come out of a channel next; None: nothing more was sent."""
        head = self.lanes[channel].head()
        return None if head is None else head.element

    def not_empty(self) -> list[int]:
        """Returns the channels out of which something must still come."""
        return [channel for channel, lane in enumerate(self.lanes) if lane.head() is not None]

    def open_channels(self, most: int) -> list[int]:
        """Returns the channels whose end of partition was not sent, and for which there were fewer elements than
        this, recovered or sent."""
        return [
            channel for channel, lane in enumerate(self.lanes) if lane.pushed + lane.arrived < most and not lane.over
        ]

    def has_ended(self) -> bool:
        """Returns whether the task got the end of partition of every channel."""
        return all(lane.over for lane in self.lanes) and not self.not_empty()

    def next_record(self, channel: int) -> int:
        """Returns the record that the producer of a channel sends next."""
        return _RECORDS * channel + self.lanes[channel].pushed + self.lanes[channel].arrived

    # ---- updates -----------------------------------------------------------------------------------------------------
    def try_checkpoint(self, checkpoint: int, starts: bool) -> None:
        """Notes that a checkpoint starts, or that the task declines it."""
        self.newest = checkpoint
        if starts:
            self.started[checkpoint] = tuple([lane.left() for lane in self.lanes])

    # ---- judgements --------------------------------------------------------------------------------------------------
    def must_hold(self, checkpoint: int, stored: tuple[tuple[int, ...], ...]) -> Judgement:
        """Judges the input state of a checkpoint: in each channel, the recovered records that were not taken when it
        started, each once and in order; nothing if it was declined."""
        if len(stored) != len(self.lanes):
            text = f"a checkpoint of {len(self.lanes)} channels holds something for each, which may be nothing"
            return Broken(FailureClass.PROTOCOL, text, f"what it holds is that of {len(stored)}")
        left = self.started.get(checkpoint, ((),) * len(self.lanes))
        for channel, owed in enumerate(left):
            if stored[channel] != owed:
                kind = compare_ids(owed, stored[channel], owed[0] if owed else 0)
                gate, _ = self.channels[channel]
                text = (
                    f"checkpoint {checkpoint} must hold {in_words(owed)} of channel {channel}, which is in gate {gate}"
                )
                return Broken(kind, text, f"it holds {in_words(stored[channel])}")
        return checkpoint in self.started


# ---- rules -----------------------------------------------------------------------------------------------------------
@shared("I-53", ("FLINK-38544",))
def a_checkpoint_that_comes_too_early_is_declined(must_start: bool | None, seen: Seen[None, int]) -> Judgement:
    """Before all gates are converted, the task declines a checkpoint with the reason declined-task-not-ready."""
    if must_start is not False:
        return False
    if refusal(seen.error) is CheckpointReason.DECLINED_TASK_NOT_READY:
        return True
    owed = "a gate is not converted, so the checkpoint must be declined with the reason declined-task-not-ready"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@shared("I-54", ("FLINK-39018",))
def a_checkpoint_does_not_wait_for_recovered_data(must_start: bool | None, seen: Seen[None, int]) -> Judgement:
    """As soon as all gates are converted, the task takes its part of a checkpoint, however much recovered data was not
    taken. With a design in which recovered data is taken before the conversion, the task must be running, too."""
    if must_start is not True:
        return False
    owed = "all gates are converted, so the task must take its part of the checkpoint"
    return must_succeed(seen.error, owed, FailureClass.STUCK)
