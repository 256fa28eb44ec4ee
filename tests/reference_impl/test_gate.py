"""The gate, its conversion and the recovery tracker, rule by rule of gate.md."""

from __future__ import annotations

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    CHANNEL_RELEASE,
    CHANNEL_STATE_WRITER,
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    ChannelKind,
    CheckpointReason,
    ConsumptionResumed,
    DataAvailable,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    Event,
    FaultKind,
    FaultStruck,
    GateConfig,
    PortError,
    PriorityAvailable,
    Recovery,
    RecoveryCompletion,
    Resources,
    StateConsumed,
)
from conformance.scheduling import PAUSED, Kernel
from reference_impl import IN_MEMORY, PUSHED, RECOVER_FIRST
from reference_impl.network.gate import Gate, is_newer

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
DESIGNS = {Recovery.RECOVER_FIRST: RECOVER_FIRST, Recovery.IN_MEMORY: IN_MEMORY, Recovery.PUSHED: PUSHED}


def fresh(*kinds: ChannelKind, recovery=Recovery.NONE) -> Gate:
    made = Gate(GateConfig((kinds or (LOCAL, REMOTE),), recovery), DESIGNS.get(recovery, PUSHED))
    if recovery is Recovery.NONE:
        whole(made.request_partitions())
    return made


def send(gate: Gate, channel: int, *elements) -> None:
    for element in elements:
        whole(gate.arrive(channel, Buffer((element,)) if isinstance(element, int) else element))


def recover(gate: Gate, channel: int, *ids: int) -> None:
    for record in ids:
        whole(gate.recover(channel, Buffer((record,))))
    whole(gate.finish_recovery(channel))


def convert(gate: Gate) -> None:
    whole(gate.convert())
    whole(gate.request_partitions())


def polled(gate: Gate, count: int) -> list[object]:
    """Channel and record, or element, of so many polls; None for an empty one."""
    found: list[object] = []
    for _ in range(count):
        got = whole(gate.poll())
        if got is None:
            found.append(None)
        else:
            element = got.element.ids[0] if isinstance(got.element, Buffer) else got.element
            found.append((got.channel, element))
    return found


def told(gate: Gate) -> list[object]:
    signals: list[object] = list(gate.signals)
    gate.signals.clear()
    return signals


def refused(operation) -> PortError:
    with pytest.raises(PortError) as caught:
        whole(operation)
    return caught.value


def barrier(checkpoint: int, alignment=Alignment.UNALIGNED) -> Barrier:
    return Barrier(checkpoint, alignment)


# ---- polling ---------------------------------------------------------------------------------------------------------
def test_channels_are_served_in_turn():
    """gate.md G12, G13, G25, I-30."""
    gate = fresh()
    send(gate, 0, 1, 2)
    send(gate, 1, 3, 4)
    assert polled(gate, 5) == [(0, 1), (1, 3), (0, 2), (1, 4), None]


def test_only_the_first_channel_with_data_makes_the_gate_available():
    """gate.md G3, G6, G16, G26."""
    gate = fresh()
    send(gate, 0, 1)
    send(gate, 1, 2)
    assert told(gate) == [DataAvailable()]
    assert gate.available()
    polled(gate, 2)
    assert not gate.available()


def test_a_priority_event_moves_its_channel_to_the_front():
    """gate.md G4, G6, G15."""
    gate = fresh()
    send(gate, 0, 1)
    send(gate, 1, 2, barrier(1))
    assert told(gate) == [DataAvailable(), PriorityAvailable(-1)]
    assert gate.has_priority()
    assert polled(gate, 3) == [(1, barrier(1)), (0, 1), (1, 2)]
    assert not gate.has_priority()


def test_a_stale_priority_notification_is_dropped_and_a_forced_one_is_not():
    """gate.md G4, G5, G13, G15."""
    gate = fresh(REMOTE)
    send(gate, 0, barrier(1))
    polled(gate, 1)
    told(gate)
    channel = gate.channels[0]
    whole(gate.priority_available(channel, 0))
    assert told(gate) == []
    whole(gate.priority_available(channel, 0, forced=True))
    assert PriorityAvailable(-1) in told(gate)
    assert polled(gate, 1) == [None]  # an empty poll after a priority notification is legal


@pytest.mark.parametrize(("last", "seq", "stale"), [(5, 5, True), (5, 6, False), (2**31 - 1, -(2**31), False),
                                                     (-(2**31), 2**31 - 1, True), (-1, 0, False)])  # fmt: skip
def test_sequence_numbers_wrap_around(last, seq, stale):
    """gate.md G4."""
    assert is_newer(seq, last) is not stale


def test_a_blocked_channel_delivers_priority_events_only():
    """gate.md G12, G18, I-15."""
    gate = fresh(LOCAL)
    send(gate, 0, barrier(1, Alignment.ALIGNED), 1, barrier(2))
    assert polled(gate, 3) == [(0, barrier(2)), (0, barrier(1, Alignment.ALIGNED)), None]
    whole(gate.resume(0))
    assert polled(gate, 1) == [(0, 1)]


def test_the_last_end_of_a_partition_finishes_the_gate_and_makes_it_available():
    """gate.md G11, G17, G26."""
    gate = fresh()
    for channel in (0, 1):
        send(gate, channel, EndOfData(), EndOfPartition())
    assert not gate.finished()
    assert len([one for one in polled(gate, 4) if one]) == 4
    assert gate.finished()
    assert gate.available()
    assert polled(gate, 2) == [None, None]


def test_polling_a_closed_gate_is_an_error():
    """gate.md G11, G27."""
    gate = fresh()
    send(gate, 0, 1)
    whole(gate.release())
    whole(gate.release())
    assert refused(gate.poll()).kind is ErrorKind.RELEASED
    assert gate.resources() == Resources(0, 0, 0, 0, 0)


def test_a_poll_says_whether_more_follows_and_whether_that_has_priority():
    """gate.md G12, G15, G16."""
    gate = fresh()
    send(gate, 0, 1, barrier(1))
    send(gate, 1, 2, barrier(1))
    answers = [whole(gate.poll()) for _ in range(4)]
    assert [(one.more, one.more_priority) for one in answers if one] == [
        (True, True), (True, False), (True, False), (False, False),
    ]  # fmt: skip


# ---- conversion ------------------------------------------------------------------------------------------------------
def test_recover_first_converts_once_all_was_consumed():
    """gate.md G1, G2, G8, G14."""
    gate = fresh(REMOTE, recovery=Recovery.RECOVER_FIRST)
    recover(gate, 0, 1)
    assert refused(gate.convert()).kind is ErrorKind.STATE
    assert polled(gate, 2) == [(0, 1), None]
    convert(gate)
    send(gate, 0, 2)
    assert polled(gate, 1) == [(0, 2)]


def test_in_memory_hands_over_what_is_queued_and_notifies_of_it():
    """gate.md G9, G12, G26."""
    gate = fresh(LOCAL, REMOTE, recovery=Recovery.IN_MEMORY)
    for channel in (0, 1):
        recover(gate, channel, 10 + channel, 20 + channel)
    convert(gate)
    assert gate.in_use(0) == gate.in_use(1) == 2
    assert polled(gate, 4) == [(0, 10), (1, 11), (0, 20), (1, 21)]


def test_a_converted_channel_with_buffers_is_announced():
    """gate.md G6, G9."""
    gate = fresh(REMOTE, recovery=Recovery.IN_MEMORY)
    recover(gate, 0, 1)
    told(gate)
    whole(gate.convert())
    assert told(gate) == [DataAvailable()]


def test_nothing_is_pushed_before_conversion_where_it_could_not_be_kept():
    """gate.md G1, G2, G8, G14."""
    gate = fresh(REMOTE, recovery=Recovery.PUSHED)
    convert(gate)
    send(gate, 0, RecoveryCompletion())
    recover(gate, 0, 1)
    assert polled(gate, 3) == [(0, 1), (0, RecoveryCompletion()), None]


def test_the_end_of_recovered_data_is_signalled_and_shows_what_came_live():
    """gate.md G2, G7, G14."""
    gate = fresh(LOCAL, REMOTE, recovery=Recovery.PUSHED)
    convert(gate)
    send(gate, 0, 1)
    recover(gate, 0)
    told(gate)
    assert polled(gate, 2) == [(0, 1), None]
    assert told(gate) == [StateConsumed(0), DataAvailable()]


def test_converting_twice_is_converting_once():
    """gate.md G8, G10."""
    gate = fresh(LOCAL, recovery=Recovery.IN_MEMORY)
    recover(gate, 0, 1)
    whole(gate.convert())
    channel = gate.channels[0]
    whole(gate.convert())
    assert gate.channels[0] is channel
    whole(gate.request_partitions())
    whole(gate.request_partitions())
    assert polled(gate, 2) == [(0, 1), None]


def test_partitions_are_requested_after_conversion():
    """gate.md G10."""
    gate = fresh(LOCAL, recovery=Recovery.IN_MEMORY)
    assert refused(gate.request_partitions()).kind is ErrorKind.STATE


def test_conversion_and_a_late_notification_of_the_old_channel():
    """gate.md G3, G9. B-03 stepped by hand: the old channel is announced when it has left already."""
    gate = fresh(LOCAL, recovery=Recovery.IN_MEMORY)
    kernel = Kernel(("recovery", "task"), fine=True)
    recovery, task = kernel.threads.values()
    kernel.start(recovery, ("recover",), gate.recover(0, Buffer((1,))))
    assert kernel.run(recovery, "gate lock") is PAUSED  # the buffer is in the channel, the gate knows nothing
    whole(gate.channels[0].finish_recovered())
    kernel.start(task, ("convert",), gate.convert())
    kernel.finish(task)
    kernel.finish(recovery)
    whole(gate.request_partitions())
    assert polled(gate, 2) == [(0, 1), None]


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def test_checkpoints_are_declined_until_channels_are_physical():
    """gate.md G22."""
    gate = fresh(LOCAL, recovery=Recovery.IN_MEMORY)
    assert refused(gate.checkpoint_started(barrier(1))).checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY


def test_a_converted_channel_knows_which_checkpoint_was_stopped():
    """gate.md G9, G22, G23."""
    gate = fresh(REMOTE, recovery=Recovery.IN_MEMORY)
    whole(gate.checkpoint_stopped(3))
    recover(gate, 0)
    convert(gate)
    polled(gate, 1)
    send(gate, 0, barrier(3))
    whole(gate.checkpoint_started(barrier(4)))
    send(gate, 0, Event(0), 5)
    assert gate.persisted(4) == ((5,),)


def test_a_checkpoint_during_recovery_is_written_and_recovered_again():
    """gate.md G21, G22, G26."""
    gate = fresh(REMOTE, recovery=Recovery.PUSHED)
    convert(gate)
    send(gate, 0, RecoveryCompletion())
    whole(gate.recover(0, Buffer((1,))))
    whole(gate.insert_recovery_barriers(1))
    whole(gate.recover(0, Buffer((2,))))
    whole(gate.checkpoint_started(barrier(1)))
    assert gate.persisted(1) == ((1,),)
    assert polled(gate, 2) == [(0, 1), (0, 2)]
    assert gate.persisted(1) == ((1,),)


def test_an_unknown_barrier_cannot_overtake():
    """gate.md G24."""
    gate = fresh()
    assert refused(gate.convert_to_priority(0, 0)).kind is ErrorKind.STATE
    assert refused(gate.convert_to_priority(1, 0)).kind is ErrorKind.STATE


def test_an_announced_barrier_overtakes_what_is_queued():
    """gate.md G5, G24."""
    gate = fresh()
    send(gate, 1, 1, barrier(1, Alignment.TIMEOUTABLE))
    assert polled(gate, 1) == [(1, Announcement(1, 1))]
    told(gate)
    whole(gate.convert_to_priority(1, 1))
    assert told(gate) == [PriorityAvailable(-1), DataAvailable()]
    assert polled(gate, 2) == [(1, barrier(1)), (1, 1)]


# ---- upstream recovery -----------------------------------------------------------------------------------------------
def test_producers_go_on_once_all_output_state_has_ended():
    """gate.md G7, G19, G20."""
    gate = fresh(REMOTE, REMOTE)
    whole(gate.end_of_output_state(1))
    assert told(gate) == []
    whole(gate.end_of_output_state(0))
    assert told(gate) == [ConsumptionResumed(0), ConsumptionResumed(1)]


def test_output_state_ends_once():
    """gate.md G19."""
    gate = fresh(REMOTE, REMOTE)
    whole(gate.end_of_output_state(0))
    with pytest.raises(PortError):
        whole(gate.end_of_output_state(0))
    assert told(gate) == []


# ---- what it calls fails ---------------------------------------------------------------------------------------------
def fails(operation):
    with pytest.raises(PortError) as failed:
        whole(operation)
    assert failed.value.kind is ErrorKind.IO


def test_an_arrival_that_is_not_written_wakes_the_task_and_its_poll_fails():
    """gate.md G28, G29."""
    gate = fresh(LOCAL, REMOTE)
    whole(gate.checkpoint_started(Barrier(1, Alignment.UNALIGNED)))
    gate.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    gate.signals.clear()
    fails(gate.arrive(1, Buffer((1,))))
    assert gate.signals == [FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS), DataAvailable()]
    assert gate.persisted(1) == ((), ())
    fails(gate.poll())
    assert whole(gate.poll()) is None
    whole(gate.release())
    assert gate.resources().segments == 0


def test_a_request_that_fails_waits_for_the_poll():
    """gate.md G29, G30."""
    gate = fresh(LOCAL, REMOTE, recovery=Recovery.PUSHED)
    whole(gate.convert())
    gate.fault(SUBPARTITION_REQUEST, FaultKind.THROWS)
    whole(gate.request_partitions())
    assert gate.available()
    fails(gate.poll())


def test_a_conversion_that_fails_keeps_the_recovered_data_until_release():
    """gate.md G29, G31."""
    gate = fresh(LOCAL, REMOTE, recovery=Recovery.IN_MEMORY)
    for channel in (0, 1):
        whole(gate.recover(channel, Buffer((channel,))))
        whole(gate.finish_recovery(channel))
    gate.fault(NETWORK_BUFFER_POOL, FaultKind.THROWS)
    whole(gate.convert())
    assert not gate.converted
    assert gate.in_use(1) == 1
    whole(gate.release())
    assert gate.resources() == Resources(0, 0, 0, 0, 0)


def test_another_thread_releases_the_gate_after_a_conversion_and_before_a_request():
    """gate.md G32. The release waits for the conversion that is under way; the request that comes later is refused."""
    gate = fresh(LOCAL, recovery=Recovery.IN_MEMORY)
    recover(gate, 0, 1)
    kernel = Kernel(("task", "canceler"), fine=True)
    task, canceler = kernel.threads.values()
    kernel.start(task, ("convert",), gate.convert())
    assert kernel.run(task, "gate lock") is PAUSED  # the new channel is made and is not in the gate yet
    kernel.start(canceler, ("cancel",), gate.release())
    assert kernel.finish(task) is None
    kernel.finish(canceler)
    assert gate.resources() == Resources(0, 0, 0, 0, 0)
    assert refused(gate.request_partitions()).kind is ErrorKind.STATE


def test_a_release_goes_on_behind_a_channel_that_fails_and_another_one_finishes_it():
    """gate.md G33."""
    gate = fresh(LOCAL, LOCAL)
    for channel in (0, 1):
        whole(gate.arrive(channel, Buffer((channel,))))
    gate.fault(CHANNEL_RELEASE, FaultKind.THROWS)
    fails(gate.release())
    assert (gate.in_use(0), gate.in_use(1)) == (1, 0)
    whole(gate.release())
    assert gate.resources() == Resources(0, 0, 0, 0, 0)
