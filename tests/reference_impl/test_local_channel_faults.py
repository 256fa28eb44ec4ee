"""The local channel when something that it calls fails, rule by rule of local-channel.md."""

from __future__ import annotations

from contextlib import suppress

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    PRODUCER,
    SUBPARTITION_REQUEST,
    Alignment,
    Barrier,
    Buffer,
    DataAvailable,
    ErrorKind,
    FaultKind,
    FaultStruck,
    PortError,
    Recovery,
    Resources,
)
from conformance.scheduling import PAUSED, Kernel
from tests.reference_impl.test_local_channel import THREADS, fresh, send, taken, unaligned


def test_a_take_fails_with_the_channel_state_writer_and_nobody_keeps_its_buffer():
    """local-channel.md L26."""
    one = fresh()
    whole(one.checkpoint_started(unaligned(1)))
    send(one, 0, 1)
    one.signals.clear()
    one.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        whole(one.take())
    assert failed.value.kind is ErrorKind.IO
    assert one.signals == [FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)]
    assert one.persisted(1) == ()
    assert one.resources().segments == 1
    whole(one.release())
    assert one.resources().segments == 0


def test_a_start_fails_with_the_channel_state_writer_and_nothing_is_written():
    """local-channel.md L26."""
    one = fresh(Recovery.IN_MEMORY, 0, 1)
    one.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        whole(one.checkpoint_started(unaligned(1)))
    assert failed.value.kind is ErrorKind.IO
    assert one.persisted(1) == ()


def test_a_request_that_is_refused_leaves_nothing_and_can_be_made_again():
    """local-channel.md L27."""
    one = fresh(Recovery.PUSHED, request=False)
    send(one, 0)
    one.fault(SUBPARTITION_REQUEST, FaultKind.REFUSES)
    whole(one.request())
    assert one.signals == [FaultStruck(SUBPARTITION_REQUEST, FaultKind.REFUSES)]
    assert one.resources().listeners == 0
    assert not one.upstream_ready.done
    one.signals.clear()
    whole(one.request())
    assert one.signals == [DataAvailable()]
    assert one.upstream_ready.done


def test_a_request_that_fails_leaves_nothing_and_the_release_ends_a_push_that_waits():
    """local-channel.md L27."""
    one = fresh(Recovery.PUSHED, request=False)
    kernel = Kernel(THREADS, fine=False)
    assert kernel.start(kernel.threads["recovery"], ("push",), one.push_recovered(Buffer((0,)))) is PAUSED
    one.fault(SUBPARTITION_REQUEST, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        whole(one.request())
    assert failed.value.kind is ErrorKind.IO
    assert not kernel.threads["recovery"].runnable
    whole(one.release())
    assert kernel.finish(kernel.threads["recovery"]) is None
    assert one.resources() == Resources(0, 0, 0, 0, 0)


@pytest.mark.parametrize("blocked", [False, True])
def test_the_data_of_a_producer_that_fails_comes_before_its_error(blocked):
    """local-channel.md L28."""
    one = fresh()
    send(one, 0, *([Barrier(1, Alignment.ALIGNED)] if blocked else []), 1)
    one.fault(PRODUCER, FaultKind.ENDS)
    assert taken(one, 2) == [0, Barrier(1, Alignment.ALIGNED) if blocked else 1]
    for _ in range(2):  # it has failed for good
        with pytest.raises(PortError) as failed:
            whole(one.take())
        assert failed.value.kind is ErrorKind.IO
    assert FaultStruck(PRODUCER, FaultKind.ENDS) in one.signals
    whole(one.release())
    assert whole(one.take()) is None
    assert one.resources().segments == 0


def test_recovered_data_comes_before_the_error_of_a_producer_that_fails():
    """local-channel.md L28."""
    one = fresh(Recovery.IN_MEMORY, 7)
    one.fault(PRODUCER, FaultKind.ENDS)
    assert taken(one, 1) == [7]
    with pytest.raises(PortError):
        whole(one.take())


@pytest.mark.parametrize("stops", [0, 1, 2, 3])
def test_a_canceler_releases_the_channel_while_the_task_requests_it(stops):
    """local-channel.md L29. Wherever the request stands, nothing is left, and a later release changes nothing."""
    one = fresh(request=False)
    send(one, 0)
    kernel = Kernel((*THREADS, "canceler"), fine=True)
    task, canceler = kernel.threads["task"], kernel.threads["canceler"]
    kernel.start(task, ("request",), one.request())
    for _ in range(stops):
        if task.runnable:
            kernel.run(task)
    kernel.start(canceler, ("release",), one.release())
    while (paused := kernel.runnable()) is not None:
        with suppress(PortError):  # the request may come too late
            kernel.finish(paused)
    whole(one.release())
    assert not one.view
    assert one.resources() == Resources(0, 0, 0, 0, 0)
