"""The checkpoints of one channel: which of them steps have named, started and stopped, and which barriers came."""

from __future__ import annotations

from conformance.ports import CheckpointReason


class Checkpoints:
    """The checkpoints that a channel may be notified of. Their ids grow."""

    __slots__ = ("last_barrier", "newest", "started", "stopped", "without_barrier")

    def __init__(self, without_barrier: CheckpointReason = CheckpointReason.DECLINED, newest: int = 0) -> None:
        """`without_barrier`: why a checkpoint is declined whose recovery barrier is missing. `newest`: the newest
        checkpoint of the channels before this one."""
        self.without_barrier = without_barrier
        self.newest = self.started = self.stopped = newest
        """The newest checkpoint that a step has named; the newest that the task tried to start; the newest that it
        stopped."""
        self.last_barrier = 0
        """The checkpoint of the last barrier."""

    def name(self, checkpoint: int) -> None:
        """Notes that a step names a checkpoint."""
        if checkpoint > self.newest:
            self.newest = checkpoint

    def barrier(self, checkpoint: int) -> None:
        """Notes that the producer sends a barrier."""
        self.last_barrier = checkpoint
        self.name(checkpoint)

    def start(self, checkpoint: int) -> None:
        """Notes that the task tries to start a checkpoint."""
        self.started = max(self.started, checkpoint)

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self.stopped = max(self.stopped, checkpoint)
