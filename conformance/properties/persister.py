"""What must be true of a channel state persister: ledger and named sentences. recovery.md, sections 2.4 and 3.3."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability, CheckpointReason, ErrorKind
from conformance.properties.base import (
    Broken,
    FailureClass,
    Judgement,
    Kind,
    Level,
    Property,
    Seen,
    answers_property,
)
from conformance.properties.persisting import Persisting, written_class


class PersisterLedger(Persisting):
    """The rules, and what was done so far."""

    __slots__ = ("behind", "closing", "failed", "inspected", "newest", "records", "started_ids", "stopped_late")

    def __init__(self) -> None:
        self.records = 0
        """Record ids are numbered through, across restores."""
        self.closing = 0
        self.restore()

    def restore(self) -> None:
        """A fresh persister."""
        super().__init__()
        self.newest = 0
        self.started_ids: list[int] = []
        self.failed = self.stopped_late = False
        self.behind = 0
        """Records that arrived behind a barrier that had been received."""
        self.inspected = 0

    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        return "failed" if self.failed else "live"

    def hear(self, signals: object) -> None:
        """A persister signals nothing."""


Ledger = PersisterLedger


# ---- checks ----------------------------------------------------------------------------------------------------------
def is_subsumed(ledger: Ledger, seen: Seen) -> Judgement:
    checkpoint, _ = seen.operands
    if not ledger.subsumes(checkpoint):
        return False
    error = seen.error
    if (
        error is not None
        and error.kind is ErrorKind.CHECKPOINT
        and error.checkpoint_reason is CheckpointReason.SUBSUMED
    ):
        return True
    owed = f"the barrier of checkpoint {ledger.last_seen} came before: checkpoint {checkpoint} is subsumed"
    return Broken(FailureClass.PROTOCOL, owed, _got(seen))


def is_started(ledger: Ledger, seen: Seen) -> Judgement:
    checkpoint, _ = seen.operands
    if ledger.subsumes(checkpoint):
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, f"no newer barrier is here: checkpoint {checkpoint} starts", _got(seen))


def barrier_is_recognised(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    owed = None if ledger.obsolete(checkpoint) else checkpoint
    if seen.value == owed:
        return True
    why = "is obsolete" if owed is None else "counts"
    return Broken(FailureClass.PROTOCOL, f"barrier {checkpoint} {why}", f"the answer was {seen.value}")


def announcement_is_recognised(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if seen.value == checkpoint:
        return True
    return Broken(FailureClass.PROTOCOL, f"barrier {checkpoint} was announced", f"the answer was {seen.value}")


def received_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value == ledger.received:
        return True
    owed = f"the barrier of the last checkpoint is {'' if ledger.received else 'not '}here"
    return Broken(FailureClass.PROTOCOL, owed, f"the answer was {seen.value}")


def nothing_behind_is_written(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    expected = ledger.expected.get(checkpoint, [])
    extra = [record for record in seen.value if record not in expected]
    if extra:
        owed = f"only records {tuple(expected)} are in front of barrier {checkpoint}"
        return Broken(FailureClass.DUPLICATED, owed, f"records {tuple(extra)} were written as well")
    return ledger.behind > 0


def written_once(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    expected = tuple(ledger.expected.get(checkpoint, ()))
    if tuple(seen.value) == expected:
        return bool(expected)
    owed = f"records {expected} are in front of barrier {checkpoint}"
    return Broken(written_class(expected, tuple(seen.value)), owed, f"records {seen.value} were written")


def late_stop_loses_nothing(ledger: Ledger, seen: Seen) -> Judgement:
    return written_once(ledger, seen) if ledger.stopped_late else False


def _got(seen: Seen) -> str:
    if seen.error is None:
        return "it started"
    reason = f" ({seen.error.checkpoint_reason})" if seen.error.checkpoint_reason else ""
    return f"it answered the error {seen.error.kind}{reason}"


# ---- what a campaign must have seen ----------------------------------------------------------------------------------
def _stopped_late(ledger: Ledger, seen: Seen) -> bool:
    (checkpoint,) = seen.operands
    return bool(ledger.pending > checkpoint)


def _obsolete(ledger: Ledger, seen: Seen) -> bool:
    return ledger.obsolete(seen.operands[0])


def _before_start(ledger: Ledger, seen: Seen) -> bool:
    return ledger.received and ledger.last_seen == seen.operands[0]


def _overtaken(ledger: Ledger, seen: Seen) -> bool:
    (checkpoint,) = seen.operands
    return bool(ledger.pending and checkpoint > ledger.pending)


_PERSISTER = "persister"
_READBACK = frozenset({Capability.PERSISTED_READBACK})

_ALWAYS = (
    answers_property(_PERSISTER),
    Property(
        "a-newer-barrier-subsumes-an-older-checkpoint",
        "A checkpoint that starts after a newer barrier was received is refused as subsumed.",
        _PERSISTER, ("start",), is_subsumed, invariant="I-37", tickets=("FLINK-21104", "FLINK-20097"),
    ),
    Property(
        "a-checkpoint-starts-unless-a-newer-barrier-is-here",
        "A checkpoint of which no newer barrier is known starts, in whatever order checkpoints come.",
        _PERSISTER, ("start",), is_started, invariant="I-37", tickets=("FLINK-20645",),
    ),
    Property(
        "a-barrier-counts-unless-it-is-obsolete",
        "A barrier is recognised, unless its checkpoint is over or a newer one is known.",
        _PERSISTER, ("barrier",), barrier_is_recognised, invariant="I-36", tickets=("FLINK-21104",),
    ),
    Property(
        "an-announcement-names-its-checkpoint",
        "The announcement of a barrier is recognised as that, and changes nothing.",
        _PERSISTER, ("announce",), announcement_is_recognised, invariant="I-36", tickets=("FLINK-19681",),
    ),
    Property(
        "a-received-barrier-is-known-until-its-checkpoint-is-over",
        "The barrier is said to be here from its arrival until its checkpoint stops or a newer one starts.",
        _PERSISTER, ("barrier_received",), received_is_true, invariant="I-38",
    ),
    Property(
        "nothing-behind-a-barrier-is-written",
        "No buffer that arrived behind the barrier of a checkpoint, or after its end, is written for it.",
        _PERSISTER, ("persisted",), nothing_behind_is_written, invariant="I-36",
        tickets=("FLINK-20654", "FLINK-20645"), needs=_READBACK,
    ),
    Property(
        "a-late-stop-loses-nothing",
        "The late stop of an older checkpoint does not end a newer one.",
        _PERSISTER, ("persisted",), late_stop_loses_nothing, invariant="I-38", tickets=("FLINK-20097",),
        needs=_READBACK,
    ),
    Property(
        "data-in-front-of-a-barrier-is-written-once",
        "What was known when the checkpoint started, and what came before its barrier, is written once and in order.",
        _PERSISTER, ("persisted",), written_once, invariant="I-34", tickets=("FLINK-17315",), needs=_READBACK,
    ),
)  # fmt: skip


def _goal(
    slug: str, statement: str, on: tuple[str, ...], check: Callable[[PersisterLedger, Seen], Judgement]
) -> Property:
    return Property(slug, statement, _PERSISTER, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD)


_SOMETIMES = (
    _goal("a-checkpoint-was-subsumed", "A newer barrier was here when a checkpoint started.", ("start",),
          lambda ledger, seen: ledger.subsumes(seen.operands[0])),
    _goal("an-older-checkpoint-was-stopped-late", "A checkpoint was stopped while a newer one was pending.", ("stop",),
          _stopped_late),
    _goal("a-barrier-was-obsolete", "A barrier came after its checkpoint was over.", ("barrier",), _obsolete),
    _goal("a-barrier-came-before-its-checkpoint-started", "A checkpoint started whose barrier was here.", ("start",),
          _before_start),
    _goal("a-newer-barrier-overtook-a-pending-checkpoint", "A newer barrier came while an older one was awaited.",
          ("barrier",), _overtaken),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES
