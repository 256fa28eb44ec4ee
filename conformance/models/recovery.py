"""Rules for the recovered data of one channel: pushing it, taking its end, and inserting recovery barriers."""

from __future__ import annotations

from conformance.driver import Broken, FailureClass, Judgement, PortLedger, Seen, shared
from conformance.models.lane import Recovered
from conformance.models.records import in_words
from conformance.models.signal_words import signalled
from conformance.models.words import must_fail, must_succeed, truth
from conformance.ports import BufferAndBacklog, ErrorKind, Signal, StateConsumed


def ends(signals: list[Signal]) -> int:
    """Returns the number of `StateConsumed` signals, each of which says that all recovered data was taken."""
    return sum([type(signal) is StateConsumed for signal in signals]) if signals else 0


class Push:
    """The operation of the recovery thread that is in flight, or was the last one: a push, or the end of pushes."""

    __slots__ = ("in_flight", "too_late", "upstream_was_missing")

    def __init__(self) -> None:
        self.in_flight = False
        self.too_late = self.upstream_was_missing = False
        """When it began: whether the channel was released; whether the subpartition was not requested."""

    def begin(self, released: bool, requested: bool = True) -> None:
        """Notes that such an operation begins."""
        self.in_flight = True
        self.too_late = released
        self.upstream_was_missing = not requested


# ---- pushing ---------------------------------------------------------------------------------------------------------
Lateness = tuple[bool | None, str]
"""True if the channel was released or converted before the push began, False if its release began during the push,
None if it was not released; what became of it: it was `released` or `converted`."""


@shared("I-94")
def recovered_data_is_accepted_until_its_end(ledger: PortLedger, seen: Seen[None]) -> Judgement:
    """A channel that is not released accepts recovered buffers, and then the end of recovered data."""
    if ledger.releasing:
        return False
    return must_succeed(seen.error, "the end of recovered data was not pushed before: the channel must accept the push")


@shared("I-94", ("FLINK-39521",))
def a_push_after_the_end_is_refused(ledger: PortLedger, seen: Seen[None]) -> Judgement:
    """If a buffer is pushed after the end of recovered data, the channel fails with an error of kind state."""
    owed = "the end of recovered data was pushed before"
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.STATE, owed)


@shared("I-94", ("FLINK-39521",))
def a_push_after_release_is_recycled_silently(lateness: Lateness, seen: Seen[None]) -> Judgement:
    """If a recovered buffer is pushed into a channel that was released or converted, the channel recycles the buffer,
    does not fail and notifies nobody."""
    late, ended = lateness
    if late is None:
        return False
    if seen.error is None and not (late and seen.signals):
        return True
    owed = f"the channel was {ended}: the push must recycle the buffer, raise no error and notify nobody"
    if seen.error is None:
        return Broken(FailureClass.PROTOCOL, owed, f"it signalled this: {signalled(seen.signals[0])}")
    return must_succeed(seen.error, owed)


@shared("I-92", ("FLINK-40668",))
def a_push_waits_until_the_upstream_is_there(is_there: bool | None, seen: Seen[None]) -> Judgement:
    """A push of recovered data waits until the producer's side is ready: in a local channel until the subpartition was
    requested, in a remote channel until the producer's first message has arrived."""
    if is_there is None or is_there:  # None: it was before the push began, or the channel or its connection is over
        return is_there is True
    owed = "the producer's side is not ready: the push must wait, or it wakes a consumer that finds no connection"
    return Broken(FailureClass.PROTOCOL, owed, "the push did not wait")


# ---- taking ----------------------------------------------------------------------------------------------------------
@shared("I-09", formerly=("the-end-of-recovered-data-is-told-once",))
def the_end_of_recovered_data_is_notified_once(
    end: tuple[Recovered, bool], seen: Seen[BufferAndBacklog | None]
) -> Judgement:
    """When the task takes the end of recovered data, behind all recovered buffers, the take returns nothing and the
    channel emits StateConsumed, once."""
    told, (recovered, is_next) = ends(seen.signals), end
    if not told:
        if seen.value is not None or not is_next:
            return False
        owed = (
            "this take reaches the end of recovered data: the channel must signal that its recovered state is consumed"
        )
        return Broken(FailureClass.LOST, owed, "it did not signal that")
    if recovered.consumed or told > 1:
        return Broken(
            FailureClass.DUPLICATED,
            "the channel must signal once that its recovered state is consumed",
            "it signalled that again",
        )
    if not recovered.finishing:
        owed = "the end of recovered data was not pushed yet"
        return Broken(FailureClass.PROTOCOL, owed, "the channel signalled that its recovered state is consumed")
    if recovered.waiting:
        owed = f"recovered {in_words(recovered.left())} must be taken before the end of recovered data"
        return Broken(FailureClass.LOST, owed, "the channel signalled that its recovered state is consumed")
    return True


# ---- recovery barriers -----------------------------------------------------------------------------------------------
@shared("I-41", ("FLINK-39523",))
def recovery_barriers_are_inserted_in_recovery_only(recovered: Recovered, seen: Seen[bool, int]) -> Judgement:
    """A channel inserts a recovery barrier exactly if it is in recovery, and returns whether it did."""
    owed = recovered.in_recovery()
    if seen.value is owed:
        return True
    no = "" if owed else "not "
    why = f"the channel is {no}in recovery, so it must {no}insert a recovery barrier"
    return Broken(
        FailureClass.PROTOCOL, why, f"it returned {truth(seen.value)}: {'it did' if seen.value else 'it did not'}"
    )


@shared("I-89", quiet=True)
def a_channel_is_in_recovery_until_the_end_was_taken(recovered: Recovered, seen: Seen[bool]) -> Judgement:
    """A channel into which recovered data is pushed reports that it is in recovery until the task takes the end of
    recovered data; then, and with every other recovery design, it reports that it is not."""
    owed = recovered.in_recovery()
    if seen.value is owed:
        return True
    why = "has not been taken yet" if owed else "was taken, or nothing is pushed into this channel"
    answer = f"the end of recovered data {why}, so `in_recovery` must return {truth(owed)}"
    return Broken(FailureClass.PROTOCOL, answer, f"it returned {truth(seen.value)}")
