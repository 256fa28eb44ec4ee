"""The chain of the reference, by hand: what it calls fails, and another chain starts from what had completed before."""

from __future__ import annotations

import pytest

from conformance.ports import (
    BUFFER_POOL,
    CHANNEL_STATE_WRITER,
    Alignment,
    ChannelKind,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    ErrorKind,
    FaultKind,
    FaultStruck,
    PortError,
    Recovery,
    Resources,
)
from reference_impl.network.channel_info import ChannelInfo
from reference_impl.network.local_channel import LocalChannel
from reference_impl.network.remote_channel import RemoteChannel
from tests.reference_impl.test_chain import STATE, WholeChain, acknowledged

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
UNALIGNED = Alignment.UNALIGNED
THROWS = FaultKind.THROWS


def fails(chain: WholeChain, operation: str, *operands: object) -> None:
    """The operation fails with what it calls, and says nothing else."""
    chain.port.signals.clear()
    with pytest.raises(PortError) as failed:
        getattr(chain, operation)(*operands)
    assert failed.value.kind is ErrorKind.IO
    assert [type(one) for one in chain.port.signals] == [FaultStruck]


def is_given_up(chain: WholeChain, checkpoint: int) -> None:
    """The checkpoint is not completed, also after the release, and then the chain holds nothing."""
    assert chain.snapshot(checkpoint).status is not CheckpointStatus.COMPLETED
    chain.release()
    assert chain.snapshot(checkpoint).status is not CheckpointStatus.COMPLETED
    assert chain.resources() == Resources(0, 0, 0, 0, 0)


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
def test_a_barrier_fails_with_its_output_state_and_its_poll_completes_nothing(kind):
    """chain.md C31."""
    chain = WholeChain(kind).start()
    chain.produce(0, (0,))
    chain.barrier(0, 1, UNALIGNED)
    assert chain.take().element.checkpoint == 1
    assert chain.told() == [acknowledged(1)]
    completed = chain.snapshot(1)
    chain.produce(0, (1,))
    chain.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(chain, "barrier", 0, 2, UNALIGNED)
    chain.take()  # a poll that was in flight
    assert chain.told() == [CheckpointDeclined(2, CheckpointReason.IO_EXCEPTION)]
    is_given_up(chain, 2)
    assert chain.snapshot(1) == completed


def test_a_start_fails_with_what_is_queued_and_nothing_completes():
    """chain.md C21, C31."""
    chain = WholeChain(LOCAL, LOCAL, recovery=Recovery.PUSHED, restored=None)
    chain.convert()
    chain.request_partitions()
    chain.port.drainer.left[ChannelInfo(0, 0)] = [0]
    chain.recover(0)
    chain.barrier(1, 1, UNALIGNED)
    chain.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(chain, "take")
    is_given_up(chain, 1)


def test_a_start_fails_with_undrained_records_and_nothing_completes():
    """chain.md C14, C21, C31."""
    chain = WholeChain(LOCAL, recovery=Recovery.PUSHED, restored=STATE, downstream=True).start()
    chain.barrier(0, 1, UNALIGNED)
    chain.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(chain, "take")
    is_given_up(chain, 1)


@pytest.mark.parametrize(
    ("first", "step", "operands"), [(REMOTE, "transfer", (0,)), (LOCAL, "consume", ())], ids=["remote", "local"]
)
def test_what_comes_in_front_of_an_awaited_barrier_cannot_be_written(first, step, operands):
    """chain.md C10, C16, C31. A remote channel writes what arrives, a local one what is polled."""
    chain = WholeChain(first, LOCAL).start()
    chain.produce(0, (0,))
    chain.barrier(1, 1, UNALIGNED)
    assert chain.consume().element.checkpoint == 1
    chain.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(chain, step, *operands)
    is_given_up(chain, 1)


def test_a_producer_whose_pool_was_destroyed_fails_and_sends_nothing():
    """chain.md C32."""
    chain = WholeChain(LOCAL, recovery=Recovery.IN_MEMORY, restored=STATE)
    chain.fault(BUFFER_POOL, FaultKind.ENDS)
    for operation in (("recover", 0), ("recover_output", 0), ("produce", 0, (4,))):
        fails(chain, *operation)
    assert chain.port.drainer.left == {ChannelInfo(0, 0): [1, 2]}
    assert chain.port.output_left == [[3]]
    assert chain.resources().segments == 0


def test_the_parts_of_a_chain_share_its_faults():
    """chain.md C31, C32."""
    chain = WholeChain(LOCAL, REMOTE)
    for channel in chain.port.gate.channels:
        assert isinstance(channel, LocalChannel | RemoteChannel)
        assert channel.faults is channel.persister.faults is chain.port.faults
    subpartitions = chain.port.producers.subpartitions.values()
    parts = (*subpartitions, chain.port.gate, chain.port.checkpoints.handler)
    assert all(one.faults is chain.port.faults for one in parts)
