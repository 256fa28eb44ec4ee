"""Released Flink behind the interface."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.bridges.flink import shim
from conformance.bridges.flink.shim import compiled
from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CancelMarker,
    Capability,
    CheckpointReason,
    DataAvailable,
    DequeConfig,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    Event,
    Item,
    Next,
    OutputState,
    PortError,
    PriorityAvailable,
    RecoveryCompletion,
    RecoveryMetadata,
    Resources,
    StateStatus,
    SubpartitionConfig,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

UNALIGNED = Alignment.UNALIGNED
TIMEOUTABLE = Alignment.TIMEOUTABLE


@pytest.fixture
def subpartition(flink):
    return flink.components()["subpartition"](SubpartitionConfig())


def taken_signals(port):
    signals, port.signals = port.signals, []
    return signals


def test_it_says_what_it_is(flink):
    assert (flink.name, flink.version) == ("flink-component", flink.release)
    since_2_3 = {
        Capability.BLOCKED_PRIORITY_LOCAL, Capability.BLOCKED_PRIORITY_REMOTE, Capability.RECOVERS_IN_MEMORY,
        Capability.OUTPUT_RECOVERED_DOWNSTREAM,
    }  # fmt: skip
    released = set(Capability) - {
        Capability.NOT_READY_WITHOUT_BARRIER,
        Capability.RECOVERS_BY_PUSHING, Capability.STEPPING, Capability.BEGINS_ANYWHERE,
        Capability.DOWN_GATE, Capability.UP_GATE, Capability.UP_BLOCKED,
        Capability.ONE_BUFFER_BEFORE_THE_FILTER, Capability.BOUNDED_FILTER_MEMORY, Capability.PARTIAL_RECORDS_IN_FILES,
        Capability.ALIGNS_AT_RECEIVER, Capability.ALIGNED_EDGES, Capability.JOB_STEPS, Capability.CHECKPOINT_READBACK,
    }  # fmt: skip
    assert flink.capabilities == (released if flink.release == "2.3.0" else released - since_2_3)


def test_it_is_compiled_once(flink, monkeypatch):
    compiled(flink.release)
    monkeypatch.setattr(shim, "_compile", lambda *_: pytest.fail("it is compiled again"))
    assert list(compiled(flink.release).glob("conformance/flink/Main.class"))


def test_a_priority_event_passes_a_blocked_subpartition_since_flink_39018(flink, subpartition):
    subpartition.finish_recovery(True)
    subpartition.attach_view()
    assert subpartition.poll() == BufferAndBacklog(RecoveryCompletion(), 0, Next.NONE, 0)
    assert taken_signals(subpartition) == []
    assert subpartition.add(Barrier(1, UNALIGNED))
    announced, polled = taken_signals(subpartition), subpartition.poll()
    if flink.release == "2.2.1":
        assert (announced, polled) == ([], None)
        subpartition.resume()
        polled = subpartition.poll()
    else:
        assert announced == [PriorityAvailable(1)]
    assert polled == BufferAndBacklog(Barrier(1, UNALIGNED), 1, Next.NONE, 0)


def test_a_blocked_subpartition_denies_the_priority_event_to_a_reader_with_credit(flink, subpartition):
    """Also in 2.3.0, which announces the event and hands it out, but denies it when asked in between: FLINK-40519."""
    subpartition.finish_recovery(True)
    subpartition.attach_view()
    subpartition.poll()
    subpartition.add(Barrier(1, UNALIGNED))
    assert subpartition.available(True) == Availability(False, 0)
    assert subpartition.available(False) == Availability(True, 0)


@pytest.mark.parametrize(
    "element",
    [
        Buffer((1, 2)),
        Barrier(3, Alignment.ALIGNED),
        Barrier(3, TIMEOUTABLE),
        Barrier(3, UNALIGNED),
        CancelMarker(3),
        Event(7),
        RecoveryMetadata(1, 2),
        RecoveryCompletion(),
        EndOfData(),
        EndOfPartition(),
    ],
    ids=lambda element: type(element).__name__,
)
def test_every_element_comes_out_as_it_went_in(subpartition, element):
    subpartition.attach_view()
    assert subpartition.add(element)
    is_priority = isinstance(element, Barrier) and element.alignment is UNALIGNED
    # An unaligned barrier that is alone is announced twice: as a priority event, and as the first finished element.
    assert taken_signals(subpartition) == [*[PriorityAvailable(0)] * is_priority, DataAvailable()]
    assert subpartition.poll() == BufferAndBacklog(element, 0, Next.NONE, 0)


def test_overtaken_data_is_written_and_still_delivered(subpartition):
    for record in (1, 2):
        subpartition.add(Buffer((record,)))
    subpartition.add(Event(0))
    subpartition.add(Buffer((3,), finished=False))
    subpartition.add(Barrier(1, UNALIGNED))
    assert subpartition.persisted(1) == OutputState(StateStatus.WRITTEN, (1, 2, 3))
    assert subpartition.poll() == BufferAndBacklog(Barrier(1, UNALIGNED), 0, Next.DATA, 2)
    assert [subpartition.poll().element for _ in range(3)] == [Buffer((1,)), Buffer((2,)), Event(0)]
    assert subpartition.poll() == BufferAndBacklog(Buffer((3,)), 4, Next.NONE, 0)
    assert subpartition.poll() is None
    assert subpartition.resources() == Resources(1, listeners=0, futures=0)


def test_a_timed_out_barrier_becomes_unaligned(subpartition):
    subpartition.attach_view()
    subpartition.add(Buffer((1,)))
    subpartition.add(Barrier(1, TIMEOUTABLE))
    subpartition.add(Buffer((2,)))
    assert subpartition.persisted(1) == OutputState(StateStatus.PENDING)
    assert subpartition.resources() == Resources(2, listeners=1, futures=1)
    taken_signals(subpartition)
    subpartition.aligned_timeout(2)
    assert subpartition.persisted(1).status is StateStatus.PENDING
    subpartition.aligned_timeout(1)
    assert taken_signals(subpartition) == [PriorityAvailable(0)]
    assert subpartition.persisted(1) == OutputState(StateStatus.WRITTEN, (1,))
    assert subpartition.poll().element == Barrier(1, UNALIGNED)


def test_a_timeoutable_barrier_keeps_or_breaks_its_promise(subpartition):
    for checkpoint in (1, 2, 3):
        subpartition.add(Barrier(checkpoint, TIMEOUTABLE))
    assert subpartition.persisted(1) == subpartition.persisted(2) == OutputState(StateStatus.FAILED)
    subpartition.abort(2, CheckpointReason.EXPIRED)
    assert subpartition.persisted(3) == OutputState(StateStatus.PENDING)
    for _ in range(3):
        assert subpartition.poll() is not None
        subpartition.resume()
    assert subpartition.persisted(3) == OutputState(StateStatus.WRITTEN)
    assert subpartition.persisted(4) == OutputState(StateStatus.ABSENT)
    subpartition.add(Barrier(5, TIMEOUTABLE))
    subpartition.release()
    assert subpartition.persisted(5) == OutputState(StateStatus.FAILED)


@pytest.mark.parametrize("reason", CheckpointReason)
def test_every_reason_can_end_a_checkpoint(subpartition, reason):
    subpartition.add(Barrier(1, TIMEOUTABLE))
    subpartition.abort(1, reason)
    assert subpartition.persisted(1) == OutputState(StateStatus.FAILED)


def test_an_unfinished_buffer_is_polled_piece_by_piece(subpartition):
    subpartition.attach_view()
    subpartition.add(Buffer((), finished=False))
    subpartition.append((1,))
    assert subpartition.available(True) == Availability(False, 0)
    assert taken_signals(subpartition) == []
    subpartition.flush()
    assert taken_signals(subpartition) == [DataAvailable()]
    assert subpartition.poll() == BufferAndBacklog(Buffer((1,)), 0, Next.NONE, 0)
    subpartition.append((2, 3))
    subpartition.finish_buffer()
    # The consumer side of a buffer learns that it is finished when it is read; nothing is available before.
    assert subpartition.available(True) == Availability(False, 0)
    subpartition.add(Event(0))
    assert subpartition.poll() == BufferAndBacklog(Buffer((2, 3)), 1, Next.EVENT, 0)
    assert subpartition.resources() == Resources(0, listeners=1, futures=0)


@pytest.mark.parametrize(
    ("exclusive_buffers", "polled"), [(2, None), (0, BufferAndBacklog(Buffer(()), 0, Next.NONE, 0))]
)
def test_empty_buffers_carry_credit_back_where_there_is_no_other(flink, exclusive_buffers, polled):
    subpartition = flink.components()["subpartition"](SubpartitionConfig(exclusive_buffers))
    assert subpartition.add(Buffer(()))
    assert subpartition.poll() == polled


def test_what_is_not_allowed_is_a_state_error(subpartition):
    subpartition.attach_view()
    for wrong in (subpartition.attach_view, subpartition.resume, lambda: subpartition.append((1,))):
        with pytest.raises(PortError) as caught:
            wrong()
        assert caught.value.kind is ErrorKind.STATE
    subpartition.release()
    with pytest.raises(PortError, match="IllegalStateException") as caught:
        subpartition.attach_view()
    assert caught.value.kind is ErrorKind.STATE


def test_messages_are_the_same_in_every_run(flink):
    calls = [("new",), ("attach_view",), ("attach_view",)]
    first, second = (flink.batch("subpartition", SubpartitionConfig(), calls)[-1] for _ in range(2))
    assert "already has been" in first.error.reason
    assert first == second


def test_a_configuration_that_flink_refuses_is_reported(flink):
    with pytest.raises(PortError, match=r"refused 'open': Flink does not accept .*non-negative"):
        flink.components()["subpartition"](SubpartitionConfig(-1))


def test_after_the_end_and_after_release_everything_is_given_back(subpartition):
    subpartition.attach_view()
    subpartition.add(Buffer((1,), finished=False))
    subpartition.finish_buffer()
    subpartition.finish()
    assert subpartition.add(Buffer((2,))) is False
    assert subpartition.resources() == Resources(1, listeners=1, futures=0)
    subpartition.release()
    assert subpartition.add(Buffer((3,), finished=False)) is False
    assert subpartition.poll() is None
    assert subpartition.available(True) == subpartition.available(False) == Availability(False, 0)
    for harmless in (subpartition.release, subpartition.flush, subpartition.finish):
        harmless()
    subpartition.aligned_timeout(1)
    assert subpartition.resources() == Resources(0, listeners=0, futures=0)


def test_the_deque_distinguishes_equal_items(flink):
    deque = flink.components()["deque"](DequeConfig())
    for handle in range(3):
        deque.add(Item(handle, label=7))
    deque.prioritize(2)
    deque.add_priority(Item(3, label=7))
    assert (deque.items(), deque.count_priority()) == ((2, 3, 0, 1), 2)
    assert (deque.contains_priority(2), deque.contains_priority(0)) == (True, False)
    deque.remove(2)
    assert (deque.poll(), deque.count_priority(), deque.items()) == (3, 0, (0, 1))
    deque.release()
    assert deque.poll() is None


def test_a_scenario_in_one_message_has_the_same_outcomes(flink):
    calls: list[tuple[Any, ...]] = [
        ("new",),
        ("attach_view",),
        ("add", Buffer((1,))),
        ("add", Barrier(1, UNALIGNED)),
        ("resume",),
        ("poll",),
        ("persisted", 1),
        ("release",),
        ("new",),
        ("resources",),
    ]
    outcomes = flink.batch("subpartition", SubpartitionConfig(), calls)
    make = flink.components()["subpartition"]
    for call, outcome in zip(calls, outcomes, strict=True):
        if call[0] == "new":
            port = make(SubpartitionConfig())
            continue
        method, *arguments = call
        if outcome.error is None:
            assert getattr(port, method)(*arguments) == outcome.value
        else:
            with pytest.raises(PortError, match=outcome.error.reason) as caught:
                getattr(port, method)(*arguments)
            assert caught.value.kind is outcome.error.kind
        assert taken_signals(port) == list(outcome.signals)
