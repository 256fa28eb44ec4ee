"""What the ledger of a coordinator knows of one subtask, of its attempts, and of one checkpoint."""

from __future__ import annotations

from conformance.ports import Message

DEPLOYED, RUNNING, FINISHED, FAILED = "deployed", "running", "finished", "failed"
"""How far an attempt is."""
TRIGGERED, ANSWERED, INJECTED, COMPLETED, ABORTED = "triggered", "answered", "injected", "completed", "aborted"
"""How far a checkpoint is. Returned: the coordinator's result is known, and the barriers have not left."""


class Attempt:
    """One attempt, with what is under way to it and from it."""

    __slots__ = (
        "acknowledged", "arrived", "barriers", "cut", "events", "last_event", "lost", "lost_an_event", "missed",
        "must_fail", "notified_aborts", "number", "opened", "passed", "ready", "replay", "replies", "reports", "sent",
        "state", "subtask", "tickets", "told_failed", "unreported", "unsent",
    )  # fmt: skip

    def __init__(self, subtask: int, number: int, replay: list[Message]) -> None:
        self.subtask = subtask
        self.number = number
        self.state = DEPLOYED
        self.ready = False
        """Whether the coordinator was notified that it is ready, and not since that it failed."""
        self.must_fail = False
        """Whether the job master must let it fail."""
        self.lost_an_event = False
        """Whether an event to it was lost."""
        self.missed = False
        """Whether anything between it and the job master was lost."""
        self.unsent: list[Message] = []
        """The events sent to it that are not transmitted, in order."""
        self.events: list[Message | int | None] = []
        """What is on its way to it: events, None for messages of the implementation, and for sources the barriers."""
        self.replies = 0
        self.lost: list[Message] = []
        """The events that it will never receive, since it is over."""
        self.tickets: list[Message] = []
        """The events to it whose tickets are open."""
        self.barriers: list[int] = []
        """The barriers that it can receive, if it is no source."""
        self.cut = 0
        """The newest checkpoint of which it has taken its snapshot."""
        self.passed = 0
        """The newest checkpoint whose barrier it has received, whether its snapshot succeeded or not."""
        self.opened = 0
        """The newest checkpoint of which it has taken its snapshot, or may have, since that was aborted before."""
        self.notified_aborts: list[int] = []
        """The aborted checkpoints of which a request of its own notified its task."""
        self.replay = replay
        """The stored reports that it has not transmitted."""
        self.unreported: list[Message] = []
        """The reports of its operator that are not transmitted, in order."""
        self.reports: list[Message | None] = []
        """The reports on their way from it; None for messages of the implementation."""
        self.sent = 0
        """How many of both have left it so far."""
        self.acknowledged: dict[int, int] = {}
        """By checkpoint of which it has taken its snapshot, how many had left it by the end of that operation: the
        acknowledgement is one of them."""
        self.last_event = -1
        """The number of the last event that it has received."""
        self.told_failed = False
        """Whether the coordinator was notified that it failed."""
        self.arrived: list[Message] = []
        """The reports that have arrived in the job master and were not given to the coordinator."""

    def is_alive(self) -> bool:
        """Returns whether it is neither finished nor failed."""
        return self.state == RUNNING or self.state == DEPLOYED

    def awaits_acknowledgement(self, checkpoint: int) -> bool:
        """Returns whether the acknowledgement of its snapshot may be on its way."""
        return self.acknowledged.get(checkpoint, 0) > self.sent - len(self.reports)

    def end(self, state: str) -> None:
        """Notes that the attempt is over. What was under way is gone; open tickets stay open until they end."""
        self.state = state
        self.replies = 0
        self.lost = [one for one in (*self.unsent, *self.events) if type(one) is Message]
        self.events, self.reports, self.arrived, self.barriers = [], [], [], []
        self.unsent, self.unreported, self.replay, self.notified_aborts = [], [], [], []


class Line:
    """One subtask: how many events and reports there were, as both sides know it. The attempts come and go."""

    __slots__ = ("attempts", "counted", "dead", "newest", "received", "reported", "sent")

    def __init__(self, sent: int = 0, received: int = 0, reported: int = 0, counted: int = 0) -> None:
        self.sent = sent
        """The number of the next event, as the coordinator knows it."""
        self.received = received
        """The number of the next event, as the subtask knows it."""
        self.reported = reported
        """The number of the next report, as the subtask knows it."""
        self.counted = counted
        """The number of the next report, as the coordinator knows it."""
        self.attempts: list[Attempt] = []
        """Those of the last deployment, and older ones with open tickets."""
        self.newest = -1
        self.dead: tuple[int, int] | None = None
        """The attempt before the newest one, and its last snapshot."""


class Checkpoint:
    """One checkpoint, from its trigger on."""

    __slots__ = (
        "awaited", "counted", "cut_failed", "cut_seen", "done", "has_left", "is_savepoint", "known", "late", "may_fail",
        "must_tell", "number", "others_ended", "overlaps", "parts", "repeated", "reported_in_snapshot", "requested",
        "result", "sent", "state", "told", "was_triggered",
    )  # fmt: skip

    def __init__(self, number: int, is_savepoint: bool, overlaps: bool) -> None:
        self.number = number
        self.is_savepoint = is_savepoint
        self.overlaps = overlaps
        """Whether another checkpoint was in progress when it was triggered."""
        self.state = TRIGGERED
        self.was_triggered = True
        """Whether the implementation has heard of its trigger."""
        self.has_left = False
        """Whether its barriers have left."""
        self.requested = False
        self.done = False
        """Whether the coordinator has completed its part, or failed to."""
        self.sent: tuple[int, ...] | None = None
        """By subtask, the events sent before the cut; None: the coordinator has not cut."""
        self.counted: tuple[int, ...] = ()
        """By subtask, the reports received before the cut."""
        self.result: bool | None = None
        self.awaited: list[Message] = []
        """The events with open tickets at the cut."""
        self.cut_failed = False
        """Whether the coordinator failed to cut, or one of them was lost after the main thread had seen the cut, or
        without a failure of its attempt."""
        self.parts: dict[int, tuple[int, int] | None] = {}
        """By subtask that takes part: the events received and the reports sent before its snapshot; None: not yet."""
        self.reported_in_snapshot: list[int] = []
        """The subtasks that sent reports in their snapshot hooks."""
        self.others_ended = False
        """Whether another checkpoint was aborted since the cut."""
        self.repeated: list[int] = []
        """The subtasks of which an acknowledgement was repeated since the cut."""
        self.may_fail = False
        """Whether something has happened since the trigger that may make the checkpoint fail."""
        self.late = False
        """Whether the coordinator has cut after the main thread knew that the checkpoint is over."""
        self.cut_seen = False
        """Whether the main thread has seen the cut."""
        self.known = False
        """Whether the main thread knows that the checkpoint is over."""
        self.must_tell = False
        """Whether the coordinator must be notified of the end of the checkpoint."""
        self.told = 0
        """How often it was notified."""

    def is_over(self) -> bool:
        """Returns whether it is completed or aborted."""
        return self.state == COMPLETED or self.state == ABORTED

    def contains(self, message: Message) -> bool:
        """Returns whether the coordinator sent the event before its cut."""
        return self.sent is None or message.number < self.sent[message.subtask]

    def awaits(self, subtask: int) -> bool:
        """Returns whether the subtask takes part and has not taken its snapshot."""
        return self.state != INJECTED or (subtask in self.parts and self.parts[subtask] is None)


class Point:
    """A completed checkpoint from which the job can be restored."""

    __slots__ = ("counted", "number", "received", "reported", "sent", "stored")

    def __init__(
        self, number: int, sent: tuple[int, ...], received: tuple[int, ...], reported: tuple[int, ...],
        counted: tuple[int, ...], stored: tuple[tuple[Message, ...], ...],
    ) -> None:  # fmt: skip
        self.number = number
        self.sent = sent
        self.received = received
        self.reported = reported
        self.counted = counted
        self.stored = stored
