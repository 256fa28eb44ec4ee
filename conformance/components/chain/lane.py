"""The ledger of one channel of a chain."""

from __future__ import annotations

from conformance.models import lane
from conformance.models.credit import Credit
from conformance.ports import Barrier, ChainCheckpoint, ChainConfig, ChannelKind, Recovery

PUSHED = Recovery.PUSHED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Lane(lane.Lane):
    """One channel of the chain, from its producer to the consumer, since the last restore.

    Of its elements, only the unaligned barriers are kept one by one; records are counted.
    """

    __slots__ = (
        "at_consumer", "at_producer", "attached", "begun", "channel", "completion_taken", "counted", "credit", "early",
        "had", "idle", "input_done", "input_end", "input_next", "leaving", "must_leave", "newest", "output_next",
        "producing", "recovered_end", "remote", "sent", "state_consumed", "waits",
    )  # fmt: skip

    def __init__(self, config: ChainConfig, channel: int, passes_blocked: bool) -> None:
        """`passes_blocked`: whether a priority event passes a local producer that is blocked."""
        self.remote = config.channels[channel] is ChannelKind.REMOTE
        super().__init__(recovers=False, passes=passes_blocked or self.remote)
        counted, input_end, recovered_end = _recovers_up_to(config.restored, channel)
        if config.output_on_downstream:
            input_end = recovered_end
        self.channel = channel
        self.begun = self.counted = counted
        """Records below these ids were counted: below `begun` before the chain began, below `counted` until now."""
        self.sent = self.recovered_end = recovered_end
        """Records below `sent` were sent. Those below `recovered_end` come from the restored checkpoint."""
        self.input_next = counted
        self.input_end = input_end
        """The consumer recovers the records below this id as input state, the producer those from it on as output
        state."""
        self.output_next = input_end
        self.producing = self.input_done = self.state_consumed = config.recovery is Recovery.NONE
        """Whether the producer sends live elements and has not finished; whether all input state was pushed into the
        gate; whether all of it was consumed."""
        self.newest = 0
        """The newest checkpoint whose barrier was sent into this channel."""
        self.attached = False
        """Whether the view was attached when the last barrier was sent. A view that is attached later is notified only
        of data, not of a priority event."""
        self.leaving = 0
        """Number of unaligned barriers that have not left the producer of a remote channel."""
        self.must_leave = False
        """Whether an unaligned barrier was still at the producer when the last transfer began."""
        self.completion_taken = False
        self.waits = False
        """Whether the channel waits behind an aligned barrier: no record may be counted before the checkpoint is
        over."""
        self.idle = False
        """Whether nothing could leave the producer at the last transfer, and nothing has happened since."""
        self.credit = Credit(config.exclusive_buffers)
        """The credit of a remote producer."""
        self.had = 0
        """What it was when the last transfer began."""
        self.early = False
        """Whether credit was announced although the channel is in recovery."""
        self.at_producer = self.at_consumer = 0
        """Number of data buffers that are with the producer, and of those that travelled over the network and wait at
        the consumer."""

    def unaligned(self) -> list[int]:
        """Returns the checkpoints of the unaligned barriers that were sent and that the consumer has not taken."""
        return [sent.element.checkpoint for sent in self.urgent if type(sent.element) is Barrier]

    def arrive(self, checkpoint: int) -> None:
        """Notes that an unaligned barrier has arrived, unless the consumer has taken it meanwhile: the consumer must
        take an unaligned barrier next."""
        for sent, one in zip(self.urgent, self.unaligned(), strict=True):
            sent.sure |= one == checkpoint

    def arrives_next(self) -> bool:
        """Returns whether every unaligned barrier but the last has certainly arrived."""
        return all(sent.sure for sent in self.urgent[:-1])

    def take_barrier(self, checkpoint: int) -> None:
        """Notes that the consumer took an unaligned barrier."""
        if checkpoint in (unaligned := self.unaligned()):
            del self.urgent[unaligned.index(checkpoint)]

    def is_pushed(self, design: Recovery) -> bool:
        """Returns whether recovered data is pushed into the channel, so that it announces no credit."""
        return design is PUSHED and not self.state_consumed

    def must_pass(self) -> str:
        """Names what an unaligned barrier that is due must pass; empty: only records that were sent before it."""
        if self.blocked and not self.remote:
            return "a blocked producer"
        return "recovered data" if self.counted < self.input_end else ""


def _recovers_up_to(restored: ChainCheckpoint | None, channel: int) -> tuple[int, int, int]:
    """Returns the ends, as exclusive record ids, of the counted records, the input state and the output state."""
    if restored is None:
        return 0, 0, 0
    counted = len(restored.counted[channel])
    input_end = counted + len(restored.input_state[channel])
    return counted, input_end, input_end + len(restored.output_state[channel])
