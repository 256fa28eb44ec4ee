"""The reference's drainer, rule by rule. Specification: drainer.md."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    BUFFER_POOL,
    SPILL_FILE_READ,
    Alignment,
    Barrier,
    Buffer,
    CheckpointReason,
    DrainerConfig,
    ErrorKind,
    FaultKind,
    Piece,
    PortError,
    RecoveryTrigger,
    Resources,
)
from conformance.scheduling import PAUSED, Kernel
from reference_impl import PUSHED
from reference_impl.network.channel_info import ChannelInfo
from reference_impl.state.drainer.buffers import RecoveryBuffers
from reference_impl.state.drainer.recovered_inputs import RecoveredInputs
from reference_impl.state.drainer.recovery import Recovering

NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)


class Task:
    """A task whose operations run whole. Each channel has recovered records; one is 100 times its channel and more."""

    def __init__(
        self, gates: tuple[int, ...] = (2,), recovered: int = 2, installed: bool = True, buffers: int = 64
    ) -> None:
        self.channels = [(gate, channel) for gate, size in enumerate(gates) for channel in range(size)]
        self.pieces = tuple(
            Piece(gate, channel, (100 * number + record,))
            for number, (gate, channel) in enumerate(self.channels)
            for record in range(recovered)
        )
        self.port = Recovering(DrainerConfig(gates, self.pieces, buffers=buffers), PUSHED)
        if installed:
            whole(self.port.install())

    def drain(self, times: int = 1) -> list[Piece | None]:
        return [whole(self.port.drain()) for _ in range(times)]

    def take(self, gate: int = 0) -> list[int]:
        """Take all that a gate has; the records."""
        found: list[int] = []
        while (taken := whole(self.port.take(gate))) is not None:
            assert isinstance(taken.element, Buffer)
            found += taken.element.ids
        return found

    def checkpoint(self, checkpoint: int) -> None:
        whole(self.port.checkpoint(checkpoint))

    def write(self) -> None:
        while self.port.write():
            pass

    def kind_of(self, operation: str, *operands: Any) -> PortError:
        try:
            answer = getattr(self.port, operation)(*operands)
            if hasattr(answer, "send"):
                whole(answer)
        except PortError as error:
            return error
        raise AssertionError(f"{operation} did not fail")


def test_the_state_is_in_files_before_anything_is_pushed():
    """drainer.md N1."""
    held = Task(installed=False).port.resources()
    assert (held.segments, held.files, held.grants) == (0, 1, 1)
    assert Task(recovered=0, installed=False).port.resources().files == 0


def test_the_drainer_is_installed_with_the_conversion():
    """drainer.md N2."""
    task = Task((1, 2), installed=False)
    assert task.port.trigger() is RecoveryTrigger.NOT_READY
    whole(task.port.install())
    assert task.port.trigger() is RecoveryTrigger.DRAINING
    assert all(gate.converted and gate.requested for gate in task.port.gates)


def test_records_are_pushed_in_the_order_of_fetching():
    """drainer.md N3, N4."""
    task = Task((1, 2))
    assert task.drain(7) == [*task.pieces, None]
    assert [task.take(0), sorted(task.take(1))] == [[0, 1], [100, 101, 200, 201]]


def test_nobody_holds_the_lock_while_the_disk_is_read():
    """drainer.md N3, N7."""
    task = Task()
    kernel = Kernel(("drain",), fine=True)
    thread = kernel.threads["drain"]
    answer = kernel.start(thread, ("drain",), task.port.drain())
    while answer is PAUSED and thread.waits_for is not task.port.drainer.disk:
        answer = kernel.run(thread)
    assert task.port.drainer.critical.lock.owner is None
    task.checkpoint(1)
    kernel.finish(thread)
    task.write()
    assert task.port.stored(1) == ((0, 1), (100, 101))


def test_when_everything_is_pushed_the_reader_gives_back_its_grant():
    """drainer.md N5."""
    task = Task()
    task.drain(4)
    assert task.port.resources().grants == 1
    assert task.drain() == [None]
    held = task.port.resources()
    assert (held.grants, held.files, held.open_files) == (0, 0, 0)


@pytest.mark.parametrize("recovered", [0, 1])
def test_live_data_follows_the_end_of_recovered_data(recovered):
    """drainer.md N5, N6."""
    task = Task((1,), recovered)
    whole(task.port.arrive(0, 0, 7))
    assert task.take() == []
    task.drain(recovered)
    assert task.take() == list(range(recovered))
    task.drain()
    assert task.take() == [7]


def test_the_trigger_ends_when_every_gate_was_consumed():
    """drainer.md N6."""
    task = Task((1, 1))
    task.drain(5)
    task.take(0)
    assert task.port.trigger() is RecoveryTrigger.DRAINING
    task.take(1)
    assert task.port.trigger() is RecoveryTrigger.NO_OP
    task.checkpoint(1)
    task.write()
    assert task.port.stored(1) == ((), ())


def test_a_checkpoint_before_the_drainer_is_declined():
    """drainer.md N7."""
    task = Task(installed=False)
    error = task.kind_of("checkpoint", 1)
    assert error.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    assert task.port.resources().grants == 1


@pytest.mark.parametrize("taken", range(5))
@pytest.mark.parametrize("pushed", range(5))
def test_a_checkpoint_holds_what_was_not_taken(pushed, taken):
    """drainer.md N7 to N9. Wherever the drainer and the task are."""
    task = Task((1,), 4)
    task.drain(pushed)
    found = [whole(task.port.take(0)) for _ in range(min(taken, pushed))]
    task.checkpoint(1)
    task.drain(5)
    task.write()
    assert task.port.stored(1) == (tuple(range(len(found), 4)),)


def test_a_checkpoint_after_the_last_push_needs_no_snapshot():
    """drainer.md N7, N8."""
    task = Task()
    task.drain(5)
    task.checkpoint(1)
    assert task.port.resources().grants == 0
    task.write()
    assert task.port.stored(1) == ((0, 1), (100, 101))


def test_the_snapshot_of_a_task_that_is_over_is_closed():
    """drainer.md N8, N12."""
    task = Task()
    kernel = Kernel(("task",), fine=True)
    thread = kernel.threads["task"]
    answer = kernel.start(thread, ("checkpoint", 1), task.port.checkpoint(1))
    while answer is PAUSED and task.port.resources().grants == 1:
        answer = kernel.run(thread)
    assert task.port.resources().grants == 2
    whole(task.port.cancel())
    with pytest.raises(PortError) as caught:
        kernel.finish(thread)
    assert caught.value.kind is ErrorKind.RELEASED
    assert task.port.resources() == NOTHING


@pytest.mark.parametrize("pauses", range(7))
def test_a_checkpoint_that_a_cancellation_overtakes_is_released(pauses):
    """drainer.md N8, N12. At each place where the checkpoint pauses."""
    task = Task()
    kernel = Kernel(("task",), fine=True)
    thread = kernel.threads["task"]
    assert kernel.start(thread, ("checkpoint", 1), task.port.checkpoint(1)) is PAUSED
    for _ in range(pauses):
        assert kernel.run(thread) is PAUSED
    whole(task.port.cancel())
    with pytest.raises(PortError) as caught:
        kernel.finish(thread)
    assert caught.value.kind is ErrorKind.RELEASED
    assert task.port.resources() == NOTHING


def test_a_snapshot_outlives_the_drainer_until_it_is_written():
    """drainer.md N5, N9."""
    task = Task()
    task.checkpoint(1)
    task.drain(5)
    assert task.port.resources().grants == 1
    assert task.port.stored(1) is None
    task.write()
    assert task.port.stored(1) == ((0, 1), (100, 101))
    assert task.port.resources().files == 0


def test_a_snapshot_that_cannot_be_read_fails_its_checkpoint_only():
    """drainer.md N10."""
    task = Task()
    task.checkpoint(1)
    task.checkpoint(2)
    task.port.fault(SPILL_FILE_READ, FaultKind.THROWS)
    assert task.port.write()
    assert task.kind_of("write").kind is ErrorKind.IO
    task.write()
    assert task.port.stored(1) is None
    assert task.port.stored(2) == ((0, 1), (100, 101))
    assert task.port.resources().grants == 1


def test_an_aborted_checkpoint_gives_back_its_grant():
    """drainer.md N11."""
    task = Task()
    task.checkpoint(1)
    task.port.write()
    for _ in range(2):
        task.port.abort(1)
        task.write()
        assert task.port.resources().grants == 1
    assert task.port.stored(1) is None


def test_an_abort_gives_up_older_checkpoints():
    """drainer.md N11."""
    task = Task()
    for checkpoint in (1, 2, 3):
        task.checkpoint(checkpoint)
    task.port.abort(2)
    task.write()
    assert task.port.stored(1) is task.port.stored(2) is None
    assert task.port.stored(3) == ((0, 1), (100, 101))


def test_a_complete_checkpoint_outlives_the_spill_files():
    """drainer.md N9, N12."""
    task = Task()
    task.checkpoint(1)
    task.write()
    task.checkpoint(2)
    whole(task.port.cancel())
    assert task.port.resources().files == 0
    assert task.port.stored(1) == ((0, 1), (100, 101))
    assert task.port.stored(2) is None


@pytest.mark.parametrize(("place", "kind"), [(SPILL_FILE_READ, FaultKind.THROWS), (BUFFER_POOL, FaultKind.ENDS)])
def test_an_error_of_the_drainer_is_reported(place, kind):
    """drainer.md N12."""
    task = Task()
    task.port.fault(place, kind)
    assert task.kind_of("drain").kind is ErrorKind.IO
    assert task.drain() == [None]
    whole(task.port.release())
    assert task.port.resources() == NOTHING


@pytest.mark.parametrize("pushed", range(6))
def test_a_task_is_cancelled_in_every_phase(pushed):
    """drainer.md N12."""
    task = Task()
    task.drain(pushed)
    task.checkpoint(1)
    task.port.write()
    whole(task.port.cancel())
    assert task.drain() == [None]
    assert not task.port.write()
    assert task.port.resources() == NOTHING
    whole(task.port.release())
    assert task.port.resources() == NOTHING


def waiting(task):
    """A kernel whose thread drains, and waits for a buffer."""
    kernel = Kernel(("drain",), fine=False)
    task.drain()
    assert kernel.start(kernel.threads["drain"], ("drain",), task.port.drain()) is PAUSED
    assert not kernel.threads["drain"].runnable
    return kernel


def test_the_drainer_waits_for_a_buffer_without_a_lock():
    """drainer.md N3, N6."""
    task = Task(buffers=1)
    kernel = waiting(task)
    assert task.port.drainer.critical.lock.owner is None
    task.checkpoint(1)
    taken = whole(task.port.take(0))
    assert taken.element == Buffer((0,))
    assert kernel.finish(kernel.threads["drain"]) == task.pieces[1]
    task.write()
    assert task.port.stored(1) == ((0, 1), (100, 101))


def test_a_live_record_gives_no_buffer_back():
    """drainer.md N6."""
    task = Task(gates=(1,), recovered=1, buffers=1)
    task.drain(2)
    whole(task.port.arrive(0, 0, 1))
    assert task.take() == [0, 1]
    assert task.port.buffers.free == 1


def test_a_cancellation_wakes_a_drainer_that_waits():
    """drainer.md N12."""
    task = Task(buffers=1)
    kernel = waiting(task)
    whole(task.port.cancel())
    assert kernel.finish(kernel.threads["drain"]) is None
    assert task.port.resources() == NOTHING


def test_each_buffer_of_recovered_data_is_given_back_once_and_nothing_else_is():
    """drainer.md N3, N6. A record may begin in one buffer and end in the next; an event is in no buffer of these."""
    buffers = RecoveryBuffers(3)
    inputs = RecoveredInputs([2], buffers)
    first, second = ChannelInfo(0, 0), ChannelInfo(0, 1)
    for channel in (first, first, second):
        whole(buffers.request(channel))
    assert not buffers.ready()
    inputs.was_taken(first, Barrier(1, Alignment.UNALIGNED))
    assert not buffers.ready()
    for part in ((), (1,)):
        inputs.was_taken(first, Buffer(part))
    inputs.was_taken(first, Buffer((2,)))  # live data
    assert (buffers.free, buffers.in_use) == (2, {first: 0, second: 1})
