"""The rules of the recovered channel. Specification: recovered-channel.md."""

from __future__ import annotations

from conformance.components.recovered_channel import steps
from conformance.components.recovered_channel.ledger import DESTROYED, REFUSED, WAITING, Ledger
from conformance.driver import (
    NO_DEADLOCK,
    ONE_ORDER,
    Broken,
    FailureClass,
    Judgement,
    Never,
    Rules,
    Seen,
    Unsure,
    answers_property,
    thread_properties,
)
from conformance.models import consumer, faults, lifetime, recovery, starts, taking
from conformance.models.designs import AFTER, FAULTS, PUSHED, READBACK, RESOURCES
from conformance.models.records import compare_ids, in_words
from conformance.models.words import are, counted, got, many, must_be, must_fail, must_succeed, name
from conformance.ports import BUFFER_POOL, BufferAndBacklog, DataAvailable, ErrorKind, FaultKind, FaultStruck, Resources

# No operation of this channel takes a lock inside another, so only a broken channel could exercise the rules about
# locks. A thread waits only for the buffer pool.
RULES = Rules[Ledger](
    "recovered-channel",
    answers_property("recovered-channel"),
    *thread_properties("recovered-channel", waits=FAULTS, untestable=(NO_DEADLOCK, ONE_ORDER)),
)
RELEASED = Never(AFTER, "A conversion releases the channel, which then holds nothing.")
NO_BUFFERS_ASKED_FOR = Never(AFTER, "A channel that was converted asks for no buffers.")
rule, adopt = RULES.rule, RULES.adopt


# ---- taking ----------------------------------------------------------------------------------------------------------
@rule(steps.take, invariant="I-24", tickets=("FLINK-21104",))
def a_released_channel_is_not_read(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """A take from a released channel fails with an error of kind state; a take from any other channel does not fail."""
    if ledger.released:
        return must_fail(seen.error, ErrorKind.STATE, "the channel was released")
    owed = "the channel is not released: the take must not fail"
    return False if seen.error is None else must_succeed(seen.error, owed)


@rule(steps.take, invariant="I-28", tickets=("FLINK-39018",), never=(RELEASED,))
def recovered_buffers_arrive_once_and_in_order(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """The channel delivers every pushed buffer once, unchanged and in the order in which it was pushed."""
    if seen.value is None:
        return False
    if not ledger.recovered.waiting:
        came = f"the take returned {name(seen.value.element)}"
        return Broken(FailureClass.DUPLICATED, "all pushed buffers were taken before", came)
    return must_be(ledger.recovered.waiting[0].element, seen.value.element)


adopt(
    recovery.the_end_of_recovered_data_is_notified_once,
    steps.take,
    of=lambda ledger: (ledger.recovered, ledger.end_must_come()),
    formerly=("the-end-of-recovered-state-is-told-once",),
    never=(RELEASED,),
)
adopt(
    taking.a_take_returns_what_is_available, steps.take, of=Ledger.must_find, never=(RELEASED,),
)  # fmt: skip
adopt(
    taking.sequence_numbers_have_no_gaps,
    steps.take,
    of=lambda ledger: ledger.next_number,
    formerly=("recovered-buffers-are-numbered-without-gaps",),
    never=(RELEASED,),
)

adopt(taking.the_next_type_names_what_can_be_taken, steps.take, of=lambda ledger: ledger.follows, never=(RELEASED,))


@rule(steps.take, invariant="I-21", never=(RELEASED,))
def recovered_buffers_have_no_backlog(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """A take returns the backlog 0, because a backlog counts what waits in the producer's subpartition."""
    if seen.value is None:
        return False
    if seen.value.backlog == 0:
        return True
    owed = "no producer has a backlog while state is read, so the backlog must be 0"
    return Broken(FailureClass.PROTOCOL, owed, f"the backlog is {seen.value.backlog}")


# ---- pushing ---------------------------------------------------------------------------------------------------------
adopt(
    recovery.recovered_data_is_accepted_until_its_end,
    *steps.PUSHES,
    formerly=("state-is-accepted-until-its-end",),
    never=(RELEASED,),
)
adopt(
    recovery.a_push_after_release_is_recycled_silently,
    *steps.PUSHES,
    steps.push_late,
    of=lambda ledger: (ledger.came_too_late(), ledger.what_ended_it()),
)
adopt(recovery.a_push_after_the_end_is_refused, steps.push_late, needs=PUSHED, never=(RELEASED,))


# ---- conversion ------------------------------------------------------------------------------------------------------
@rule(steps.convert, invariant="I-27", tickets=("FLINK-39018", "FLINK-39521"), never=(RELEASED,))
def no_conversion_loses_state(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """As long as a recovered channel has state that its physical channel would not get, a conversion fails with an
    error of kind state."""
    why = "" if ledger.released else ledger.must_not_convert()
    if not why:
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.LOST, f"{why}: the conversion must fail with an error of kind state", got(seen.error))


@rule(steps.convert, invariant="I-26", never=(RELEASED,))
def a_channel_converts_once_nothing_can_be_lost(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """A conversion succeeds as soon as it loses no state of the channel."""
    may = None if ledger.released else ledger.may_convert()
    if not may:
        return (
            Unsure("a push in flight decides whether the conversion loses state")
            if may is None and not ledger.released
            else False
        )
    return must_succeed(seen.error, "the conversion loses no state: it must succeed", FailureClass.STUCK)


@rule(steps.convert, invariant="I-28", tickets=("FLINK-21104",))
def nothing_is_handed_over_twice(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """The conversion of a channel that was converted or released before fails with an error of kind state, or hands
    over nothing."""
    if not ledger.released:
        return False
    if seen.error is not None:
        return must_fail(seen.error, ErrorKind.STATE, f"the channel was {ledger.what_ended_it()} before")
    if not seen.value:
        return True
    owed = f"the channel was {ledger.what_ended_it()} before, so nothing may be handed over"
    return Broken(FailureClass.DUPLICATED, owed, f"it handed over {in_words(seen.value)}")


@rule(steps.convert, invariant="I-28", tickets=("FLINK-39018",), never=(RELEASED,))
def conversion_hands_over_what_was_not_taken(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """With the design `in-memory`, a conversion hands over exactly the records that the task has not taken, in order;
    with the other designs it hands over none."""
    if seen.error is not None or ledger.released:
        return False
    left = ledger.recovered.left() if ledger.config.recovery == "in-memory" else ()
    given = tuple(seen.value)
    if given == left:
        return True
    kind = compare_ids(left, given, left[0] if left else ledger.next_record)
    owed = f"the conversion must hand over {f'exactly {in_words(left)}' if left else 'no record'}"
    return Broken(kind, owed, f"it handed over {in_words(given)}")


# ---- what it calls fails ---------------------------------------------------------------------------------------------
adopt(faults.an_operation_fails_with_what_it_calls, steps.convert, needs=FAULTS, never=(NO_BUFFERS_ASKED_FOR,))


@rule(
    steps.push_recovered,
    invariant="I-90",
    needs=FAULTS,
    struck=True,
    never=(
        Never(
            AFTER._replace(interleaving="whole"),
            "The conversion ends the push that waits, before the buffer pool can be destroyed.",
        ),
    ),
)
def a_push_fails_with_the_buffer_pool(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A push that finds the buffer pool destroyed, at once or while it waits for a buffer, fails with an error of kind
    io or released."""
    met = [type(signal) for signal in seen.signals].count(FaultStruck)
    if met > ledger.faults.armed.count(BUFFER_POOL):
        owed = "a call of the buffer pool fails once for each fault that was armed"
        return Broken(FailureClass.PROTOCOL, owed, f"{many(met, 'call')} failed in this push")
    if DESTROYED not in seen.signals:
        return False
    if seen.error is not None and seen.error.kind in (ErrorKind.IO, ErrorKind.RELEASED):
        return True
    owed = "the buffer pool is destroyed: the push must fail with an error of kind io or released"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


def _may_take_memory_elsewhere(ledger: Ledger) -> bool:
    return ledger.config.recovery == "in-memory"


@rule(steps.push_recovered, steps.push_late, invariant="I-94", needs=FAULTS, struck=True, never=(RELEASED,))
def a_push_waits_for_the_next_buffer(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A push for which the buffer pool has no buffer waits until the pool offers one, and then succeeds; with the
    design `in-memory`, it may take its memory from somewhere else. A push after the end of recovered data asks for no
    buffer."""
    if ledger.push.asked_late:
        owed = "the end of recovered data was pushed before, so the push must fail without a buffer"
        return Broken(FailureClass.STUCK, owed, "it asked the buffer pool for one, and was refused")
    if REFUSED not in seen.signals or DESTROYED in seen.signals or ledger.releasing:
        return False
    if not (ledger.push.offered or _may_take_memory_elsewhere(ledger)):
        owed = "the buffer pool has no buffer, so the push must wait until the pool offers one"
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    return must_succeed(seen.error, "the channel was offered a buffer: the push must succeed")


@rule(steps.push_recovered, invariant="I-92", needs=FAULTS, struck=True, open_ended=True)
def a_release_ends_the_wait_for_a_buffer(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A push that waits for a buffer while its channel is released, also because the task is cancelled, fails with an
    error of kind released, or recycles its buffer, raises no error and notifies nobody."""
    if REFUSED not in seen.signals or DESTROYED in seen.signals or not ledger.releasing:
        return False
    if seen.error is not None:
        return must_fail(seen.error, ErrorKind.RELEASED, "the channel was released while the push was waiting")
    may_tell = ledger.push.offered or _may_take_memory_elsewhere(ledger)  # it may have been queued before the release
    if may_tell or not any(type(signal) is DataAvailable for signal in seen.signals):
        return True
    owed = "the channel was released while the push was waiting for a buffer, so nobody may be notified"
    return Broken(FailureClass.PROTOCOL, owed, "the push signalled that data is available")


@rule(steps.offer_buffer, invariant="I-94", needs=FAULTS, formerly=("an-offered-buffer-goes-to-whoever-waits",))
def an_offered_buffer_goes_to_the_waiting_push(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """If the buffer pool offers a buffer while a push waits for one, the channel keeps the buffer."""
    if ledger.phase != WAITING or ledger.releasing or ledger.pool_is_destroyed():
        return False
    if seen.value:
        return True
    if _may_take_memory_elsewhere(ledger):
        return Unsure("the push may have got memory elsewhere, and does not wait")
    return Broken(FailureClass.STUCK, "a push waits for a buffer: the channel must keep it", "it did not keep it")


@rule(steps.convert, invariant="I-26", needs=FAULTS, struck=True, never=(NO_BUFFERS_ASKED_FOR,))
def a_conversion_fails_without_exclusive_buffers(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """If the exclusive buffers of the physical channel cannot be had now, the conversion fails with an error of kind
    io, and can be tried again. A conversion that would lose state fails with an error of kind state, and asks for no
    buffers."""
    if why := "" if ledger.released else ledger.must_not_convert():
        return must_fail(seen.error, ErrorKind.STATE, f"{why}, and the conversion must ask for no buffers")
    if faults.struck_by(seen).kind is not FaultKind.REFUSES:
        return False
    return must_fail(seen.error, ErrorKind.IO, "there are too few exclusive buffers for the physical channel")


@rule(steps.resources, invariant="I-93", needs=FAULTS | RESOURCES, quiet=True, never=(RELEASED,))
def a_failed_channel_holds_no_buffer_twice(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """After something has failed that the channel called, and before its release, the channel holds at most one segment
    for each buffer that was pushed and not taken."""
    if not ledger.is_broken():
        return False
    held = (seen.value.segments or 0) + (seen.value.heap or 0)
    if held <= (most := ledger.recovered.there()):
        return True
    owed = f"{are(most, 'buffer')} pushed and not taken, so the channel may hold {counted(most, 'segments')}"
    return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, 'segments')}")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(
    starts.checkpoints_are_declined_until_channels_are_physical, steps.checkpoint_started,
    of=lambda ledger: ledger.refuses, formerly=("checkpoints-are-declined-until-the-channel-is-physical",),
)  # fmt: skip


@rule(steps.persisted, invariant="I-53", tickets=("FLINK-20654",), needs=READBACK)
def a_declined_checkpoint_leaves_nothing_behind(ledger: Ledger, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """The channel writes nothing for a checkpoint that it declined."""
    if not seen.value:
        return True
    owed = f"checkpoint {seen.operands[0]} was declined: the channel must write nothing for it"
    return Broken(FailureClass.DUPLICATED, owed, f"it wrote {in_words(seen.value)}")


@rule(steps.last_stopped, invariant="I-29", tickets=("FLINK-21104",), quiet=True)
def the_newest_stopped_checkpoint_is_remembered(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The channel remembers the newest checkpoint that was stopped, because the physical channel begins with it."""
    return False if ledger.late_stop else _remembers(ledger, seen)


@rule(steps.last_stopped, invariant="I-29", tickets=("FLINK-20097",), quiet=True)
def a_late_stop_does_not_hide_a_newer_one(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """If an older checkpoint is stopped after a newer one, the channel still remembers the newer one."""
    return _remembers(ledger, seen) if ledger.late_stop else False


def _remembers(ledger: Ledger, seen: Seen[int]) -> Judgement:
    if seen.value == ledger.checkpoints.stopped:
        return ledger.checkpoints.stopped > 0
    owed = f"checkpoint {ledger.checkpoints.stopped} is the newest that was stopped, and the channel must remember it"
    return Broken(FailureClass.LOST, owed, f"it remembers checkpoint {seen.value}")


# ---- resources and notifications -------------------------------------------------------------------------------------
_HOLDS = ("a-recovered-channel-holds-what-it-should-and-releases-all",)

adopt(taking.buffers_in_use_count_what_waits, steps.in_use, of=Ledger.counted, needs=RESOURCES, never=(RELEASED,))
adopt(
    lifetime.no_resource_is_leaked_while_open,
    steps.resources,
    needs=RESOURCES,
    formerly=_HOLDS,
    never=(RELEASED,),
)
adopt(lifetime.after_release_nothing_is_held, steps.resources, steps.restore, needs=RESOURCES, formerly=_HOLDS)
adopt(
    lifetime.a_future_ends_with_what_it_waits_for,
    steps.resources,
    needs=RESOURCES,
    never=(RELEASED,),
)
adopt(lifetime.a_release_notifies_nobody, steps.release, steps.cancel, steps.convert)
adopt(
    consumer.empty_takes_are_not_notified_again_and_again, steps.take, of=lambda ledger: ledger.consumer,
    formerly=("an-empty-channel-lets-its-consumer-sleep",), never=(RELEASED,),
)  # fmt: skip
adopt(
    consumer.the_consumer_is_notified_of_available_data, *steps.PUSHES, steps.take, steps.convert, steps.in_use,
    of=lambda ledger: (ledger.consumer, ledger.something_waits(), ledger.first), tickets=("FLINK-39018", "FLINK-20145"),
    never=(RELEASED,),
)  # fmt: skip
