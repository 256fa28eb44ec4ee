"""Where a physical channel keeps recovered data: nowhere, in memory since its birth, or pushed into it.

One store per recovery design, chosen when the channel is made. The caller holds the lock of the channel.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import Buffer, ChannelConfig, CheckpointReason, ErrorKind, Next, PortError, Recovery

from .channel import END_OF_RECOVERED_STATE

FIRST_RECOVERED = -(2**31)
"""Recovered buffers are numbered from the smallest int of 32 bits, so that live elements can begin with 0."""


class RecoveryBarrier:
    """Marks in recovered data where a checkpoint started. Never handed out."""

    def __init__(self, checkpoint: int) -> None:
        self.checkpoint = checkpoint


class RecoveredStore:
    """What the recovered channel handed over, or nothing. Nothing comes in any more."""

    in_recovery = False

    def __init__(self, handed_over: tuple[int, ...] = ()) -> None:
        self.queued: list[Any] = [Buffer((record,)) for record in handed_over]
        self.seq = FIRST_RECOVERED

    def __bool__(self) -> bool:
        """Whether something can be taken from here."""
        return bool(self.queued)

    def next_type(self) -> Next:
        """What a consumer would get from here."""
        return Next.DATA if self.queued else Next.NONE

    def take(self) -> tuple[Any, int]:
        """The first element and its sequence number."""
        seq, self.seq = self.seq, self.seq + 1
        return self.queued.pop(0), seq

    def push(self, element: Any) -> bool:
        """A recovered buffer, or the end of recovered state. Whether it is the first that can be taken.

        Raises: PortError STATE if recovery is over.
        """
        raise PortError(ErrorKind.STATE, "the recovery of this channel is over")

    def insert_barrier(self, checkpoint: int) -> bool:
        """Whether the checkpoint was marked: only in recovery."""
        return False

    def known(self, checkpoint: int) -> tuple[int, ...]:
        """The recovered records that belong to a checkpoint which starts now."""
        return records(self.queued)

    def count(self) -> int:
        """The data buffers that wait here."""
        return sum(type(element) is Buffer for element in self.queued)

    def clear(self) -> None:
        """Recovery is over, or the channel is released: everything that is left is recycled."""
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
        """What the consumer would get, past all recovery barriers; None if that is nothing.

        Anybody may look, at any moment: a barrier in front may belong to a checkpoint that is just starting.
        """
        return next((element for element in self.queued if type(element) is not RecoveryBarrier), None)

    def next_type(self) -> Next:
        head = self.head()
        if head is None:
            return Next.NONE
        return Next.EVENT if head is END_OF_RECOVERED_STATE else Next.DATA

    def take(self) -> tuple[Any, int]:
        # The task takes elements and starts checkpoints: the checkpoint of a barrier in front was declined, or is over.
        while type(self.queued[0]) is RecoveryBarrier:
            del self.queued[0]
        return super().take()

    def push(self, element: Any) -> bool:
        if self.finished or not self.in_recovery:
            return super().push(element)
        first = not self
        self.queued.append(element)
        self.finished = element is END_OF_RECOVERED_STATE
        return first

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
        raise PortError(
            ErrorKind.CHECKPOINT,
            f"no recovery barrier marks where checkpoint {checkpoint} starts",
            CheckpointReason.DECLINED,
        )


def records(elements: list[Any]) -> tuple[int, ...]:
    """The record ids in data buffers, in order."""
    return tuple(record for element in elements if type(element) is Buffer for record in element.ids)


def make_store(config: ChannelConfig) -> RecoveredStore:
    """The store of a recovery design."""
    if config.recovery is Recovery.PUSHED:
        return PushedStore()
    return RecoveredStore(config.handed_over if config.recovery is Recovery.IN_MEMORY else ())
