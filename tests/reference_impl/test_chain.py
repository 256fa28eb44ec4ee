"""The chain of the reference, by hand: recovery in each design, what a checkpoint holds, races step by step."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from conformance.components import COMPONENTS
from conformance.components.chain import ChainScenarioConfig
from conformance.driver import Program, World
from conformance.driver.turns import whole
from conformance.ports import (
    Alignment,
    Barrier,
    Buffer,
    ChainCheckpoint,
    ChainConfig,
    ChannelKind,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    CreditAnnounced,
    EndOfPartition,
    PartTaken,
    Recovery,
    RecoveryCompletion,
    RecoveryMetadata,
    find_implementation,
)
from reference_impl import PUSHED
from reference_impl.network.channel_info import ChannelInfo
from reference_impl.task.chain import CONSUMER, Chain

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
FIRST, MEMORY, PUSHING = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
UNALIGNED, ALIGNED = Alignment.UNALIGNED, Alignment.ALIGNED


def acknowledged(checkpoint: int, unaligned: bool = True, persisted: int = 0) -> CheckpointAcknowledged:
    """chain.md C23. No time passes in a chain."""
    return CheckpointAcknowledged(checkpoint, PartTaken(unaligned, persisted, 0))


class WholeChain:
    """A chain whose operations run whole, and whose remote channels are served before anybody consumes."""

    def __init__(
        self, *kinds, recovery=Recovery.NONE, restored=None, downstream=False, buffers=(2, 2), unaligned=True
    ) -> None:
        own, floating = buffers
        self.port = Chain(ChainConfig(kinds, recovery, restored, downstream, own, floating, unaligned), PUSHED)
        self.kinds = kinds
        self.recovery = recovery

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self.port, name)

        def call(*operands: Any) -> Any:
            value = operation(*operands)
            return whole(value) if isinstance(value, Coroutine) else value

        return call

    def start(self) -> WholeChain:
        """Convert and request; recover the output, but not the input."""
        if self.recovery is not Recovery.NONE:
            self.convert()
        self.request_partitions()
        if self.recovery is not Recovery.NONE:
            for channel in range(len(self.kinds)):
                self.recover_upstream(channel)
        return self

    def recover_upstream(self, channel: int) -> None:
        while self.port.output_left[channel]:
            self.recover_output(channel)
        self.finish_output_recovery(channel)

    def recover_all(self) -> None:
        for channel in range(len(self.kinds)):
            while self.port.drainer.left[ChannelInfo(0, channel)]:
                self.recover(channel)
            self.finish_recovery(channel)

    def take(self) -> Any:
        for channel, kind in enumerate(self.kinds):
            while (
                kind is REMOTE
                and ChannelInfo(0, channel) in self.port.producers.readers
                and self.transfer(channel) is not None
            ):
                pass
        return self.consume()

    def take_all(self) -> list[Any]:
        taken = []
        while (one := self.take()) is not None:
            taken.append(one.element)
        return taken

    def told(self) -> list[Any]:
        """What became of checkpoints since it was asked last."""
        told = [one for one in self.port.signals if type(one) in (CheckpointAcknowledged, CheckpointDeclined)]
        self.port.signals.clear()
        return told


def checkpoint(counted, input_state, output_state) -> ChainCheckpoint:
    return ChainCheckpoint(CheckpointStatus.COMPLETED, counted, input_state, output_state)


STATE = checkpoint(((0,),), ((1, 2),), ((3,),))


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
@pytest.mark.parametrize("downstream", [False, True])
@pytest.mark.parametrize("recovery", [FIRST, MEMORY, PUSHING])
def test_input_state_comes_before_output_state_and_both_before_live_data(kind, downstream, recovery):
    """chain.md C1, C4 to C7, C9 to C13, C15 to C18, C28, I-09."""
    chain = WholeChain(kind, recovery=recovery, restored=STATE, downstream=downstream)
    chain.recover_upstream(0)
    chain.produce(0, (4,))
    if recovery is not PUSHING:
        chain.recover_all()
    if recovery is FIRST:
        assert chain.take_all() == [Buffer((record,)) for record in ((1, 2, 3) if downstream else (1, 2))]
    chain.convert()
    chain.request_partitions()
    if recovery is PUSHING:
        chain.transfer(0) if kind is REMOTE else None
        chain.recover_all()
    elements = chain.take_all()
    assert [one.ids for one in elements if type(one) is Buffer][-1] == (4,)
    assert [type(one) for one in elements if type(one) is not Buffer][-1] is RecoveryCompletion
    assert (RecoveryMetadata(0, 0) in elements) is not downstream
    assert chain.counted() == ((0, 1, 2, 3, 4),)


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
def test_an_unaligned_checkpoint_is_counted_then_input_then_output_state(kind):
    """chain.md C2, C10, C20 to C23, C27."""
    chain = WholeChain(kind, LOCAL).start()
    chain.produce(0, (0,))
    chain.produce(0, (1,))
    chain.produce(0, (2,))
    if kind is REMOTE:
        chain.transfer(0)
        chain.transfer(0)
    chain.consume()
    chain.barrier(1, 1, UNALIGNED)
    chain.take() if kind is LOCAL else chain.consume()
    chain.produce(0, (3,))
    chain.barrier(0, 1, UNALIGNED)
    chain.produce(0, (4,))
    chain.take_all()
    taken = chain.snapshot(1)
    assert chain.told() == [acknowledged(1, persisted=len(taken.input_state[0]))]
    assert taken.counted == ((0,), ())
    assert taken.input_state[0] + taken.output_state[0] == (1, 2, 3)
    assert taken.input_state[0] == ((1,) if kind is REMOTE else ())
    assert chain.counted() == ((0, 1, 2, 3, 4), ())


def test_an_aligned_checkpoint_waits_for_the_slow_channel_and_holds_no_channel_state():
    """chain.md C2, C22, C23."""
    chain = WholeChain(LOCAL, LOCAL).start()
    chain.barrier(0, 1, ALIGNED)
    chain.produce(0, (0,))
    chain.produce(1, (0,))
    chain.barrier(1, 1, ALIGNED)
    assert chain.take_all() == [Barrier(1, ALIGNED), Buffer((0,)), Barrier(1, ALIGNED), Buffer((0,))]
    assert chain.snapshot(1) == checkpoint(((), (0,)), ((), ()), ((), ()))


def test_the_file_of_a_producer_outlives_the_next_checkpoint_of_that_producer():
    """chain.md C25, C27. The producer of channel 0 is ahead when checkpoint 1 completes."""
    chain = WholeChain(REMOTE, LOCAL).start()
    chain.produce(0, (0,))
    chain.barrier(0, 1, UNALIGNED)
    chain.transfer(0)
    chain.produce(0, (1,))
    chain.barrier(0, 2, UNALIGNED)
    chain.produce(1, (0,))
    chain.barrier(1, 1, UNALIGNED)
    chain.consume()
    chain.consume()
    assert chain.told() == [acknowledged(1)]
    assert chain.snapshot(1) == checkpoint(((), ()), ((), ()), ((0,), (0,)))
    assert chain.port.states[CONSUMER].writer.files() == (1, 1, 2), "the consumer had nothing to write"


def test_a_release_gives_up_the_file_of_a_pending_checkpoint_and_keeps_the_others():
    """chain.md C25, C27, C29."""
    chain = WholeChain(REMOTE, LOCAL).start()
    for number in (1, 2):
        chain.produce(0, (number - 1,))
        chain.transfer(0)
        chain.barrier(1, number, UNALIGNED)
        while chain.consume().element != Barrier(number, UNALIGNED):
            pass
        chain.produce(0, (number + 1,))
        if number == 1:
            chain.barrier(0, 1, UNALIGNED)
            chain.take_all()
    completed = chain.snapshot(1)
    assert completed.status is CheckpointStatus.COMPLETED
    assert chain.port.states[CONSUMER].writer.resources().open_files == 1
    chain.release()
    held = chain.port.states[CONSUMER].writer.resources()
    assert (held.segments, held.futures, held.open_files) == (0, 0, 0)
    assert chain.snapshot(1) == completed
    assert chain.snapshot(2).status is CheckpointStatus.PENDING
    consumer, producer, _ = chain.port.states
    consumer.start(3)  # an operation that was under way goes on
    consumer.add_input(ChannelInfo(0, 0), 3, (9,))
    producer.write_output(ChannelInfo(0, 0), 3, (9,))
    assert chain.port.states[CONSUMER].writer.resources().open_files == 0
    assert 3 not in chain.port.states[CONSUMER].writer.files()


def test_a_newer_barrier_subsumes_and_lets_the_waiting_channel_go_on():
    """chain.md C19, C20, C24, C27."""
    chain = WholeChain(LOCAL, LOCAL).start()
    chain.barrier(0, 1, ALIGNED)
    chain.produce(0, (0,))
    chain.take_all()
    chain.barrier(1, 2, UNALIGNED)
    chain.take_all()
    assert chain.told() == [CheckpointDeclined(1, CheckpointReason.DECLINED_SUBSUMED)]
    assert chain.counted() == ((0,), ())
    chain.barrier(1, 1, ALIGNED)  # obsolete, and its channel goes on all the same
    chain.produce(1, (0,))
    chain.take_all()
    assert chain.counted() == ((0,), (0,))
    assert chain.snapshot(1) == ChainCheckpoint(CheckpointStatus.DECLINED)
    assert chain.snapshot(2) == ChainCheckpoint(CheckpointStatus.PENDING)
    assert chain.snapshot(3) == ChainCheckpoint(CheckpointStatus.ABSENT)


def test_a_channel_that_ends_counts_as_received():
    """chain.md C3, C19, C23."""
    chain = WholeChain(LOCAL, REMOTE).start()
    chain.produce(1, (0,))
    chain.barrier(0, 1, UNALIGNED)
    chain.consume()
    chain.finish(1)
    assert chain.take_all() == [Buffer((0,)), EndOfPartition()]
    assert chain.told() == [acknowledged(1, persisted=1)]
    assert chain.snapshot(1) == checkpoint(((), ()), ((), (0,)), ((), ()))


@pytest.mark.parametrize("recovery", [FIRST, MEMORY, PUSHING])
def test_a_checkpoint_before_the_conversion_is_declined_and_the_next_completes(recovery):
    """chain.md C14, C19, C24, C26."""
    chain = WholeChain(LOCAL, recovery=recovery, restored=STATE)
    chain.trigger(1)
    assert chain.told() == [CheckpointDeclined(1, CheckpointReason.DECLINED_TASK_NOT_READY)]
    if recovery is not PUSHING:
        chain.recover_all()
    if recovery is FIRST:
        chain.take_all()
    chain.start()
    chain.barrier(0, 1, UNALIGNED)
    chain.barrier(0, 2, UNALIGNED)
    chain.take_all()
    assert chain.told() == [acknowledged(2, persisted=2 if recovery is not FIRST else 0)]


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
def test_what_was_not_pushed_is_in_the_checkpoint_between_what_was_queued_and_what_is_upstream(kind):
    """chain.md C12, C14, C21, C27."""
    chain = WholeChain(kind, recovery=PUSHING, restored=STATE).start()
    if kind is REMOTE:
        chain.transfer(0)
        chain.transfer(0)
    chain.recover(0)
    chain.produce(0, (4,))
    chain.barrier(0, 1, UNALIGNED)
    chain.produce(0, (5,))
    assert type(chain.take().element) is Barrier
    assert chain.told() == [acknowledged(1, persisted=2)]
    assert chain.snapshot(1) == checkpoint(((0,),), ((1, 2),), ((3, 4),))


@pytest.mark.parametrize("recovery", [MEMORY, PUSHING])
def test_a_checkpoint_during_recovery_can_be_restored_again(recovery):
    """chain.md C21, C27, C28."""
    chain = WholeChain(LOCAL, recovery=recovery, restored=STATE, downstream=True)
    if recovery is MEMORY:
        chain.recover_all()
    chain.start()
    if recovery is PUSHING:
        chain.recover(0)
    assert chain.take().element == Buffer((1,))
    chain.barrier(0, 1, UNALIGNED)
    chain.take()
    taken = chain.snapshot(1)
    assert taken == checkpoint(((0, 1),), ((2, 3),), ((),))
    again = WholeChain(REMOTE, recovery=FIRST, restored=taken)
    again.recover_all()
    again.take_all()
    again.start()
    assert again.counted() == ((0, 1, 2, 3),)


@pytest.mark.parametrize("recovery", [Recovery.NONE, FIRST, MEMORY, PUSHING])
@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
def test_a_released_chain_holds_nothing_and_still_shows_its_checkpoints(kind, recovery):
    """chain.md C27, C29."""
    chain = WholeChain(kind, recovery=recovery)
    if recovery in (FIRST, MEMORY):
        chain.recover_all()
        chain.take_all()
    chain.start()
    chain.produce(0, (0,))
    chain.barrier(0, 1, UNALIGNED)
    chain.take()
    chain.take_all()
    for _ in range(2):
        chain.release()
        held = chain.resources()
        assert not any(getattr(held, name) for name in held.__struct_fields__)
    assert chain.snapshot(1).status is CheckpointStatus.COMPLETED


def test_data_leaves_for_credit_only_and_an_event_without():
    """chain.md C6 to C8, C10."""
    chain = WholeChain(REMOTE)
    chain.port = Chain(ChainConfig((REMOTE,), exclusive_buffers=1, floating_buffers=0), PUSHED)
    chain.start()
    for record in (0, 1):
        chain.produce(0, (record,))
    assert [chain.transfer(0) for _ in range(2)] == [Buffer((0,)), None]
    chain.barrier(0, 1, UNALIGNED)
    assert [chain.transfer(0) for _ in range(2)] == [Barrier(1, UNALIGNED), None]
    assert chain.consume().element == Barrier(1, UNALIGNED)
    assert chain.transfer(0) is None
    assert chain.consume().element == Buffer((0,))  # its credit is announced again
    assert chain.transfer(0) == Buffer((1,))


# ---- races, stepped by hand ------------------------------------------------------------------------------------------
def step(config: ChainScenarioConfig, *steps: tuple[Any, ...]) -> World:
    world = World(Program(COMPONENTS["chain"], find_implementation("reference")), config, record=True)
    for one in steps:
        assert world.enabled(one), one
        world.perform(one)
    return world


STARTED = (
    ("convert",), ("finish", "task"), ("request_partitions",), ("finish", "task"),
    ("finish_output_recovery", 0), ("finish", "producer"), ("finish_output_recovery", 1), ("finish", "producer"),
)  # fmt: skip


def test_a_record_pushed_while_a_checkpoint_starts_is_in_it_once():
    """chain.md C12, C14, C21. The checkpoint of channel 0 starts while the recovery thread is about to push into
    channel 1."""
    config = ChainScenarioConfig((LOCAL, LOCAL), PUSHING, (PUSHING,), input_state=1, interleaving="fine")
    for stops in range(1, 12):
        world = step(config, *STARTED, ("barrier", 0, 1, "unaligned"), ("finish", "producer"), ("consume",))
        for _ in range(stops):
            if world.enabled(("run", "task", "")):
                world.perform(("run", "task", ""))
        world.perform(("recover", 1))
        for thread in ("recovery", "task", "recovery"):
            if world.enabled(("finish", thread)):
                world.perform(("finish", thread))
        world.perform(("barrier", 1, 1, "unaligned"))
        world.drain()  # the judges look at the checkpoint
        ledger: Any = world.ledger
        assert 1 in ledger.alignment.triggered


def test_the_end_of_recovery_does_not_take_away_the_mark_of_a_checkpoint():
    """chain.md C13, C14. Found by this suite: queueing the end of recovered data dropped a recovery barrier in
    front of it."""
    config = ChainScenarioConfig((LOCAL, LOCAL), PUSHING, (PUSHING,), interleaving="fine")
    for stops in range(1, 12):
        world = step(config, *STARTED, ("barrier", 0, 1, "unaligned"), ("finish", "producer"), ("consume",))
        for _ in range(stops):
            if world.enabled(("run", "task", "")):
                world.perform(("run", "task", ""))
        world.perform(("finish_recovery", 0))
        for thread in ("recovery", "task", "recovery"):
            if world.enabled(("finish", thread)):
                world.perform(("finish", thread))
        ledger: Any = world.ledger
        assert ledger.alignment.declined == []
        world.drain()


def test_a_thread_that_dies_with_a_buffer_leaks_nothing():
    """chain.md C29, I-93."""
    config = ChainScenarioConfig((REMOTE,), interleaving="fine")
    steps = (("request_partitions",), ("finish", "task"), ("produce", 0, 1), ("transfer", 0), ("finish", "network"))
    for stops in range(6):
        world = step(config, *steps, ("consume",))
        for _ in range(stops):
            if world.enabled(("run", "task", "")):
                world.perform(("run", "task", ""))
        world.perform(("fail",))
        world.perform(("resources",))


def test_a_producer_without_credit_announces_its_backlog():
    """chain.md C6 to C10, C30, I-96."""
    chain = WholeChain(REMOTE, buffers=(0, 1)).start()
    chain.produce(0, (0,))
    chain.produce(0, (1,))
    assert chain.transfer(0) is None
    assert chain.port.signals == [CreditAnnounced(1, 0)]
    assert chain.transfer(0) == Buffer((0,))
    assert chain.transfer(0) is None  # the only floating buffer holds the first record


def test_credit_ends_with_a_blocked_producer_that_has_floating_buffers_only():
    """chain.md C9, C10, C30."""
    chain = WholeChain(REMOTE, LOCAL, buffers=(0, 2)).start()
    chain.produce(0, (0,))
    chain.transfer(0)
    chain.barrier(0, 1, ALIGNED)
    assert chain.take() is not None
    assert chain.take() is not None
    reader = chain.port.producers.readers[ChannelInfo(0, 0)]
    reader.add_credit(1)
    chain.produce(0, (1,))
    assert chain.transfer(0) is None
    chain.barrier(1, 1, ALIGNED)
    assert chain.take() is not None
    assert chain.told() == [acknowledged(1, unaligned=False)]
    assert reader.credit == 0
    assert chain.transfer(0) is None
    assert chain.transfer(0) == Buffer((1,))


@pytest.mark.parametrize("alignment", [ALIGNED, UNALIGNED])
def test_a_checkpoint_is_pending_from_its_first_barrier(alignment):
    """chain.md C20, C27, I-62."""
    chain = WholeChain(LOCAL, LOCAL).start()
    assert chain.snapshot(1).status is CheckpointStatus.ABSENT
    chain.barrier(0, 1, alignment)
    chain.consume()
    assert chain.snapshot(1) == ChainCheckpoint(CheckpointStatus.PENDING)
    chain.barrier(1, 1, alignment)
    chain.consume()
    assert chain.snapshot(1).status is CheckpointStatus.COMPLETED


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
@pytest.mark.parametrize("alignment", list(Alignment))
def test_every_barrier_crosses_an_edge_without_unaligned_checkpoints_aligned(kind, alignment):
    """chain.md C2."""
    chain = WholeChain(kind, kind, unaligned=False).start()
    chain.produce(0, (0, 1))
    for channel in (0, 1):
        chain.barrier(channel, 1, alignment)
    chain.produce(0, (2,))
    taken = chain.take_all()
    assert taken.index(Buffer((0, 1))) < taken.index(Barrier(1, ALIGNED)) < taken.index(Buffer((2,)))
    assert taken.count(Barrier(1, ALIGNED)) == 2
    assert chain.snapshot(1) == checkpoint(((0, 1), ()), ((), ()), ((), ()))
