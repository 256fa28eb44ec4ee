"""What the driver knows of one channel of a chain."""

from __future__ import annotations


class Side:
    """One channel, from its producer to the consumer, since the last restore."""

    __slots__ = (
        "attached",
        "begun",
        "blocked",
        "completion_taken",
        "counted",
        "due",
        "ended",
        "finished",
        "got",
        "idle",
        "input_done",
        "input_end",
        "input_next",
        "leaving",
        "must_leave",
        "newest",
        "output_done",
        "output_next",
        "recovered_end",
        "remote",
        "sent",
        "state_consumed",
        "unconsumed",
        "waits",
    )

    def __init__(self, remote: bool, counted: int, input_end: int, recovered_end: int, recovers: bool) -> None:
        self.remote = remote
        self.begun = self.counted = counted
        """Records below this were counted; when the chain began, and now."""
        self.sent = self.recovered_end = recovered_end
        """Records below `recovered_end` come out of the restored checkpoint."""
        self.input_next = counted
        self.input_end = input_end
        """Records below this are recovered by the consumer, those behind it by the producer."""
        self.output_next = input_end
        self.input_done = self.output_done = self.state_consumed = not recovers
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
        """One had, when a transfer began, and it was the only one."""
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
