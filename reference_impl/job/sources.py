"""The operator coordinators of sources, which assign splits. Specification: pipeline.md, coordinator.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from conformance.ports import Message

NO_MORE = -1
"""Stands for the event that no further split will be assigned (Flink: `NoMoreSplitsEvent`)."""


class Enumerator:
    """What the user's coordinator of a source does (Flink: `SplitEnumerator`, `SourceCoordinator`)."""

    def __init__(self, splits: range, parallelism: int, unassigned: Iterable[int], ended: bool) -> None:
        self.splits = splits
        self.parallelism = parallelism
        self.unassigned = list(unassigned)
        """Unassigned: the splits that no reader has."""
        self.ended = ended
        """Whether nothing more is supplied."""
        self.ready: dict[int, int] = {}
        """Ready: by subtask that can be sent events, its attempt."""
        self.told: set[int] = set()
        """Told: the subtasks that know that no split follows."""
        self.numbers = [0] * parallelism
        """By subtask, how many events it was sent."""
        self.sent: dict[Message, int] = {}
        """Sent: by event, its split, or `NO_MORE`."""
        self.assigned: list[list[int]] = [[] for _ in range(parallelism)]
        """Assigned: by subtask, the splits that it was sent, as far as it was not reset."""
        self.cuts: dict[int, tuple[int, ...]] = {}
        """Cuts: by checkpoint, the splits that were unassigned."""

    def owner(self, split: int) -> int:
        """J1. Returns the reader of a split that is not assigned yet."""
        return (split - self.splits.start) % self.parallelism

    def act(self, send: Callable[[Message], None]) -> bool:
        """J1, J16. Send one event, if one is due. Returns whether one was."""
        for split in self.unassigned:
            subtask = self.owner(split)
            if subtask in self.ready:
                self.unassigned.remove(split)
                self.assigned[subtask].append(split)
                self.send(subtask, split, send)
                return True
        if self.ended and not self.unassigned:
            for subtask in self.ready:
                if subtask not in self.told:
                    self.told.add(subtask)
                    self.send(subtask, NO_MORE, send)
                    return True
        return False

    def is_due(self) -> bool:
        """I-22. Whether an event is due."""
        if self.unassigned:
            return any(self.owner(split) in self.ready for split in self.unassigned)
        return self.ended and len(self.told) < len(self.ready)

    def send(self, subtask: int, what: int, send: Callable[[Message], None]) -> None:
        """J1. An event leaves (Flink: `SplitEnumeratorContext.assignSplits`, `signalNoMoreSplits`)."""
        message = Message(subtask, self.ready[subtask], self.numbers[subtask])
        self.numbers[subtask] += 1
        self.sent[message] = what
        send(message)

    def is_ready(self, subtask: int, attempt: int) -> None:
        """J1. An attempt can be sent events (Flink: `addReader`)."""
        self.ready[subtask] = attempt

    def has_failed(self, subtask: int) -> None:
        """J11. An attempt is over."""
        self.ready.pop(subtask, None)
        self.told.discard(subtask)

    def cut(self, checkpoint: int) -> None:
        """J5. The state for a checkpoint (Flink: `snapshotState`)."""
        self.cuts[checkpoint] = tuple(self.unassigned)

    def reset(self, subtask: int, unassigned: Sequence[int]) -> None:
        """J14. A subtask was reset to a checkpoint: what it was sent after that comes back (Flink: `addSplitsBack`).
        `unassigned`: the splits that were unassigned then."""
        back = [split for split in self.assigned[subtask] if split in unassigned]
        self.assigned[subtask] = [split for split in self.assigned[subtask] if split not in back]
        self.unassigned = sorted([*self.unassigned, *back])

    def reset_all(self, unassigned: Sequence[int]) -> None:
        """J14. Everything was reset to a checkpoint."""
        self.unassigned = list(unassigned)
        self.assigned = [[] for _ in range(self.parallelism)]
        self.ready, self.told = {}, set()
