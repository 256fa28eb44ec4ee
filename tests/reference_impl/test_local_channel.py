"""The local channel, rule by rule of local-channel.md, and its races, stepped by hand."""

from __future__ import annotations

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    Alignment,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    DataAvailable,
    EndOfPartition,
    ErrorKind,
    Event,
    Next,
    PortError,
    PriorityAvailable,
    Recovery,
    RecoveryCompletion,
    Resources,
    StateConsumed,
)
from conformance.scheduling import PAUSED, Kernel
from reference_impl import PUSHED, RECOVER_FIRST
from reference_impl.network.local_channel import LocalChannel

FIRST = -(2**31)
THREADS = ("producer", "task", "recovery")


def fresh(recovery=Recovery.NONE, *handed_over: int, request: bool = True, design=PUSHED) -> LocalChannel:
    made = LocalChannel(ChannelConfig(recovery, handed_over), design)
    if request:
        whole(made.request())
    return made


def unaligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.UNALIGNED)


def send(one: LocalChannel, *elements) -> None:
    for element in elements:
        assert whole(one.add(Buffer((element,)) if isinstance(element, int) else element))


def push(one: LocalChannel, *ids: int) -> None:
    for record in ids:
        whole(one.push_recovered(Buffer((record,))))


def start(one: LocalChannel, checkpoint: int) -> None:
    whole(one.checkpoint_started(unaligned(checkpoint)))


def taken(one: LocalChannel, count: int) -> list[object]:
    """Record or element of so many takes; None for an empty one."""
    found: list[object] = []
    for _ in range(count):
        got = whole(one.take())
        element = None if got is None else got.element
        found.append(element.ids[0] if isinstance(element, Buffer) else element)
    return found


def told(one: LocalChannel) -> list[object]:
    signals: list[object] = list(one.signals)
    one.signals.clear()
    return signals


def refused(operation) -> PortError:
    with pytest.raises(PortError) as caught:
        whole(operation)
    return caught.value


# ---- live data -------------------------------------------------------------------------------------------------------
def test_what_was_there_before_the_request_is_announced_by_it():
    """local-channel.md L2, L9, L11."""
    one = fresh(request=False)
    send(one, 0)
    assert told(one) == []
    whole(one.request())
    assert told(one) == [DataAvailable()]
    whole(one.request())
    assert told(one) == []
    assert whole(one.take()) == BufferAndBacklog(Buffer((0,)), 0, Next.NONE, 0)


def test_querying_before_the_request_is_an_error():
    """local-channel.md L11, L13."""
    assert refused(fresh(request=False).take()).kind is ErrorKind.STATE
    assert refused(fresh(Recovery.PUSHED, request=False).take()).kind is ErrorKind.STATE


def test_a_priority_event_passes_a_blocked_channel():
    """local-channel.md L4, L11, L17."""
    one = fresh()
    send(one, RecoveryCompletion(), 0)
    assert taken(one, 2) == [RecoveryCompletion(), None]
    told(one)
    send(one, unaligned(1))
    assert told(one) == [PriorityAvailable(1)]
    assert taken(one, 2) == [unaligned(1), None]
    whole(one.resume())
    assert told(one) == [DataAvailable()]
    assert taken(one, 1) == [0]


def test_in_the_oldest_design_a_priority_event_waits_for_the_resume():
    """local-channel.md L11, L17."""
    one = fresh(design=RECOVER_FIRST)
    send(one, RecoveryCompletion())
    taken(one, 1)
    told(one)
    send(one, unaligned(1))
    assert told(one) == []
    assert taken(one, 1) == [None]
    whole(one.resume())
    assert told(one) == [DataAvailable()]
    assert taken(one, 1) == [unaligned(1)]


def test_nothing_is_accepted_after_the_end_of_the_partition_or_release():
    """local-channel.md L3, L9, L10, L17."""
    one = fresh()
    send(one, EndOfPartition())
    assert not whole(one.add(Buffer((0,))))
    assert not whole(one.add(EndOfPartition()))
    other = fresh()
    whole(other.release())
    assert not whole(other.add(Buffer((0,))))
    assert whole(other.take()) is None
    assert refused(other.resume()).kind is ErrorKind.STATE
    assert refused(other.request()).kind is ErrorKind.STATE


@pytest.mark.parametrize("recovery", list(Recovery))
def test_release_gives_everything_back_and_is_idempotent(recovery):
    """local-channel.md L25, I-93."""
    one = fresh(recovery, 8, 9)
    if recovery is Recovery.PUSHED:
        push(one, 8, 9)
    send(one, 0, Barrier(1, Alignment.TIMEOUTABLE))
    held = one.resources()
    assert held.segments == (3 if recovery in (Recovery.PUSHED, Recovery.IN_MEMORY) else 1)
    assert held.listeners == 1
    for _ in range(2):
        whole(one.release())
        assert one.resources() == Resources(0, 0, 0, 0, 0)


# ---- persisting ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("recovery", [Recovery.NONE, Recovery.RECOVER_FIRST])
def test_a_checkpoint_writes_nothing_that_is_queued_and_all_that_is_taken_before_its_barrier(recovery):
    """local-channel.md L14, L19, L24."""
    one = fresh(recovery)
    send(one, 0, 1, Event(0))
    start(one, 2)
    assert one.persisted(2) == ()
    assert taken(one, 1) == [0]
    send(one, unaligned(2))
    assert taken(one, 3) == [unaligned(2), 1, Event(0)]
    assert one.persisted(2) == (0,)


def test_an_older_barrier_or_a_late_stop_does_not_end_a_checkpoint():
    """local-channel.md L14, L22."""
    one = fresh()
    send(one, Barrier(1, Alignment.ALIGNED), 0, 1)
    start(one, 2)
    taken(one, 1)
    whole(one.resume())
    assert taken(one, 1) == [0]
    whole(one.checkpoint_stopped(1))
    assert taken(one, 1) == [1]
    assert one.persisted(2) == (0, 1)


def test_a_checkpoint_that_starts_after_a_newer_barrier_is_subsumed():
    """local-channel.md L19, L21."""
    one = fresh(Recovery.IN_MEMORY, 7)
    send(one, unaligned(3))
    assert taken(one, 1) == [unaligned(3)]
    error = refused(one.checkpoint_started(unaligned(2)))
    assert error.checkpoint_reason is CheckpointReason.SUBSUMED
    assert one.persisted(2) == ()
    start(one, 3)
    assert one.persisted(3) == (7,)


def test_a_checkpoint_stopped_before_conversion_does_not_come_back():
    """local-channel.md L1, L14."""
    one = LocalChannel(ChannelConfig(), PUSHED, last_stopped=4)
    whole(one.request())
    send(one, unaligned(4), 0)
    taken(one, 2)
    assert not one.persister.barrier_received()


# ---- handed over in memory -------------------------------------------------------------------------------------------
def test_what_was_handed_over_comes_first_and_counts_as_in_use():
    """local-channel.md L1, L11, L12, L23."""
    one = fresh(Recovery.IN_MEMORY, 7, 8, request=False)
    assert one.in_use() == 2
    assert whole(one.take()) == BufferAndBacklog(Buffer((7,)), FIRST, Next.DATA, 0)
    whole(one.request())
    send(one, 0)
    assert one.in_use() == 2
    assert whole(one.take()) == BufferAndBacklog(Buffer((8,)), FIRST + 1, Next.DATA, 0)
    assert whole(one.take()) == BufferAndBacklog(Buffer((0,)), 0, Next.NONE, 0)


def test_priority_events_pass_what_was_handed_over_and_each_mentions_the_next():
    """local-channel.md L4, L12."""
    one = fresh(Recovery.IN_MEMORY, 7)
    send(one, unaligned(1), unaligned(2))
    assert [whole(one.take()).next for _ in range(3)] == [Next.PRIORITY, Next.DATA, Next.NONE]


def test_what_was_handed_over_is_written_once_when_a_checkpoint_starts():
    """local-channel.md L12, L14, L19, I-39."""
    one = fresh(Recovery.IN_MEMORY, 7, 8)
    send(one, 0)
    start(one, 1)
    assert taken(one, 3) == [7, 8, 0]
    assert one.persisted(1) == (7, 8, 0)


def test_a_priority_event_announced_while_another_is_taken_passes_too():
    """local-channel.md L4, L12. The first event is polled, then the second one is announced, and only then is the first
    one delivered."""
    kernel = Kernel(THREADS, fine=True)
    producer, task, _ = kernel.threads.values()
    one = fresh(Recovery.IN_MEMORY, 7)
    send(one, unaligned(1))
    kernel.start(task, ("take",), one.take())
    kernel.run(task, "subpartition 0 lock")
    kernel.start(producer, ("add",), one.add(unaligned(2)))
    assert kernel.finish(task).element == unaligned(1)
    assert kernel.finish(producer)
    assert taken(one, 2) == [unaligned(2), 7]


# ---- pushed ----------------------------------------------------------------------------------------------------------
def test_a_push_waits_until_the_subpartition_was_asked_for():
    """local-channel.md L5, L6, L9."""
    kernel = Kernel(THREADS, fine=False)
    recovery = kernel.threads["recovery"]
    one = fresh(Recovery.PUSHED, request=False)
    assert kernel.start(recovery, ("push_recovered",), one.push_recovered(Buffer((7,)))) is PAUSED
    assert told(one) == []
    assert not recovery.runnable
    whole(one.request())
    kernel.finish(recovery)
    assert told(one) == [DataAvailable()]
    assert taken(one, 1) == [7]


def test_release_wakes_a_push_that_waits_and_recycles_what_it_brings():
    """local-channel.md L6, L7, L25."""
    kernel = Kernel(THREADS, fine=False)
    recovery = kernel.threads["recovery"]
    one = fresh(Recovery.PUSHED, request=False)
    kernel.start(recovery, ("push_recovered",), one.push_recovered(Buffer((7,))))
    whole(one.release())
    assert kernel.finish(recovery) is None
    assert told(one) == []
    assert one.resources() == Resources(0, 0, 0, 0, 0)


def test_live_data_is_hidden_until_the_end_of_recovered_data_was_taken():
    """local-channel.md L5, L8, L13, L16, L24."""
    one = fresh(Recovery.PUSHED)
    send(one, 0)
    push(one, 7)
    assert taken(one, 2) == [7, None]
    assert one.in_recovery()
    whole(one.finish_recovered())
    assert one.in_recovery()
    told(one)
    assert taken(one, 1) == [None]
    assert told(one) == [StateConsumed(0), DataAvailable()]
    assert not one.in_recovery()
    assert taken(one, 1) == [0]


def test_priority_events_pass_in_recovery_also_when_nothing_is_queued():
    """local-channel.md L13, L15."""
    one = fresh(Recovery.PUSHED)
    send(one, unaligned(1), unaligned(2), 0)
    assert [whole(one.take()).next for _ in range(2)] == [Next.PRIORITY, Next.NONE]
    assert taken(one, 1) == [None]


def test_the_next_type_looks_past_recovery_barriers():
    """local-channel.md L13, L15."""
    one = fresh(Recovery.PUSHED)
    push(one, 7)
    whole(one.insert_recovery_barrier(1))
    send(one, 0)
    push(one, 8, 9)
    assert [whole(one.take()).next for _ in range(2)] == [Next.DATA, Next.DATA]
    whole(one.insert_recovery_barrier(2))
    assert whole(one.take()).next is Next.NONE
    push(one, 10)
    whole(one.insert_recovery_barrier(3))
    whole(one.finish_recovered())
    assert whole(one.take()).next is Next.EVENT


def test_a_push_after_the_end_is_an_error():
    """local-channel.md L7."""
    one = fresh(Recovery.PUSHED)
    whole(one.finish_recovered())
    assert refused(one.push_recovered(Buffer((7,)))).kind is ErrorKind.STATE
    taken(one, 1)
    assert refused(one.push_recovered(Buffer((7,)))).kind is ErrorKind.STATE
    assert refused(fresh().push_recovered(Buffer((7,)))).kind is ErrorKind.STATE


def test_a_checkpoint_writes_what_stands_before_its_recovery_barrier():
    """local-channel.md L18, L20, I-39."""
    one = fresh(Recovery.PUSHED)
    push(one, 7, 8)
    assert whole(one.insert_recovery_barrier(1))
    push(one, 9)
    start(one, 1)
    assert taken(one, 3) == [7, 8, 9]
    assert one.persisted(1) == (7, 8)


def test_a_missing_recovery_barrier_declines_this_checkpoint_only():
    """local-channel.md L20, L21, I-42."""
    one = fresh(Recovery.PUSHED)
    push(one, 7)
    assert refused(one.checkpoint_started(unaligned(1))).checkpoint_reason is CheckpointReason.DECLINED
    assert one.persisted(1) == ()
    assert one.resources().segments == 1
    whole(one.insert_recovery_barrier(3))
    assert refused(one.checkpoint_started(unaligned(2))).checkpoint_reason is CheckpointReason.DECLINED
    start(one, 3)
    assert one.persisted(3) == (7,)


def test_older_recovery_barriers_are_dropped_and_never_delivered():
    """local-channel.md L13, L16, L20."""
    one = fresh(Recovery.PUSHED)
    for checkpoint, record in ((1, 7), (2, 8), (3, 9)):
        push(one, record)
        whole(one.insert_recovery_barrier(checkpoint))
    start(one, 2)
    assert one.persisted(2) == (7, 8)
    whole(one.finish_recovered())
    assert taken(one, 4) == [7, 8, 9, None]
    assert not one.in_recovery()


def test_a_recovery_barrier_behind_the_end_counts_and_disappears():
    """local-channel.md L16, L18 to L20."""
    one = fresh(Recovery.PUSHED)
    push(one, 7)
    whole(one.finish_recovered())
    assert whole(one.insert_recovery_barrier(1))
    start(one, 1)
    assert one.persisted(1) == (7,)
    assert whole(one.insert_recovery_barrier(2))
    taken(one, 2)
    assert not whole(one.insert_recovery_barrier(3))
    start(one, 3)
    send(one, 0)
    assert taken(one, 1) == [0]


def test_a_priority_event_that_was_taken_before_it_was_announced_does_no_harm():
    """local-channel.md L4, L13."""
    kernel = Kernel(THREADS, fine=True)
    producer, task, _ = kernel.threads.values()
    one = fresh(Recovery.PUSHED)
    kernel.start(producer, ("add",), one.add(unaligned(1)))
    kernel.run(producer)
    assert producer.waits_for is not None
    assert producer.waits_for.name == "outside the locks of local channel 0"
    kernel.start(task, ("take",), one.take())
    assert kernel.finish(task).element == unaligned(1)
    kernel.finish(producer)
    assert told(one)[0] == PriorityAvailable(0)
    assert taken(one, 1) == [None]
