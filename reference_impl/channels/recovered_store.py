"""Where a physical channel keeps recovered data: nowhere, in memory since its birth, or pushed into it.

One store per generation of the design, chosen when the channel is made. The caller holds the lock of the channel.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import ChannelConfig, CheckpointReason, Data, ErrorKind, Next, PortError, Recovery
from reference_impl.channels.channel import END_OF_RECOVERED_STATE

FIRST_RECOVERED = -(2**31)
"""Recovered buffers are numbered from the smallest int of 32 bits, so that live elements can begin with 0."""


class RecoveryBarrier:
    """Marks in recovered data where a checkpoint started. Never handed out."""

    def __init__(self, checkpoint: int) -> None:
        self.checkpoint = checkpoint


class RecoveredStore:
    """Nothing is kept: all was consumed before the channel became physical, or there was nothing."""

    in_recovery = False

    def __init__(self, handed_over: tuple[int, ...] = ()) -> None:
        self.queued: list[Any] = [Data((record,)) for record in handed_over]
        self.seq = FIRST_RECOVERED

    def __bool__(self) -> bool:
        """Whether something waits here."""
        return bool(self.queued)

    def next_type(self) -> Next:
        """What a consumer would get from here."""
        if not self.queued:
            return Next.NONE
        return Next.EVENT if self.queued[0] is END_OF_RECOVERED_STATE else Next.DATA

    def take(self) -> tuple[Any, int]:
        """The first element and its sequence number."""
        seq, self.seq = self.seq, self.seq + 1
        return self.queued.pop(0), seq

    def push(self, data: Data) -> bool:
        """Whether it is the first that waits."""
        raise PortError(ErrorKind.STATE, "the recovery of this channel is over")

    def finish(self) -> bool:
        """No more will be pushed. Whether the end is the first that waits."""
        raise PortError(ErrorKind.STATE, "the recovery of this channel is over")

    def insert_barrier(self, checkpoint: int) -> bool:
        """Whether the checkpoint was marked: only in recovery."""
        return False

    def known(self, checkpoint: int) -> tuple[int, ...]:
        """The recovered records that belong to a checkpoint which starts now."""
        return records(self.queued)

    def consumed(self) -> None:
        """The end of recovered state was taken."""

    def count(self) -> int:
        """The data buffers that wait here."""
        return sum(type(element) is Data for element in self.queued)

    def clear(self) -> None:
        """Recycle everything."""
        self.queued = []
        self.in_recovery = False


class PushedStore(RecoveredStore):
    """Recovered buffers come while the channel is in recovery, and live data waits behind their end."""

    def __init__(self) -> None:
        super().__init__()
        self.in_recovery = True
        self.finished = False

    def __bool__(self) -> bool:
        return self.head() is not None

    def head(self) -> Any:
        """What the consumer would get, past all barriers; None if that is nothing. Anybody may look, at any moment: a
        barrier in front may belong to a checkpoint that is just starting."""
        return next((element for element in self.queued if type(element) is not RecoveryBarrier), None)

    def next_type(self) -> Next:
        head = self.head()
        if head is None:
            return Next.NONE
        return Next.EVENT if head is END_OF_RECOVERED_STATE else Next.DATA

    def take(self) -> tuple[Any, int]:
        self.drop_barriers_in_front()
        return super().take()

    def drop_barriers_in_front(self) -> None:
        """Nobody gets to see one. Whoever takes elements starts checkpoints too: this one was declined or is over."""
        while self.queued and type(self.queued[0]) is RecoveryBarrier:
            del self.queued[0]

    def push(self, data: Data) -> bool:
        self.check_open()
        first = not self
        self.queued.append(data)
        return first

    def finish(self) -> bool:
        self.check_open()
        self.finished = True
        first = not self
        self.queued.append(END_OF_RECOVERED_STATE)
        return first

    def check_open(self) -> None:
        if self.finished or not self.in_recovery:
            raise PortError(ErrorKind.STATE, "the recovery of this channel is over")

    def insert_barrier(self, checkpoint: int) -> bool:
        if self.in_recovery:
            self.queued.append(RecoveryBarrier(checkpoint))
        return self.in_recovery

    def known(self, checkpoint: int) -> tuple[int, ...]:
        """What stands before the barrier of the checkpoint, which is taken out, as are older ones.

        Raises: PortError CHECKPOINT DECLINED if it is missing, or a newer one is in the way.
        """
        if not self.in_recovery:
            return ()
        kept: list[Any] = []
        for position, element in enumerate(self.queued):
            if type(element) is not RecoveryBarrier:
                kept.append(element)
            elif element.checkpoint == checkpoint:
                self.queued[: position + 1] = kept
                return records(kept)
            elif element.checkpoint > checkpoint:
                break
        self.decline(checkpoint)
        return ()

    def decline(self, checkpoint: int) -> None:
        raise PortError(
            ErrorKind.CHECKPOINT,
            f"nothing marks in the recovered data where checkpoint {checkpoint} starts",
            CheckpointReason.DECLINED,
        )

    def consumed(self) -> None:
        self.in_recovery = False
        self.queued = []  # recovery barriers that were inserted behind the end


def records(elements: list[Any]) -> tuple[int, ...]:
    """The record ids in data buffers, in order."""
    return tuple(record for element in elements if type(element) is Data for record in element.ids)


def make_store(config: ChannelConfig) -> RecoveredStore:
    """The store of a design."""
    if config.recovery is Recovery.PUSHED:
        return PushedStore()
    return RecoveredStore(config.handed_over if config.recovery is Recovery.IN_MEMORY else ())
