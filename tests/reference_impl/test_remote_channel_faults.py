"""The remote channel when something that it calls fails, rule by rule of remote-channel.md."""

from __future__ import annotations

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    PRODUCER,
    SUBPARTITION_REQUEST,
    Alignment,
    Buffer,
    ChannelConfig,
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    ErrorKind,
    Event,
    FaultKind,
    FaultStruck,
    Recovery,
    Resources,
    StateConsumed,
)
from conformance.scheduling import PAUSED, Kernel
from reference_impl.network.remote_channel import RemoteChannel
from tests.reference_impl.test_remote_channel import Channel, barrier, recovering, refused

THREADS = ("network", "task", "recovery")
THROWS, ENDS = FaultKind.THROWS, FaultKind.ENDS


def held(one: RemoteChannel) -> int | None:
    return one.resources().segments


def error(one: Channel) -> None:
    whole(one.port.receive(Event(0), one.sent, -1))


# ---- the channel state writer ----------------------------------------------------------------------------------------
def test_an_arrival_fails_with_the_channel_state_writer_and_its_buffer_waits_for_the_release():
    """remote-channel.md R35."""
    one = Channel()
    one.start(1)
    one.port.fault(CHANNEL_STATE_WRITER, THROWS)
    assert refused(one.port.receive(Buffer((0,)), 0, -1)).kind is ErrorKind.IO
    assert one.told() == [FaultStruck(CHANNEL_STATE_WRITER, THROWS)]
    assert held(one.port) == 2
    assert one.port.persisted(1) == ()
    whole(one.port.release())
    assert one.port.resources() == Resources(0, 0, 0, 0, 0)


def test_a_start_fails_with_the_channel_state_writer_and_nothing_is_written():
    """remote-channel.md R35."""
    one = Channel()
    one.send(0)
    one.port.fault(CHANNEL_STATE_WRITER, THROWS)
    assert refused(one.port.checkpoint_started(barrier(1))).kind is ErrorKind.IO
    assert one.port.persisted(1) == ()


@pytest.mark.parametrize("arrives", [False, True])
def test_who_calls_a_slow_channel_state_writer_holds_the_lock(arrives):
    """remote-channel.md R35."""
    one = Channel()
    one.send(0)
    if arrives:
        one.start(1)
    one.port.fault(CHANNEL_STATE_WRITER, FaultKind.SLOW)
    kernel = Kernel(THREADS, fine=True)
    network, task = kernel.threads["network"], kernel.threads["task"]
    buffer, start = one.port.receive(Buffer((1,)), 1, -1), one.port.checkpoint_started(barrier(2))
    slow, other = (network, task) if arrives else (task, network)
    first, second = (buffer, start) if arrives else (start, buffer)
    kernel.start(slow, ("first",), first)
    kernel.run(slow, "channel-state-writer is slow")
    assert kernel.start(other, ("second",), second) is PAUSED
    assert not other.runnable
    kernel.finish(slow)
    kernel.finish(other)
    assert one.port.persisted(2) == (0, 1)


# ---- the producer ----------------------------------------------------------------------------------------------------
def test_the_error_of_the_producer_notifies_once_and_fails_the_next_take():
    """remote-channel.md R36."""
    one = Channel()
    one.send(0)
    one.told()
    one.port.fault(PRODUCER, ENDS)
    error(one)
    assert one.told() == [FaultStruck(PRODUCER, ENDS), DataAvailable()]
    error(one)
    assert one.told() == [FaultStruck(PRODUCER, ENDS)]
    assert refused(one.port.take()).kind is ErrorKind.IO
    whole(one.port.release())
    error(one)
    assert one.told(DataAvailable) == []
    assert held(one.port) == 0
    assert whole(one.port.take()) is None


def test_an_error_that_comes_before_the_request_is_kept():
    """remote-channel.md R36."""
    port = RemoteChannel(ChannelConfig())
    port.fault(PRODUCER, ENDS)
    whole(port.receive(Event(0), 0, -1))
    assert DataAvailable() in port.signals
    whole(port.request())
    assert refused(port.take()).kind is ErrorKind.IO


def test_a_push_that_waits_for_the_upstream_waits_on_after_an_error():
    """remote-channel.md R36."""
    one = Channel(Recovery.PUSHED)
    kernel = Kernel(THREADS, fine=False)
    assert kernel.start(kernel.threads["recovery"], ("push",), one.port.push_recovered(Buffer((0,)))) is PAUSED
    one.port.fault(PRODUCER, ENDS)
    error(one)
    assert not kernel.threads["recovery"].runnable
    whole(one.port.release())
    assert kernel.finish(kernel.threads["recovery"]) is None
    assert one.port.resources() == Resources(0, 0, 0, 0, 0)


# ---- the request -----------------------------------------------------------------------------------------------------
def test_a_request_that_is_refused_changes_nothing_and_can_be_made_again():
    """remote-channel.md R37."""
    port = RemoteChannel(ChannelConfig())
    port.fault(SUBPARTITION_REQUEST, FaultKind.REFUSES)
    whole(port.request())
    assert port.signals == [FaultStruck(SUBPARTITION_REQUEST, FaultKind.REFUSES)]
    assert port.free_for_live() == 0
    for _ in range(2):
        whole(port.request())
        assert port.free_for_live() == 2


def test_a_request_that_fails_leaves_nothing():
    """remote-channel.md R37."""
    port = RemoteChannel(ChannelConfig())
    port.fault(SUBPARTITION_REQUEST, THROWS)
    assert refused(port.request()).kind is ErrorKind.IO
    assert held(port) == 0


# ---- the connection --------------------------------------------------------------------------------------------------
def test_an_arrival_fails_if_the_credit_for_its_backlog_cannot_be_sent():
    """remote-channel.md R38."""
    one = Channel()
    one.port.fault(CONNECTION, THROWS)
    assert refused(one.port.receive(Buffer((0,)), 0, 2)).kind is ErrorKind.IO
    assert one.told(CreditAnnounced) == []
    assert held(one.port) == 4
    whole(one.port.release())
    assert held(one.port) == 0


def test_a_recycling_that_cannot_send_credit_fails_after_all_buffers_have_returned():
    """remote-channel.md R38."""
    one = Channel()
    one.send(0, backlog=2)
    one.send(1, 2, 3)
    assert one.taken(4) == [0, 1, 2, 3]
    one.port.fault(CONNECTION, THROWS)
    assert refused(one.port.recycle(4)).kind is ErrorKind.IO
    assert (held(one.port), one.port.buffers.pool.free) == (2, 2)


def test_recycling_gets_no_error_of_the_channel_that_is_offered_the_buffer():
    """remote-channel.md R38."""
    one = Channel(exclusive=0, floating=1)
    one.send(Event(0), backlog=1)
    one.send(0, backlog=1)
    assert one.taken(2) == [Event(0), 0]
    one.told()
    one.port.fault(CONNECTION, THROWS)
    whole(one.port.recycle(1))
    assert one.told() == [FaultStruck(CONNECTION, THROWS), DataAvailable()]
    assert refused(one.port.take()).kind is ErrorKind.IO


def test_the_end_of_recovery_fails_if_credit_cannot_be_sent():
    """remote-channel.md R38."""
    one = recovering()
    one.send(Event(0))
    one.finish()
    one.told()
    one.port.fault(CONNECTION, THROWS)
    assert refused(one.port.take()).kind is ErrorKind.IO
    assert one.told() == [StateConsumed(), FaultStruck(CONNECTION, THROWS)]
    assert not one.port.in_recovery()


def test_a_resumption_that_cannot_be_sent_fails():
    """remote-channel.md R38."""
    one = Channel()
    one.send(barrier(1, Alignment.ALIGNED))
    one.port.fault(CONNECTION, THROWS)
    assert refused(one.port.resume()).kind is ErrorKind.IO
    assert one.told(ConsumptionResumed) == []
