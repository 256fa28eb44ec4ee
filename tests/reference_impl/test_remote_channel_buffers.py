"""The buffers of a remote channel at the end of recovery, in a gate and after release, and numbers that wrap."""

from __future__ import annotations

from conformance.driver.turns import whole
from conformance.ports import (
    Alignment,
    Announcement,
    Buffer,
    ChannelConfig,
    CreditAnnounced,
    Event,
    Recovery,
    Resources,
)
from reference_impl.network.remote_channel import RemoteChannel
from tests.reference_impl.test_remote_channel import Channel, barrier, recovering


def test_a_floating_buffer_that_a_gate_copied_returns_to_the_pool_afterwards():
    """remote-channel.md R15, R18."""
    one = Channel(exclusive=0, floating=1)
    pool = one.port.buffers.pool
    one.send(Event(0), backlog=1)
    one.send(1)
    one.taken(2)
    one.port.buffer_was_copied()
    assert pool.free == 0
    whole(one.port.return_copied())
    assert pool.free == 1


def test_a_release_recycles_what_a_gate_copied_in_a_poll_that_has_not_ended():
    """remote-channel.md R18, R34."""
    one = Channel(exclusive=1, floating=1)
    pool = one.port.buffers.pool
    one.send(Event(0), backlog=1)
    one.send(1)
    one.taken(2)
    one.port.buffer_was_copied()
    whole(one.port.release())
    assert (one.port.resources().segments, pool.free) == (0, 1)
    whole(one.port.return_copied())
    assert (one.port.resources().segments, pool.free) == (0, 1)


def test_numbers_wrap_around_and_stay_in_order():
    """remote-channel.md R6, R27, R29."""
    one = Channel()
    one.port = RemoteChannel(ChannelConfig(first_number=2**31 - 2))
    whole(one.port.request())
    for element, number in (
        (Buffer((1,)), 2**31 - 2),
        (Buffer((2,)), 2**31 - 1),
        (barrier(1, Alignment.TIMEOUTABLE), -(2**31)),
    ):
        whole(one.port.receive(element, number, -1))
    one.start(1)
    assert one.port.persisted(1) == (1, 2)
    whole(one.port.convert_to_priority(-(2**31)))
    assert one.taken(3) == [Announcement(1, -(2**31)), barrier(1), 1]


def test_a_backlog_that_came_in_recovery_is_met_when_it_ends():
    """remote-channel.md R14, R19, R25."""
    one = recovering(exclusive=0, floating=1)
    one.send(Event(0), backlog=1)
    one.push(1)
    one.finish()
    assert one.taken(1) == [1]
    whole(one.port.recycle(1))
    one.told()
    assert one.taken(1) == [None]  # the end of recovered data
    assert one.told(CreditAnnounced) == [CreditAnnounced(1)]


def test_what_was_handed_over_takes_no_buffer_of_the_channel_and_gives_none_back():
    """remote-channel.md R1, R13, R18."""
    one = Channel(Recovery.IN_MEMORY, 8, exclusive=1, floating=0)
    one.send(1)
    one.taken(1)
    assert one.port.resources() == Resources(2, 0, 0, 0, 0)
    whole(one.port.recycle(1))
    assert one.told(CreditAnnounced) == []
    assert (one.port.free_for_live(), one.port.resources()) == (0, Resources(1, 0, 0, 0, 0))


def test_a_channel_stands_in_line_once_and_leaves_it_when_it_is_released():
    """remote-channel.md R14, R34."""
    one = Channel(exclusive=0, floating=0)
    one.send(Event(0), Event(1), backlog=1)
    assert one.port.resources() == Resources(0, 0, 0, 1, 0)
    whole(one.port.release())
    assert one.port.resources() == Resources(0, 0, 0, 0, 0)
