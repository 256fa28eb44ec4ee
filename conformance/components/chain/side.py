"""What the driver knows of one channel of a chain."""

from __future__ import annotations

from conformance.ports import ChainCheckpoint, ChainConfig, ChannelKind, Recovery


class Side:
    """One channel, from its producer to the consumer, since the last restore."""

    __slots__ = (
        "attached", "begun", "blocked", "channel", "completion_taken", "counted", "due", "ended", "finished", "got",
        "idle", "input_done", "input_end", "input_next", "leaving", "must_leave", "newest", "output_next",
        "producing", "recovered_end", "remote", "sent", "state_consumed", "unconsumed", "waits",
    )  # fmt: skip

    def __init__(self, config: ChainConfig, channel: int) -> None:
        counted, input_end, recovered_end = _recovers_up_to(config.restored, channel)
        if config.output_on_downstream:
            input_end = recovered_end
        self.channel = channel
        self.remote = config.channels[channel] is ChannelKind.REMOTE
        self.begun = self.counted = counted
        """Records below this were counted; when the chain began, and now."""
        self.sent = self.recovered_end = recovered_end
        """Records below `recovered_end` come out of the restored checkpoint."""
        self.input_next = counted
        self.input_end = input_end
        """Records below this are recovered by the consumer, those behind it by the producer."""
        self.output_next = input_end
        self.producing = self.input_done = self.state_consumed = config.recovery is Recovery.NONE
        """The producer has begun, and has not finished; all input state is in the gate; all was consumed."""
        self.finished = self.ended = False
        """The producer sent the end of partition; the consumer took it."""
        self.newest = 0
        """The newest checkpoint whose barrier was sent here."""
        self.unconsumed: list[int] = []
        """Checkpoints of the unaligned barriers that were sent, and that the consumer has not taken."""
        self.attached = False
        """The consumer was there when the last barrier was sent. Who comes later hears only that there is something."""
        self.leaving = 0
        """How many of them have not left the producer of a remote channel."""
        self.must_leave = False
        """One had not, when a transfer began, and it was the only one."""
        self.due = False
        """The only one of them has arrived, so that it is what the consumer must take next."""
        self.blocked = False
        """An element that stops the producer was polled, and the consumer has not resumed it."""
        self.completion_taken = False
        self.got = False
        """The barrier of the pending checkpoint came, or nothing can come any more."""
        self.waits = False
        """Nothing behind an aligned barrier may be counted before the checkpoint is over."""
        self.idle = False
        """Nothing could leave the producer when it was last tried, and nothing has happened since."""

    def must_pass(self) -> str:
        """What an unaligned barrier that is due must pass, besides what was sent before it."""
        if self.blocked and not self.remote:
            return "a blocked producer"
        return "recovered data" if self.counted < self.input_end else ""


def _recovers_up_to(restored: ChainCheckpoint | None, channel: int) -> tuple[int, int, int]:
    """Of one channel, where what was counted ends, its input state, and its output state."""
    if restored is None:
        return 0, 0, 0
    counted = len(restored.counted[channel])
    input_end = counted + len(restored.input_state[channel])
    return counted, input_end, input_end + len(restored.output_state[channel])
