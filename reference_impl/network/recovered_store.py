"""Where a physical channel keeps recovered data: nowhere, in memory from the start, or pushed into it.

Specification: local-channel.md. The remote channel does the same by rules of its own, which are named with
remote-channel.md. There is one store for each recovery design, chosen when the channel is made. The caller holds the
channel lock.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import Buffer, ChannelConfig, CheckpointReason, ErrorKind, Next, PortError, Recovery

from .channel import END_OF_RECOVERED_STATE

FIRST_RECOVERED = -(2**31)
"""The next recovered number at the start. Recovered buffers are numbered apart, so that live elements begin with 0."""


class RecoveryBarrier:
    """A recovery barrier: it marks in the recovered queue where a checkpoint started, and is never delivered."""

    def __init__(self, checkpoint: int) -> None:
        self.checkpoint = checkpoint


class RecoveredStore:
    """The recovered queue in every design but `pushed`: it begins with what was handed over, and nothing is pushed."""

    in_recovery = False
    """In recovery: the end of recovered data was not taken yet. Only `pushed` has this state."""

    def __init__(self, handed_over: tuple[int, ...] = ()) -> None:
        """L1, remote-channel.md R1. The recovered queue begins with the records that the recovered channel handed
        over."""
        self.queued: list[Any] = [Buffer((record,)) for record in handed_over]
        """Recovered queue: recovered buffers; in `pushed` recovery barriers and the end of recovered data as well."""
        self.seq = FIRST_RECOVERED
        """Next recovered number: the sequence number of the next recovered buffer that is taken."""

    def __bool__(self) -> bool:
        """L12, remote-channel.md R22. Whether something can be taken from here."""
        return bool(self.queued)

    def next_type(self) -> Next:
        """L15, remote-channel.md R23. What the next take from here finds."""
        return Next.DATA if self.queued else Next.NONE

    def take(self) -> tuple[Any, int]:
        """L12, remote-channel.md R22. Remove the first element; return it and its sequence number."""
        seq, self.seq = self.seq, self.seq + 1
        return self.queued.pop(0), seq

    def push(self, element: Any) -> bool:
        """L5, L7, L8, remote-channel.md R19, R20. Append a recovered buffer, or the end of recovered data.

        Returns whether nothing but recovery barriers was queued before, so that the gate must be notified.

        Raises: PortError STATE if the channel is not in recovery, or if all was pushed.
        """
        raise PortError(ErrorKind.STATE, "the recovery of this channel is over")

    def insert_barrier(self, checkpoint: int) -> bool:
        """L18, remote-channel.md R28. Only a channel in recovery takes a recovery barrier."""
        return False

    def known(self, checkpoint: int) -> tuple[int, ...]:
        """L19, remote-channel.md R29. The recovered records that belong to a checkpoint which starts now."""
        return records(self.queued)

    def count(self) -> int:
        """L23, remote-channel.md R32. The number of data buffers in the recovered queue."""
        return sum([type(element) is Buffer for element in self.queued])

    def clear(self) -> None:
        """L16, L25, remote-channel.md R25, R34. Drop everything that is left; recovery is over."""
        self.queued = []
        self.in_recovery = False


class PushedStore(RecoveredStore):
    """The recovered queue of `pushed`: buffers are pushed while the channel is in recovery, and live data is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.in_recovery = True
        self.finished = False
        """All pushed: the end of recovered data was queued."""

    def __bool__(self) -> bool:
        """L13, remote-channel.md R22. Recovery barriers alone cannot be taken."""
        return self.head() is not None

    def head(self) -> Any:
        """L15, remote-channel.md R23. The first element that is no recovery barrier; None if there is none.

        This removes nothing: the checkpoint of a recovery barrier in front may be about to start.
        """
        for element in self.queued:
            if type(element) is not RecoveryBarrier:
                return element
        return None

    def next_type(self) -> Next:
        """L15, remote-channel.md R23. What the next take from here finds, behind recovery barriers in front."""
        head = self.head()
        if head is None:
            return Next.NONE
        return Next.EVENT if head is END_OF_RECOVERED_STATE else Next.DATA

    def take(self) -> tuple[Any, int]:
        """L13, remote-channel.md R22. Drop recovery barriers in front, and remove the element behind them."""
        # The task thread starts all checkpoints itself: the one of a barrier in front is over, or was declined.
        while type(self.queued[0]) is RecoveryBarrier:
            del self.queued[0]
        return super().take()

    def push(self, element: Any) -> bool:
        """L5, L7, L8, remote-channel.md R19, R20. Append while the channel is in recovery and its end was not
        pushed."""
        if self.finished or not self.in_recovery:
            return super().push(element)
        first = not self
        self.queued.append(element)
        self.finished = element is END_OF_RECOVERED_STATE
        return first

    def insert_barrier(self, checkpoint: int) -> bool:
        """L18, remote-channel.md R28. Mark where a checkpoint starts (Flink: `RecoveryCheckpointBarrier`)."""
        if self.in_recovery:
            self.queued.append(RecoveryBarrier(checkpoint))
        return self.in_recovery

    def known(self, checkpoint: int) -> tuple[int, ...]:
        """L20, L21, remote-channel.md R29, R30. The records in front of the recovery barrier of the checkpoint.

        That recovery barrier and older ones in front of it are removed.

        Raises: PortError CHECKPOINT DECLINED if it is missing, or if that of a newer checkpoint comes first; nothing
        has changed then.
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
    """L19, L20, remote-channel.md R29, recovered-channel.md V13. The records of the data buffers, in their order."""
    return tuple([record for element in elements if type(element) is Buffer for record in element.ids])


def make_store(config: ChannelConfig) -> RecoveredStore:
    """L1, remote-channel.md R1. The store of the recovery design that the configuration names."""
    if config.recovery is Recovery.PUSHED:
        return PushedStore()
    return RecoveredStore(config.handed_over if config.recovery is Recovery.IN_MEMORY else ())
