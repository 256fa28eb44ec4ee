"""The remote channel, rule by rule of remote-channel.md, and its races, stepped by hand."""

from __future__ import annotations

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    ChannelConfig,
    CheckpointReason,
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
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
from reference_impl.network.remote_channel import RemoteChannel

FIRST = -(2**31)


class Channel:
    """A channel, and the number of the element that its producer sends next."""

    def __init__(self, recovery=Recovery.NONE, *handed_over: int, exclusive: int = 2, floating: int = 2) -> None:
        self.port = RemoteChannel(ChannelConfig(recovery, handed_over, exclusive, floating))
        self.sent = 0
        whole(self.port.request())

    def send(self, *elements, backlog: int = -1) -> None:
        for one in elements:
            element = Buffer((one,)) if isinstance(one, int) else one
            whole(self.port.receive(element, self.sent, backlog))
            self.sent += 1

    def push(self, *ids: int) -> None:
        for record in ids:
            whole(self.port.push_recovered(Buffer((record,))))

    def finish(self) -> None:
        whole(self.port.finish_recovered())

    def start(self, checkpoint: int) -> None:
        whole(self.port.checkpoint_started(barrier(checkpoint)))

    def taken(self, count: int) -> list[object]:
        """Record or element of so many takes; None for an empty one."""
        found: list[object] = []
        for _ in range(count):
            got = whole(self.port.take())
            element = None if got is None else got.element
            found.append(element.ids[0] if isinstance(element, Buffer) else element)
        return found

    def told(self, kind=object) -> list[object]:
        signals = [one for one in self.port.signals if isinstance(one, kind)]
        self.port.signals.clear()
        return signals


def barrier(checkpoint: int, alignment=Alignment.UNALIGNED) -> Barrier:
    return Barrier(checkpoint, alignment)


def refused(operation) -> PortError:
    with pytest.raises(PortError) as caught:
        whole(operation)
    return caught.value


def recovering(*ids: int, **more) -> Channel:
    """A channel into which recovered data was pushed, whose producer has spoken."""
    one = Channel(Recovery.PUSHED, **more)
    one.send(RecoveryCompletion())
    one.push(*ids)
    return one


# ---- receiving -------------------------------------------------------------------------------------------------------
def test_elements_come_once_and_in_order_and_an_empty_take_is_legal():
    """remote-channel.md R6, R8, R22, R24."""
    one = Channel()
    one.send(1, Event(0), 2)
    assert one.taken(4) == [1, Event(0), 2, None]


def test_a_gap_is_an_error_whatever_else_holds():
    """remote-channel.md R2."""
    one = Channel()
    assert refused(one.port.receive(Event(0), 1, -1)).kind is ErrorKind.REORDERING
    whole(one.port.release())
    assert refused(one.port.receive(Event(0), 1, -1)).kind is ErrorKind.REORDERING


def test_what_comes_after_release_is_dropped():
    """remote-channel.md R3, R22."""
    one = Channel()
    whole(one.port.release())
    one.send(Event(0))
    assert one.told() == []
    assert one.taken(1) == [None]


def test_an_unaligned_barrier_goes_to_the_front_and_is_announced():
    """remote-channel.md R7, R10."""
    one = Channel()
    one.send(1, barrier(1))
    assert one.told(PriorityAvailable) == [PriorityAvailable(1)]
    assert one.taken(2) == [barrier(1), 1]


def test_a_timeoutable_barrier_waits_in_line_and_its_announcement_does_not():
    """remote-channel.md R7 to R9."""
    one = Channel()
    one.send(1, barrier(1, Alignment.TIMEOUTABLE))
    assert one.taken(3) == [Announcement(1, 1), 1, barrier(1, Alignment.TIMEOUTABLE)]


def test_only_what_finds_the_channel_empty_notifies():
    """remote-channel.md R10."""
    one = Channel()
    one.send(1, 2)
    assert one.told(DataAvailable) == [DataAvailable()]
    one.taken(2)
    one.send(3)
    assert one.told(DataAvailable) == [DataAvailable()]


def test_a_blocked_producer_has_no_backlog():
    """remote-channel.md R4."""
    one = Channel()
    assert refused(one.port.receive(RecoveryCompletion(), 0, 1)).kind is ErrorKind.ARGUMENT


# ---- credits ---------------------------------------------------------------------------------------------------------
def test_a_backlog_is_met_with_floating_buffers_as_far_as_there_are_any():
    """remote-channel.md R13, R14, R17, R33."""
    one = Channel(exclusive=1, floating=2)
    one.send(1, backlog=5)
    assert one.told(CreditAnnounced) == [CreditAnnounced(2)]
    assert one.port.free_for_live() == 2  # three, and one holds record 1


def test_an_exclusive_buffer_is_credit_again_unless_it_replaces_a_floating_one():
    """remote-channel.md R13, R18."""
    one = Channel(exclusive=1, floating=2)
    one.send(1, backlog=5)
    one.send(2, 3, backlog=0)
    one.told()
    one.taken(3)
    whole(one.port.recycle(3))
    assert one.told(CreditAnnounced) == [CreditAnnounced(1)]
    assert one.port.free_for_live() == 1


def test_without_exclusive_buffers_a_blocking_element_frees_the_floating_ones():
    """remote-channel.md R12, R14."""
    one = Channel(exclusive=0, floating=2)
    one.send(Event(0), backlog=2)
    assert one.port.free_for_live() == 2
    one.send(barrier(1, Alignment.ALIGNED))
    assert one.port.free_for_live() == 0


def test_a_channel_that_found_no_floating_buffer_gets_the_next_one():
    """remote-channel.md R14 to R18."""
    one = Channel(exclusive=0, floating=1)
    one.send(Event(0), backlog=1)
    one.send(1, backlog=1)
    one.told()
    one.taken(2)
    whole(one.port.recycle(1))
    assert one.told(CreditAnnounced) == [CreditAnnounced(1)]


def test_no_credit_is_announced_before_the_recovery_is_over():
    """remote-channel.md R17, R18, R25."""
    one = recovering(1, exclusive=2)
    assert one.told(CreditAnnounced) == []
    one.taken(1)
    whole(one.port.recycle(1))
    one.finish()
    assert one.told(CreditAnnounced) == []
    assert one.taken(1) == [None]  # the end of recovered data
    assert one.told(CreditAnnounced) == [CreditAnnounced(2)]


def test_a_second_request_sets_no_more_buffers_aside():
    """remote-channel.md R21, R33."""
    one = Channel(exclusive=2)
    assert one.told() == []
    whole(one.port.request())
    assert one.port.free_for_live() == 2
    assert Channel(Recovery.IN_MEMORY, 8).told() == [DataAvailable()]


# ---- recovery --------------------------------------------------------------------------------------------------------
def test_recovered_data_comes_first_and_events_that_came_meanwhile_come_after_it():
    """remote-channel.md R8, R19, R22, R25, R32."""
    one = recovering(1, 2)
    one.send(Event(7))
    assert one.taken(3) == [1, 2, None]
    assert one.port.in_recovery()
    one.finish()
    assert one.taken(1) == [None]  # the end of recovered data
    assert one.told(StateConsumed) == [StateConsumed()]
    assert not one.port.in_recovery()
    assert one.taken(3) == [RecoveryCompletion(), Event(7), None]


def test_a_priority_event_passes_recovered_data():
    """remote-channel.md R7, R22."""
    one = recovering(1)
    one.send(barrier(1))
    assert one.taken(2) == [barrier(1), 1]


def test_recovered_data_is_numbered_from_the_smallest_int():
    """remote-channel.md R22."""
    one = recovering(1, 2)
    numbers = []
    for _ in range(2):
        got = whole(one.port.take())
        assert got is not None
        numbers.append(got.seq)
    assert numbers == [FIRST, FIRST + 1]


def test_live_data_in_recovery_is_a_breach_of_the_protocol():
    """remote-channel.md R5."""
    one = recovering()
    assert refused(one.port.receive(Buffer((1,)), 1, -1)).kind is ErrorKind.PROTOCOL


def test_a_push_after_the_end_is_an_error_and_one_after_release_is_none():
    """remote-channel.md R20."""
    one = recovering()
    one.finish()
    assert refused(one.port.push_recovered(Buffer((1,)))).kind is ErrorKind.STATE
    whole(one.port.release())
    one.push(1)


def test_a_push_waits_for_the_producer_and_release_lets_it_go():
    """remote-channel.md R11, R19, R20, R32, R34."""
    kernel = Kernel(("recovery", "task"), fine=False)
    for wake in ("event", "release"):
        one = Channel(Recovery.PUSHED)
        thread = kernel.threads["recovery"]
        assert kernel.start(thread, ("push",), one.port.push_recovered(Buffer((1,)))) is PAUSED
        assert not thread.runnable
        if wake == "event":
            one.send(Event(0))
        else:
            whole(one.port.release())
        assert kernel.finish(thread) is None
        assert one.port.in_use() == (wake == "event")


def test_handed_over_buffers_stand_before_everything_and_cost_no_credit():
    """remote-channel.md R1, R22, R33."""
    one = Channel(Recovery.IN_MEMORY, 8, 9)
    one.send(1)
    assert one.port.free_for_live() == 1
    assert one.taken(3) == [8, 9, 1]


def test_a_take_names_what_the_next_one_would_find():
    """remote-channel.md R22, R23, R25."""
    one = recovering(1, 2)
    assert whole(one.port.insert_recovery_barrier(1))
    one.send(barrier(1), barrier(2))
    one.finish()
    following = [whole(one.port.take()).next for _ in range(4)]
    assert following == [Next.PRIORITY, Next.DATA, Next.DATA, Next.EVENT]
    assert one.taken(1) == [None]  # the end of recovered data
    one.send(1)
    assert [whole(one.port.take()).next for _ in range(2)] == [Next.DATA, Next.NONE]


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def test_data_in_front_of_the_barrier_is_known():
    """remote-channel.md R29."""
    one = Channel()
    one.send(1, 2, barrier(1), 3)
    one.start(1)
    assert one.port.persisted(1) == (1, 2)


def test_without_a_barrier_all_that_is_queued_is_known_and_the_rest_is_awaited():
    """remote-channel.md R6, R29."""
    one = Channel()
    one.send(1)
    one.start(1)
    one.send(2, barrier(1), 3)
    assert one.port.persisted(1) == (1, 2)


def test_an_older_checkpoint_is_subsumed():
    """remote-channel.md R30."""
    one = Channel()
    one.send(barrier(2))
    error = refused(one.port.checkpoint_started(barrier(1)))
    assert error.checkpoint_reason is CheckpointReason.SUBSUMED


def test_recovered_data_is_written_up_to_the_recovery_barrier_and_not_on_delivery():
    """remote-channel.md R28, R29."""
    one = recovering(1)
    assert whole(one.port.insert_recovery_barrier(1))
    one.push(2)
    one.start(1)
    one.taken(2)
    assert one.port.persisted(1) == (1,)


def test_a_missing_recovery_barrier_declines():
    """remote-channel.md R30."""
    one = recovering(1)
    assert refused(one.port.checkpoint_started(barrier(1))).checkpoint_reason is CheckpointReason.DECLINED


def test_a_channel_out_of_recovery_is_not_marked():
    """remote-channel.md R28."""
    assert not whole(Channel().port.insert_recovery_barrier(1))


def test_an_announced_barrier_can_overtake_if_it_is_the_last():
    """remote-channel.md R9, R27."""
    one = Channel()
    one.send(1, barrier(1, Alignment.TIMEOUTABLE))
    one.told()
    whole(one.port.convert_to_priority(1))
    assert one.told(PriorityAvailable) == [PriorityAvailable(1)]
    assert one.taken(3) == [Announcement(1, 1), barrier(1), 1]
    assert refused(one.port.convert_to_priority(0)).kind is ErrorKind.STATE


def test_a_barrier_whose_checkpoint_was_stopped_cannot_overtake():
    """remote-channel.md R27, R31."""
    one = Channel()
    one.send(1, barrier(2, Alignment.TIMEOUTABLE))
    whole(one.port.checkpoint_stopped(1))
    one.start(2)
    whole(one.port.checkpoint_stopped(2))
    assert refused(one.port.convert_to_priority(1)).kind is ErrorKind.STATE
    one.send(3)
    assert one.port.persisted(2) == (1,)


def test_an_arrival_is_either_known_or_awaited_never_neither():
    """remote-channel.md R6, R29, I-35. B-08 stepped by hand: the network delivers while a checkpoint starts."""
    for first in ("task", "network"):
        kernel = Kernel(("task", "network"), fine=True)
        one = Channel()
        kernel.start(kernel.threads["task"], ("start",), one.port.checkpoint_started(barrier(1)))
        kernel.start(kernel.threads["network"], ("data",), one.port.receive(Buffer((5,)), 0, -1))
        for name in (first, *kernel.threads):
            if kernel.threads[name].runnable:
                kernel.finish(kernel.threads[name])
        assert one.port.persisted(1) == (5,)


def test_recovered_and_live_data_that_waits_is_in_use():
    """remote-channel.md R32."""
    one = Channel(Recovery.IN_MEMORY, 8, 9)
    one.send(1)
    assert one.port.in_use() == 3
    one.taken(2)
    assert one.port.in_use() == 1


# ---- the end ---------------------------------------------------------------------------------------------------------
def test_resuming_resumes_the_producer_unless_released():
    """remote-channel.md R26."""
    one = Channel()
    whole(one.port.resume())
    assert one.told() == [ConsumptionResumed()]
    whole(one.port.release())
    assert refused(one.port.resume()).kind is ErrorKind.STATE


def test_release_gives_everything_back_twice_over():
    """remote-channel.md R18, R34, I-93."""
    one = Channel(exclusive=1, floating=2)
    one.send(1, backlog=4)
    one.taken(1)
    one.send(2)
    whole(one.port.release())
    whole(one.port.release())
    assert one.port.resources() == Resources(1, 0, 0, 0, 0)  # in the hands of the task
    whole(one.port.recycle(1))
    assert one.port.resources() == Resources(0, 0, 0, 0, 0)
