"""What shared rules say of single outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver import Broken, FailureClass, Judgement, PortLedger, Seen, Unsure
from conformance.models.faults import a_refusal_is_not_a_failure, an_operation_fails_with_what_it_calls
from conformance.models.lifetime import (
    a_cancellation_deletes_the_files,
    a_future_ends_with_what_it_waits_for,
    a_release_notifies_nobody,
    after_release_nothing_is_held,
)
from conformance.models.records import compare_ids, in_words, records, were
from conformance.models.recovery import (
    a_push_after_release_is_recycled_silently,
    a_push_after_the_end_is_refused,
    a_push_waits_until_the_upstream_is_there,
    recovered_data_is_accepted_until_its_end,
)
from conformance.models.starts import (
    DECLINED,
    SUBSUMED_OR_DECLINED,
    UNOPPOSED,
    Refusal,
    judge_refusal,
    judge_start,
)
from conformance.ports import (
    Buffer,
    CheckpointReason,
    DataAvailable,
    EndOfPartition,
    Error,
    ErrorKind,
    FaultKind,
    FaultStruck,
    Resources,
)

WRITE, READ = "write", "read"
IO, STATE = Error(ErrorKind.IO, "no"), Error(ErrorKind.STATE, "no")


def seen(value: Any = None, error: Error | None = None, *signals: Any) -> Seen[Any]:
    made: Seen[Any] = Seen()
    made.value, made.error, made.signals, made.unheard, made.operands = value, error, list(signals), [], ()
    return made


def broken(judgement: Judgement) -> bool:
    return isinstance(judgement, Broken)


@pytest.mark.parametrize(
    ("got", "past", "failure"),
    [
        ((3, 2), 2, FailureClass.REORDERED),
        ((2,), 2, FailureClass.LOST),
        ((), 2, FailureClass.LOST),
        ((5, 6), 2, FailureClass.LOST),
        ((2, 2), 2, FailureClass.DUPLICATED),
        ((1, 2), 2, FailureClass.DUPLICATED),
        ((-1,), -2, FailureClass.CORRUPTED),
        ((0, 1), 0, FailureClass.CORRUPTED),
        ((2, 3, 4), 2, FailureClass.CORRUPTED),
    ],
)
def test_records_are_lost_duplicated_reordered_or_corrupted(got, past, failure):
    assert compare_ids((2, 3), got, past) is failure


def test_a_record_is_not_corrupted_because_it_is_the_first():
    assert compare_ids((0, 1), (1, 0), 0) is FailureClass.REORDERED


def test_records_in_words():
    assert [in_words(ids) for ids in ((), (1,), (1, 2))] == ["no record", "record 1", "records 1, 2"]
    assert [were(ids) for ids in ((1,), (1, 2))] == ["record 1 was", "records 1, 2 were"]
    assert records([Buffer((1, 2)), EndOfPartition(), Buffer((3,))]) == (1, 2, 3)


class Struck(PortLedger):
    """A ledger at one of whose places a fault is armed; the error of another place may be kept."""

    def __init__(self) -> None:
        super().__init__({WRITE: (FaultKind.THROWS,), READ: (FaultKind.THROWS,)})
        self.begin_life("live")
        self.faults.arm(WRITE, FaultKind.THROWS)
        self.faults.arm(READ, FaultKind.THROWS)

    def may_keep(self, place: str) -> bool:
        return place == READ


def strike(place: str, kind: FaultKind, error: Error | None) -> Judgement:
    return an_operation_fails_with_what_it_calls.check(Struck(), seen(None, error, FaultStruck(place, kind)))


def test_an_operation_fails_with_what_it_calls():
    assert strike(WRITE, FaultKind.THROWS, IO) is True
    assert broken(strike(WRITE, FaultKind.THROWS, STATE))
    assert broken(strike(WRITE, FaultKind.THROWS, None))
    assert broken(strike("nowhere", FaultKind.THROWS, IO)), "no fault was armed there"


def test_an_operation_may_go_on_after_a_refusal_or_keep_the_error():
    assert strike(WRITE, FaultKind.REFUSES, None) is False
    assert strike(READ, FaultKind.THROWS, None) is False
    refused = FaultStruck(WRITE, FaultKind.REFUSES)
    assert a_refusal_is_not_a_failure.check(None, seen(None, None, refused)) is True
    assert broken(a_refusal_is_not_a_failure.check(None, seen(None, IO, refused)))
    assert a_refusal_is_not_a_failure.check(None, seen(None, IO, FaultStruck(WRITE, FaultKind.ENDS))) is False


class Waiting(PortLedger):
    """A ledger of a port that may wait for one thing."""

    def most_futures(self) -> int:
        return 1


def test_a_future_ends_with_what_it_waits_for():
    ledger = Waiting()
    ledger.begin_life("live")

    def judged(futures: int | None) -> Judgement:
        return a_future_ends_with_what_it_waits_for.check(ledger, seen(Resources(0, 0, 0, 0, futures)))

    assert [judged(futures) for futures in (None, 0, 1)] == [False, True, True]
    assert broken(judged(2))
    ledger.begin_release()
    ledger.release()
    assert judged(2) is False


def test_who_counts_nothing_has_not_shown_that_nothing_is_held():
    ledger = PortLedger()
    ledger.begin_life("live")
    ledger.begin_release()
    ledger.release()

    def judged(**counts: int) -> list[Judgement]:
        held = seen(Resources(**counts))
        return [after_release_nothing_is_held.check(ledger, held), a_cancellation_deletes_the_files.check(True, held)]

    assert judged() == [False, False]
    assert judged(segments=0) == [True, False]
    assert judged(files=0) == [True, True]
    assert all(map(broken, judged(files=1)))


def test_a_release_notifies_nobody():
    assert a_release_notifies_nobody.check(None, seen()) is True
    assert broken(a_release_notifies_nobody.check(None, seen(None, None, DataAvailable())))
    assert a_release_notifies_nobody.check(None, seen(None, STATE, DataAvailable())) is False


def test_recovered_data_is_accepted_until_its_end_or_the_release():
    ledger = PortLedger()
    ledger.begin_life("live")
    assert recovered_data_is_accepted_until_its_end.check(ledger, seen()) is True
    assert broken(recovered_data_is_accepted_until_its_end.check(ledger, seen(None, STATE)))
    assert a_push_after_the_end_is_refused.check(ledger, seen(None, STATE)) is True
    assert broken(a_push_after_the_end_is_refused.check(ledger, seen()))
    ledger.begin_release()
    assert recovered_data_is_accepted_until_its_end.check(ledger, seen(None, STATE)) is False
    assert a_push_after_the_end_is_refused.check(ledger, seen()) is False


def test_a_push_after_the_release_does_nothing():
    def judged(late: bool | None, *outcome: Any) -> Judgement:
        return a_push_after_release_is_recycled_silently.check((late, "released"), seen(*outcome))

    assert judged(None, None, STATE) is False
    assert judged(True) is True
    assert judged(False, None, None, DataAvailable()) is True
    assert broken(judged(True, None, None, DataAvailable()))
    assert broken(judged(False, None, STATE))


def test_a_push_waits_until_the_upstream_is_there():
    judged = [a_push_waits_until_the_upstream_is_there.check(one, seen()) for one in (None, True)]
    assert judged == [False, True]
    assert broken(a_push_waits_until_the_upstream_is_there.check(False, seen()))


def test_a_checkpoint_starts_unless_something_is_against_it():
    def judged(against: Refusal | Unsure, error: Error | None = None) -> Judgement:
        return judge_start(lambda checkpoint: against, 3, error)

    assert judged(UNOPPOSED) is True
    assert broken(judged(UNOPPOSED, STATE))
    assert judged(DECLINED, STATE) is False
    assert judged(DECLINED) is False
    assert isinstance(judged(Unsure("another thread may have begun")), Unsure)


def test_a_checkpoint_is_refused_with_the_reason_that_is_against_it():
    def judged(against: Refusal | Unsure, reason: CheckpointReason | None, said: CheckpointReason) -> Judgement:
        error = None if reason is None else Error(ErrorKind.CHECKPOINT, "no", reason)
        return judge_refusal(lambda checkpoint: against, 3, error, said)

    declined, subsumed = CheckpointReason.DECLINED, CheckpointReason.SUBSUMED
    assert judged(DECLINED, declined, declined) is True
    assert judged(DECLINED, declined, subsumed) is False
    assert broken(judged(DECLINED, subsumed, declined))
    assert broken(judged(DECLINED, None, declined))
    assert judged(SUBSUMED_OR_DECLINED, subsumed, declined) is True
    assert judged(UNOPPOSED, None, declined) is False
    assert isinstance(judged(Unsure("another thread may have begun"), None, declined), Unsure)
