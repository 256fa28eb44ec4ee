"""The rules of recovered data in one channel: how it is pushed, what its end means, when it is marked."""

from __future__ import annotations

from typing import Protocol

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.parts.lane import Recovered
from conformance.parts.words import must_fail, must_succeed
from conformance.ports import BufferAndBacklog, ErrorKind, Signal, StateConsumed


def ends(signals: list[Signal]) -> int:
    """How often the consumer is told that it has taken all recovered data."""
    return sum([type(signal) is StateConsumed for signal in signals]) if signals else 0


# ---- pushing ---------------------------------------------------------------------------------------------------------
class Releasing(Protocol):
    """A ledger that knows when its release began."""

    releasing: bool


class Late(Protocol):
    """A ledger of a channel into which something may be pushed after its release."""

    def came_too_late(self) -> bool | None:
        """Whether the channel had been released when the push began; None: it was not, or it was converted."""


class Upstream(Protocol):
    """A ledger of a channel whose pushes wait for the producer's side."""

    def upstream_is_there(self) -> bool | None:
        """Whether the consumer that the push wakes finds a connection; None: that is no question now."""


@shared("I-94")
def recovered_data_is_accepted_until_its_end(ledger: Releasing, seen: Seen[None]) -> Judgement:
    """Until its end, recovered data is accepted."""
    if ledger.releasing:
        return False
    return must_succeed(seen.error, "state is still being read: the channel must take it")


@shared("I-94", ("FLINK-39521",))
def a_push_after_the_end_is_refused(ledger: Releasing, seen: Seen[None]) -> Judgement:
    """A push after the end of recovered data is an error of kind state."""
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.STATE, "all state was read")


@shared("I-94", ("FLINK-39521",))
def a_push_after_release_is_recycled_silently(ledger: Late, seen: Seen[None]) -> Judgement:
    """What is pushed into a channel that was released or converted is recycled: no error, and nobody is told."""
    late = ledger.came_too_late()
    if late is None:
        return False
    owed = "what is pushed after release is recycled silently"
    if seen.error is None and late and seen.signals:
        return Broken(FailureClass.PROTOCOL, owed, f"{type(seen.signals[0]).__name__} was told")
    return must_succeed(seen.error, owed)


@shared("I-92", ("FLINK-40668",))
def a_push_waits_until_the_upstream_is_there(ledger: Upstream, seen: Seen[None]) -> Judgement:
    """Recovered data is queued only once the producer's side is there: the consumer that is woken looks there too."""
    there = ledger.upstream_is_there()
    if there is None or there:
        return there is True
    owed = "nothing is there upstream yet: the push must wait, or the consumer runs into a channel without a connection"
    return Broken(FailureClass.PROTOCOL, owed, "it was over at once")


# ---- taking ----------------------------------------------------------------------------------------------------------
class Ending(Protocol):
    """A ledger of a channel whose recovered data comes to an end that is told."""

    @property
    def recovered(self) -> Recovered:
        """What was recovered."""

    def end_must_come(self) -> bool:
        """As the take began: the end of recovered data was the next that could be taken."""


@shared("I-09")
def the_end_of_recovered_data_is_told_once(ledger: Ending, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """Taking the end of recovered data answers nothing and tells, once, that all of it is consumed; all recovered
    buffers come before it."""
    told, recovered = ends(seen.signals), ledger.recovered
    if not told:
        if seen.value is not None or not ledger.end_must_come():
            return False
        owed = "the end of recovered data was taken, and must be told"
        return Broken(FailureClass.LOST, owed, "the consumer was not told")
    if recovered.consumed or told > 1:
        return Broken(FailureClass.DUPLICATED, "the end of recovered data is told once", "it was told again")
    if not recovered.finishing:
        return Broken(FailureClass.PROTOCOL, "recovered data may still come", "its end was told")
    if recovered.waiting:
        return Broken(FailureClass.LOST, f"records {recovered.left()} must come first", "the end of them was told")
    return True


# ---- marking ---------------------------------------------------------------------------------------------------------
class InRecovery(Protocol):
    """A ledger of a physical channel that recovers while it lives."""

    def in_recovery(self) -> bool | None:
        """Whether the end of recovered data was not taken yet; None: nobody can say."""


@shared("I-41", ("FLINK-39523",))
def recovery_barriers_are_inserted_in_recovery_only(ledger: InRecovery, seen: Seen[bool, int]) -> Judgement:
    """A recovery barrier is inserted exactly if the channel is in recovery, and will look for it, and it says so."""
    owed = ledger.in_recovery()
    if seen.value is owed:
        return True
    no = "" if owed else "not "
    why = f"the channel is {no}in recovery: a recovery barrier is {no}inserted"
    return Broken(FailureClass.PROTOCOL, why, f"inserted: {seen.value}")


@shared("I-89", quiet=True)
def a_channel_is_in_recovery_until_the_end_was_taken(ledger: InRecovery, seen: Seen[bool]) -> Judgement:
    """A channel says that it is in recovery until the end of recovered data was taken."""
    owed = ledger.in_recovery()
    if owed is None:
        return False
    if seen.value is owed:
        return True
    why = "has not been taken yet" if owed else "was taken, or nothing is pushed into this channel"
    return Broken(FailureClass.PROTOCOL, f"the end of recovered data {why}", f"in recovery: {seen.value}")
