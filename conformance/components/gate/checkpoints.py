"""The checkpoints of a gate: which were started and stopped, which is about to be, and which barriers were announced.

One channel after another starts a checkpoint, or stops it, so that an element may arrive in between. What each channel
must write for a checkpoint is the matter of its input state.
"""

from __future__ import annotations

from conformance.components.gate.side import Side
from conformance.ports import CheckpointReason
from conformance.ports.elements import Announcement, Barrier, Element


class Checkpoints:
    """What the task does with checkpoints at its gate."""

    __slots__ = (
        "announced", "failed", "failed_later", "marked", "moving", "newest", "races", "running", "started", "starting",
        "stopped", "stopping", "without_barrier",
    )  # fmt: skip

    def __init__(self, without_barrier: CheckpointReason) -> None:
        """`without_barrier`: why a checkpoint is declined whose recovery barrier is missing."""
        self.without_barrier = without_barrier
        self.newest = 0
        """The newest checkpoint that any step has named, in any life of the gate."""
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh gate, which knows no checkpoint."""
        self.announced: dict[tuple[int, int], int] = {}
        """By channel and sequence number, the checkpoints whose announcement was taken and whose barrier was not."""
        self.moving: Side | None = None
        """The channel in which an announced barrier is being converted to a priority event; None: none."""
        self.marked = 0
        """The checkpoint whose recovery barriers were inserted and which starts next; 0: none."""
        self.starting = 0
        """The checkpoint that is being started; 0: none."""
        self.stopping = False
        self.races = False
        """Whether a barrier arrives while a checkpoint starts, so that the ledger cannot know which came first."""
        self.running = 0
        """The unaligned checkpoint in progress; 0: none."""
        self.started: list[int] = []
        self.stopped: list[int] = []
        self.failed = 0
        """The checkpoint whose start failed with the channel state writer; 0: none."""
        self.failed_later = False
        """Whether the writer may have worked in the first channels, and failed in one behind them."""

    def name(self, checkpoint: int) -> None:
        """Notes that a step names a checkpoint."""
        if checkpoint > self.newest:
            self.newest = checkpoint

    # ---- start and stop ----------------------------------------------------------------------------------------------
    def end_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint is over, whether or not it was refused."""
        self.name(checkpoint)
        self.starting = self.marked = 0

    def start(self, checkpoint: int) -> None:
        """Notes that a checkpoint has started in the first channels, or in all."""
        self.started.append(checkpoint)
        self.running = checkpoint
        self.races = False

    def fail_to_start(self, checkpoint: int, later: bool) -> None:
        """Notes that the start of a checkpoint failed with the channel state writer. `later`: perhaps not in the first
        channel that had something to write."""
        self.failed, self.failed_later = checkpoint, later
        self.started.append(checkpoint)
        self.starting = self.marked = 0

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self.stopping = False
        self.name(checkpoint)
        self.stopped.append(checkpoint)
        if self.running == checkpoint:
            self.running = 0

    # ---- barriers that may become unaligned --------------------------------------------------------------------------
    def take(self, channel: int, element: Element) -> None:
        """Notes that the consumer took an element: an announcement, or the barrier that was announced, or another."""
        if type(element) is Announcement:
            self.announced[channel, element.seq] = element.checkpoint
        elif type(element) is Barrier:
            gone = channel, element.checkpoint
            self.announced = {one: of for one, of in self.announced.items() if (one[0], of) != gone}

    def moved(self, channel: int, seq: int) -> int:
        """Notes that the conversion of an announced barrier to a priority event is over. Returns its checkpoint."""
        self.moving = None
        return self.announced.pop((channel, seq))
