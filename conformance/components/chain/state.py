"""What the ledger of a chain knows: what each producer sent, what the consumer counted, and where the barriers stand.

Records are numbered by channel in the order in which they are sent, across failures: after a restore the producers go
on behind the restored checkpoint, under the same numbers. The consumer must therefore count 0, 1, 2, … of each channel
for ever, and one integer by channel says which records it has. The ledger never looks at an implementation.
"""

from __future__ import annotations

from conformance.components.chain.checkpoints import (
    ABSENT,
    COMPLETED,
    DECLINED,
    NOTHING,
    OBSOLETE,
    PENDING,
    UNFINISHED,
    Cut,
)
from conformance.components.chain.side import Side
from conformance.driver import PortLedger
from conformance.parts.notice import Notice
from conformance.ports import (
    Barrier,
    ChainCheckpoint,
    ChainConfig,
    CheckpointStatus,
    Element,
    EndOfPartition,
    Places,
    Recovery,
)


class ChainState(PortLedger):
    """The steps keep it up to date; the rules, and the functions that enable steps, read it."""

    __slots__ = (
        "acknowledged", "asked_for", "began_in_recovery", "broke", "completed", "config", "consuming", "converted",
        "cuts", "declined", "fell_back", "generation", "known", "newest", "notice", "origin", "over", "passes_blocked",
        "reading", "recoveries", "saved", "sides", "unwritten", "urgent", "vain",
    )  # fmt: skip
    most_in_vain = 3

    def __init__(
        self, config: ChainConfig, recoveries: tuple[str, ...], passes_blocked: bool, can_fail: Places
    ) -> None:
        super().__init__(can_fail)
        self.recoveries = recoveries
        """The recovery designs with which a restore can be done."""
        self.passes_blocked = passes_blocked
        """Whether a blocked subpartition, too, notifies the consumer of a priority event at once."""
        self.cuts: dict[int, Cut] = {}
        """The cuts by checkpoint. Checkpoints are numbered 1, 2, 3, … across restores, in the order of their first
        step."""
        self.completed = {0: NOTHING}
        self.saved: dict[int, ChainCheckpoint] = {}
        """Completed checkpoints that were restored, as they were read back."""
        self.reading = 0
        """The checkpoint that the current step reads back; 0: none."""
        self.asked_for = ""
        """The recovery design with which it is restored; empty: it is only read."""
        self.generation = 0
        """Number of chains before this one."""
        self.broke = False
        """Whether something failed that this chain has called, so that its task failed."""
        self.begin_chain(config, 0)

    def begin_chain(self, config: ChainConfig, origin: int) -> None:
        """Begins with a fresh chain, which was restored from checkpoint `origin` or started without one."""
        self.begin_life("starting")
        self.config = config
        """The configuration of the port."""
        self.origin = origin
        """The checkpoint of this run from which the chain was restored; 0: none."""
        self.converted = config.recovery is Recovery.NONE
        self.sides = [Side(config, channel) for channel in range(len(config.channels))]
        self.notice = Notice()
        self.consuming = False
        """Whether the consumer is in the middle of something: a poll, or a checkpoint that it was asked for."""
        self.vain = 0
        """Number of the last polls that found nothing, while nothing else happened. Each had a reason."""
        self.urgent: dict[str, int] = {}
        """By what the barrier must pass, a channel in which an unaligned barrier was due when the last poll began."""
        self.known: list[int] = []
        """The checkpoints of this chain, in the order of their first step."""
        self.newest = 0
        """The newest checkpoint that the consumer knows."""
        self.began_in_recovery = False
        """Whether recovered records were not counted yet when checkpoint `newest` started."""
        self.over = True
        """Whether checkpoint `newest` was acknowledged or declined."""
        self.acknowledged: list[int] = []
        self.declined: list[int] = []
        self.fell_back, self.broke = self.broke, False
        """Whether the task of the chain before this one failed because something failed that it had called."""
        self.unwritten: list[int] = []
        """The checkpoints that cannot complete any more, because some of their state could not be written."""

    # ---- queries ---------------------------------------------------------------------------------------------------
    def is_connected(self) -> bool:
        """Returns whether partitions were requested, provided that the chain has not failed."""
        return self.phase != "starting"

    def convertible(self) -> bool:
        """Returns whether a conversion loses no state of any channel."""
        if self.config.recovery is Recovery.PUSHED:
            return True
        if self.config.recovery is Recovery.IN_MEMORY:
            return all(side.input_done for side in self.sides)
        return all(side.state_consumed for side in self.sides)

    def completes(self, channel: int, element: Element) -> int:
        """Returns the checkpoint that is complete when the consumer has taken this element; 0: none."""
        if type(element) is Barrier and not self.obsolete(element.checkpoint):
            checkpoint, goes_on = element.checkpoint, element.checkpoint == self.newest
        elif type(element) is EndOfPartition and not self.over:
            checkpoint, goes_on = self.newest, True
        else:
            return 0
        for side in self.sides:
            if side.channel != channel and not side.ended and not (goes_on and side.got):
                return 0
        return checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Returns whether a barrier of this checkpoint is obsolete: the checkpoint is over, or a newer one is known."""
        return checkpoint < self.newest or (checkpoint == self.newest and self.over)

    def has_ended(self, checkpoint: int) -> bool:
        """Returns whether a checkpoint of this chain was acknowledged or declined."""
        return checkpoint in self.acknowledged or checkpoint in self.declined

    def how_far(self, checkpoint: int) -> tuple[CheckpointStatus, ...]:
        """Returns the statuses with which this checkpoint may be read back."""
        if checkpoint in self.acknowledged:
            return COMPLETED
        if checkpoint in self.declined:
            return DECLINED
        if self.broke:
            return UNFINISHED
        if checkpoint > self.newest:
            return ABSENT
        return OBSOLETE if self.obsolete(checkpoint) else PENDING

    def recovering(self) -> bool:
        """Returns whether recovered records were not counted yet."""
        return any(side.counted < side.recovered_end for side in self.sides)

    def restorable(self) -> list[int]:
        """Returns the checkpoints that can be restored; 0, a start without a checkpoint, is among them now and then."""
        here = [one for one in self.acknowledged if one not in self.saved]
        there = [*list(self.saved)[-2:], *here[-3:]]
        return [0, *there] if not there or self.generation % 4 == 1 else there

    def holds(self) -> dict[str, tuple[int, int]]:
        """Returns, for each field of `Resources` that the ledger knows, the least and the most that the chain holds."""
        config, connected = self.config, self.is_connected()
        own = config.exclusive_buffers + config.floating_buffers
        least = most = attached = 0
        recovering = not self.converted
        for side in self.sides:
            pushed = side.in_recovery(config.recovery)
            recovering |= pushed
            there = side.arrived + side.credit.granted
            least += there + (side.buffers if side.producing or side.finished else 0)  # output may come later
            most += there + side.buffers + max(side.input_end - side.counted, 0)
            if side.remote and (pushed or not connected):  # what is set aside is not announced yet
                most += own
            attached += connected and not side.ended
        lining_up = sum(side.remote for side in self.sides)  # channels that may wait for a floating buffer
        listeners = attached, len(self.sides) + lining_up if connected else 0
        futures = 0, 2 * len(self.sides) if recovering else 0
        return {"segments": (least, most), "listeners": listeners, "futures": futures}
