"""What must become of the checkpoints of a gate: which are refused, and what must be written for the others."""

from __future__ import annotations

from conformance.ports import CheckpointReason, Data
from conformance.properties.gate.side import ALL, Side


class CheckpointRules:
    """The part of the ledger of a gate that knows the rules of checkpoints; the state is all in the ledger."""

    sides: list[Side]
    converted: bool
    pushed_design: bool
    doubtful: bool
    stopping: bool
    starting: int
    sending: int
    newest: int
    checkpoint: int
    started: list[int]
    stopped: list[int]
    marked: dict[int, list[tuple[int, int]]]

    def begin(self) -> None:
        """An operation begins."""
        raise NotImplementedError

    def end(self) -> None:
        """An operation is over."""
        raise NotImplementedError

    def begin_marking(self, checkpoint: int) -> None:
        """The recovered data of every channel is being marked."""
        self.begin()
        self.marked[checkpoint] = [
            (sum(sent.sure for sent in side.recovered), 0) if not side.consumed else (-1, -1) for side in self.sides
        ]

    def end_marking(self, checkpoint: int) -> None:
        """Every channel in recovery is marked."""
        self.end()
        self.marked[checkpoint] = [
            (least, len(side.recovered) if least >= 0 else -1)
            for (least, _), side in zip(self.marked[checkpoint], self.sides, strict=True)
        ]

    def overlap(self, side: Side, barrier: int) -> None:
        """A barrier arrives while a checkpoint starts."""
        self.doubtful = True
        if barrier != self.starting:
            side.unsure[ALL] = None

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint is being started, in one channel after the other."""
        self.begin()
        self.starting = checkpoint
        self.doubtful = False
        if self.sending >= 0:
            side = self.sides[self.sending]
            if side.pending:
                side.unsure[side.pending] = None
            if side.barrier_on_its_way:
                self.overlap(side, side.last_barrier)

    def refusals(self, checkpoint: int) -> tuple[int, tuple[CheckpointReason, ...], bool]:
        """Which channel must refuse a checkpoint first, for which reasons, and whether that is sure; -1: none."""
        if not self.converted:
            return 0, (CheckpointReason.DECLINED_TASK_NOT_READY,), True
        marks = self.marked.get(checkpoint)
        for number, side in enumerate(self.sides):
            reasons: tuple[CheckpointReason, ...] = ()
            if self.pushed_design and not side.consumed and (marks is None or marks[number][0] < 0):
                reasons += (CheckpointReason.DECLINED,)
            if side.subsumes(checkpoint):
                reasons += (CheckpointReason.SUBSUMED,)
            if reasons:
                return number, reasons, not self.doubtful
        return -1, (), not self.doubtful

    def start(self, checkpoint: int, accepted: bool) -> None:
        """A checkpoint started in every channel, or was refused by one, and in the channels before that one."""
        self.end()
        self.newest = max(self.newest, checkpoint)
        self.starting = 0
        refusing, _, _ = self.refusals(checkpoint)
        marks = self.marked.pop(checkpoint, None)
        if not self.converted:
            return
        self.started.append(checkpoint)
        self.checkpoint = checkpoint
        if not accepted and (refusing < 0 or self.doubtful):
            for side in self.sides:
                side.unsure[ALL] = None  # what was on its way made a channel refuse, and nobody can say which
        self.doubtful = False
        for number, side in enumerate(self.sides):
            if not accepted and number == refusing:
                return
            known = self.known_recovered(side, None if marks is None else marks[number])
            if known is None:
                side.unsure[checkpoint] = None
            known = known or []
            if not side.local:
                known += [
                    record
                    for sent in side.queue
                    if type(sent.element) is Data and sent.number < side.barrier_at.get(checkpoint, side.arrived)
                    for record in sent.element.ids
                ]
            side.started(checkpoint, known)

    def known_recovered(self, side: Side, mark: tuple[int, int] | None) -> list[int] | None:
        """The recovered records that belong to a checkpoint that starts; None if that cannot be said."""
        waiting = [record for sent in side.recovered for record in sent.element.ids]  # type: ignore[union-attr]
        if not self.pushed_design:
            return waiting
        if mark is None or mark[0] < 0:
            return [] if side.consumed else None
        return waiting[: mark[0]] if mark[0] == mark[1] else None

    def begin_stop(self) -> None:
        """A checkpoint is being stopped, in one channel after the other."""
        self.begin()
        self.stopping = True
        if self.sending >= 0 and (side := self.sides[self.sending]).pending:
            side.unsure[side.pending] = None

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        self.end()
        self.stopping = False
        self.newest = max(self.newest, checkpoint)
        self.stopped.append(checkpoint)
        if self.checkpoint == checkpoint:
            self.checkpoint = 0
        for side in self.sides:
            side.stopped(checkpoint)
