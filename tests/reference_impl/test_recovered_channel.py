"""The recovered channel, rule by rule of recovered-channel.md, and its races, stepped by hand."""

from __future__ import annotations

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    BUFFER_POOL,
    NETWORK_BUFFER_POOL,
    Alignment,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    DataAvailable,
    ErrorKind,
    FaultKind,
    FaultStruck,
    Next,
    PortError,
    Recovery,
    Resources,
    StateConsumed,
)
from conformance.scheduling import Kernel
from reference_impl.network.recovered_channel import RecoveredChannel

FIRST = -(2**31)


def fresh(recovery=Recovery.IN_MEMORY, *ids: int, finished: bool = False) -> RecoveredChannel:
    made = RecoveredChannel(ChannelConfig(recovery))
    for one in ids:
        whole(made.push_recovered(Buffer((one,))))
    if finished:
        whole(made.finish_recovered())
    return made


def told(one: RecoveredChannel) -> list[object]:
    signals: list[object] = list(one.signals)
    one.signals.clear()
    return signals


def test_only_the_first_buffer_is_announced():
    """recovered-channel.md V2, V5, V6, V8."""
    one = fresh(Recovery.RECOVER_FIRST, 0, 1)
    assert told(one) == [DataAvailable()]
    assert whole(one.take()) == BufferAndBacklog(Buffer((0,)), FIRST, Next.DATA, 0)
    assert whole(one.take()) == BufferAndBacklog(Buffer((1,)), FIRST + 1, Next.NONE, 0)
    assert whole(one.take()) is None
    whole(one.finish_recovered())
    assert told(one) == [DataAvailable()]


def test_a_take_of_the_end_returns_nothing_and_signals_it():
    """recovered-channel.md V6 to V8."""
    one = fresh(Recovery.RECOVER_FIRST, 0, finished=True)
    assert whole(one.take()).next is Next.EVENT
    told(one)
    assert whole(one.take()) is None
    assert told(one) == [StateConsumed(0)]
    assert whole(one.take()) is None
    assert told(one) == []


def test_a_push_after_the_end_is_an_error():
    """recovered-channel.md V4."""
    one = fresh(Recovery.IN_MEMORY, finished=True)
    with pytest.raises(PortError) as caught:
        whole(one.push_recovered(Buffer((0,))))
    assert caught.value.kind is ErrorKind.STATE


def test_a_push_after_release_is_recycled_silently():
    """recovered-channel.md V3, V9, V14."""
    one = fresh(Recovery.IN_MEMORY, 0, finished=True)
    whole(one.release())
    told(one)
    whole(one.push_recovered(Buffer((1,))))
    whole(one.finish_recovered())
    assert told(one) == []
    assert one.resources() == Resources(0, 0, 0, 0, 0)
    with pytest.raises(PortError) as caught:
        whole(one.take())
    assert caught.value.kind is ErrorKind.STATE


def test_checkpoints_are_declined_and_the_newest_stop_is_remembered():
    """recovered-channel.md V10, V11, V17."""
    one = fresh(Recovery.IN_MEMORY, 0)
    with pytest.raises(PortError) as caught:
        whole(one.checkpoint_started(Barrier(1, Alignment.UNALIGNED)))
    assert caught.value.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    assert one.persisted(1) == ()
    assert one.last_stopped() == 0
    for checkpoint in (2, 4, 3):
        whole(one.checkpoint_stopped(checkpoint))
    assert one.last_stopped() == 4


@pytest.mark.parametrize(
    ("recovery", "pushed", "finished", "takes", "handed_over"),
    [
        (Recovery.RECOVER_FIRST, (0,), False, 1, None),
        (Recovery.RECOVER_FIRST, (0,), True, 1, None),
        (Recovery.RECOVER_FIRST, (0,), True, 2, ()),
        (Recovery.IN_MEMORY, (0, 1), False, 2, None),
        (Recovery.IN_MEMORY, (0, 1, 2), True, 1, (1, 2)),
        (Recovery.IN_MEMORY, (0,), True, 2, ()),
        (Recovery.PUSHED, (0,), False, 0, None),
        (Recovery.PUSHED, (), False, 0, ()),
    ],
)
def test_conversion_is_refused_while_state_would_be_lost(recovery, pushed, finished, takes, handed_over):
    """recovered-channel.md V12, V13, V16."""
    one = fresh(recovery, *pushed, finished=finished)
    for _ in range(takes):
        whole(one.take())
    left = one.in_use()
    if handed_over is not None:
        assert whole(one.convert()) == handed_over
        assert one.released
        return
    with pytest.raises(PortError) as caught:
        whole(one.convert())
    assert caught.value.kind is ErrorKind.STATE
    assert not one.released
    assert one.in_use() == left


def test_a_push_that_waits_for_the_lock_while_the_channel_is_converted_is_recycled():
    """recovered-channel.md V3, V13."""
    kernel = Kernel(("recovery", "task"), fine=True)
    recovery, task = kernel.threads.values()
    one = fresh(Recovery.PUSHED)
    kernel.start(recovery, ("push_recovered",), one.push_recovered(Buffer((0,))))
    kernel.start(task, ("convert",), one.convert())
    assert kernel.finish(task) == ()
    kernel.finish(recovery)
    assert one.resources().segments == 0
    assert told(one) == []


def test_nothing_is_accepted_between_handing_over_and_release():
    """recovered-channel.md V3, V13."""
    one = fresh(Recovery.PUSHED)
    assert whole(one.hand_over()) == ()
    whole(one.push_recovered(Buffer((0,))))
    assert one.in_use() == 0
    assert told(one) == []


def test_it_has_nothing_to_do_with_the_producer():
    """recovered-channel.md V15."""
    one = fresh()
    assert not [name for name in ("request", "resume", "arrive", "receive") if hasattr(one, name)]


def test_what_was_handed_over_is_not_handed_over_again_before_the_release():
    """recovered-channel.md V12, V13."""
    one = fresh(Recovery.IN_MEMORY, 0, finished=True)
    assert whole(one.hand_over()) == (0,)
    with pytest.raises(PortError) as caught:
        whole(one.hand_over())
    assert caught.value.kind is ErrorKind.STATE


# ---- what it calls refuses or fails ----------------------------------------------------------------------------------
class Waiting:
    """A channel into which one record was pushed, and a push of another one that waits for a buffer."""

    def __init__(self, recovery: Recovery = Recovery.PUSHED, fine: bool = False) -> None:
        self.kernel = Kernel(("recovery", "task", "pool"), fine)
        self.recovery, self.task, self.pool = self.kernel.threads.values()
        self.channel = fresh(recovery, *(() if recovery is Recovery.PUSHED else (0,)))
        told(self.channel)
        self.channel.fault(BUFFER_POOL, FaultKind.REFUSES)
        self.kernel.start(self.recovery, ("push_recovered",), self.channel.push_recovered(Buffer((1,))))
        while self.recovery.runnable:
            self.kernel.run(self.recovery)
        assert self.recovery.waits_for is not None
        assert not self.recovery.held
        assert told(self.channel) == [FaultStruck(BUFFER_POOL, FaultKind.REFUSES)]

    def error(self) -> ErrorKind:
        """Lets the push go on, and returns the kind of its error."""
        with pytest.raises(PortError) as caught:
            self.kernel.finish(self.recovery)
        return caught.value.kind


def test_a_push_waits_for_a_buffer_and_gets_the_next_one():
    """recovered-channel.md V18, V19."""
    one = Waiting()
    assert one.channel.in_use() == 0
    assert whole(one.channel.offer_buffer())
    assert not whole(one.channel.offer_buffer()), "it needs one buffer"
    assert one.channel.resources().segments == 1
    one.kernel.finish(one.recovery)
    assert told(one.channel) == [DataAvailable()]
    assert one.channel.resources().segments == 1
    whole(one.channel.push_recovered(Buffer((2,))))
    assert whole(one.channel.take()).element == Buffer((1,))


def test_a_buffer_that_nobody_waits_for_stays_in_the_pool():
    """recovered-channel.md V19."""
    one = fresh(Recovery.PUSHED, 0)
    assert not whole(one.offer_buffer())
    assert one.resources().segments == 1


@pytest.mark.parametrize("ending", ["release", "convert"])
def test_a_release_or_conversion_ends_the_wait_for_a_buffer(ending):
    """recovered-channel.md V14, V19."""
    one = Waiting()
    whole(getattr(one.channel, ending)())
    assert not whole(one.channel.offer_buffer())
    assert one.error() is ErrorKind.RELEASED
    assert told(one.channel) == []
    assert one.channel.resources() == Resources(0, 0, 0, 0, 0)


def test_a_buffer_that_was_offered_is_given_back_if_the_release_comes_first():
    """recovered-channel.md V14, V19."""
    one = Waiting(fine=True)
    assert whole(one.channel.offer_buffer())
    whole(one.channel.release())
    assert one.channel.resources().segments == 0
    assert one.error() is ErrorKind.RELEASED
    assert one.channel.resources().segments == 0


def test_a_push_that_waits_learns_once_that_the_pool_was_destroyed_and_so_does_every_later_one():
    """recovered-channel.md V20."""
    one = Waiting(Recovery.IN_MEMORY)
    one.channel.fault(BUFFER_POOL, FaultKind.ENDS)
    assert one.error() is ErrorKind.IO
    assert told(one.channel) == [FaultStruck(BUFFER_POOL, FaultKind.ENDS)]
    with pytest.raises(PortError) as caught:
        whole(one.channel.push_recovered(Buffer((2,))))
    assert caught.value.kind is ErrorKind.IO
    assert one.channel.resources().segments == 1, "what was pushed before is still there"
    for _ in range(2):
        whole(one.channel.release())
        assert one.channel.resources().segments == 0


def test_a_push_that_was_offered_a_buffer_keeps_it_although_the_pool_is_destroyed():
    """recovered-channel.md V20."""
    one = Waiting()
    assert whole(one.channel.offer_buffer())
    one.channel.fault(BUFFER_POOL, FaultKind.ENDS)
    one.kernel.finish(one.recovery)
    assert one.channel.in_use() == 1


def test_a_channel_that_is_over_asks_for_no_buffer():
    """recovered-channel.md V4, V18."""
    one = fresh(Recovery.PUSHED, finished=True)
    one.fault(BUFFER_POOL, FaultKind.ENDS)
    with pytest.raises(PortError) as caught:
        whole(one.push_recovered(Buffer((0,))))
    assert caught.value.kind is ErrorKind.STATE
    whole(one.release())
    whole(one.push_recovered(Buffer((0,))))
    assert FaultStruck(BUFFER_POOL, FaultKind.ENDS) not in told(one)


@pytest.mark.parametrize("kind", [FaultKind.THROWS, FaultKind.REFUSES])
def test_a_conversion_without_exclusive_buffers_changes_nothing(kind):
    """recovered-channel.md V21."""
    one = fresh(Recovery.IN_MEMORY, 0, 1, finished=True)
    told(one)
    one.fault(NETWORK_BUFFER_POOL, kind)
    with pytest.raises(PortError) as caught:
        whole(one.convert())
    assert caught.value.kind is ErrorKind.IO
    assert told(one) == [FaultStruck(NETWORK_BUFFER_POOL, kind)]
    assert one.resources().segments == 2
    assert whole(one.take()).element == Buffer((0,))
    assert whole(one.convert()) == (1,)


def test_a_conversion_that_would_lose_state_asks_for_no_buffers():
    """recovered-channel.md V12, V21."""
    one = fresh(Recovery.IN_MEMORY, 0)
    one.fault(NETWORK_BUFFER_POOL, FaultKind.THROWS)
    with pytest.raises(PortError) as caught:
        whole(one.convert())
    assert caught.value.kind is ErrorKind.STATE
