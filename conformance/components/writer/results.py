"""What the ledger of a writer knows of results: which have ended, how, and which must have."""

from __future__ import annotations

from conformance.ports import CheckpointReason

COMPLETED = "completed"
"""The end of a result that is complete. Every other end is the reason for which it has failed."""
AT_STOP = "no_result_stays_open_when_its_executor_stops"
"""The rule about executors that stop."""
ANY = (*map(str, CheckpointReason),)
Key = tuple[int, int]
"""A result: the subtask and the checkpoint."""


class Due:
    """A result that must have ended when the operation is over."""

    __slots__ = ("ends", "key", "why")

    def __init__(self, key: Key, why: str, *ends: str) -> None:
        self.key = key
        self.why = why
        """The rule that says so; empty: there is none, and the result must stay open."""
        self.ends = ends
        """How it may end; empty: it must stay open."""


class Results:
    """The results of all subtasks."""

    __slots__ = ("again", "closed_after", "due", "ended", "in_flight", "settled", "stored", "told", "wrong")

    def __init__(self, subtasks: int) -> None:
        self.closed_after = [0] * subtasks
        """By subtask, the newest checkpoint that it had started when it last closed. Nobody waits for the results."""
        self.ended: dict[Key, str] = {}
        """By result that has ended: how."""
        self.stored: list[Key] = []
        """The results that are completed."""
        self.told: list[tuple[Key, str]] = []
        """The ends of results that the writer has signalled and that are not settled."""
        self.due: list[Due] = []
        """The results that must have ended, and have not."""
        self.settled: list[str] = []
        """The rules that said so of results that have ended in the operation as they must."""
        self.wrong: list[tuple[Due, str]] = []
        """Results that must have ended in another way, each with how it has ended."""
        self.again: tuple[Key, str, str] | None = None
        """A result that has ended twice, and how."""
        self.in_flight = 0
        """How many operations are in flight in which results can end. What has ended is judged when there is none."""

    def begin(self) -> None:
        """Notes that an operation begins in which results can end."""
        self.in_flight += 1
        if self.in_flight == 1:
            self.settled = []

    def open(self, key: Key) -> None:
        """Notes that a subtask has a new result."""
        self.ended.pop(key, None)

    def expect(self, why: str, key: Key, *ends: str) -> None:
        """Notes that a result must end in the operation, unless nobody waits for it."""
        if key not in self.ended and (why == AT_STOP or key[1] > self.closed_after[key[0]]):
            self.due.append(Due(key, why, *ends))

    def settle(self) -> None:
        """Compares the results that have ended with those that must have. Both are known if no operation is in flight
        in which others can end."""
        if self.in_flight:
            return
        for key, end in self.told:
            if key in self.ended:
                self.again = key, self.ended[key], end
                continue
            self.ended[key] = end
            if end == COMPLETED:
                self.stored.append(key)
            due = next((one for one in self.due if one.key == key), None)
            if due is not None:
                self.due.remove(due)
                if end in due.ends:
                    self.settled.append(due.why)
                    continue
            elif key[1] <= self.closed_after[key[0]]:
                continue
            self.wrong.append((due or Due(key, ""), end))
        self.told = []


class Files:
    """The channel state that was written."""

    __slots__ = ("complete", "written")

    def __init__(self) -> None:
        self.written: dict[Key, dict[tuple[bool, int], list[int]]] = {}
        """By result and channel state (an output or not, and the channel): what was written."""
        self.complete: list[int] = []
        """The checkpoints of the files that are complete, and in which something was written."""
