"""The union of gates, rule by rule of gate.md, and its races, stepped by hand."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.components.gate import GateScenarioConfig
from conformance.driver import Program, run_scenario
from conformance.driver.turns import whole
from conformance.ports import (
    CHANNEL_RELEASE,
    SUBPARTITION_REQUEST,
    Alignment,
    Barrier,
    Buffer,
    ChannelKind,
    ConsumptionResumed,
    DataAvailable,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    FaultKind,
    FaultStruck,
    GateConfig,
    PortError,
    PriorityAvailable,
    Recovery,
    StateConsumed,
)
from conformance.scheduling import Lock
from reference_impl import PUSHED
from reference_impl.network.channel_info import ChannelInfo, numbering
from reference_impl.network.gate import Gate
from reference_impl.network.listener import GateListener
from reference_impl.network.union_gate import Union, UnionGate
from tests.implementations import changed_reference, with_parts

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
TWO = ((LOCAL,), (REMOTE,))


def fresh(gates=TWO, recovery=Recovery.NONE) -> UnionGate:
    made = UnionGate(GateConfig(gates, recovery), PUSHED)
    if recovery is Recovery.NONE:
        for gate in range(len(gates)):
            whole(made.request_partitions(gate))
    return made


def send(one: UnionGate, channel: int, *elements) -> None:
    for element in elements:
        whole(one.arrive(channel, Buffer((element,)) if isinstance(element, int) else element))


def barrier(alignment=Alignment.UNALIGNED) -> Barrier:
    return Barrier(1, alignment)


def poll(one: UnionGate):
    return whole(one.poll())


def polled(one: UnionGate, count: int) -> list[object]:
    """Channel and record, or element, of so many polls; None for an empty one."""
    found: list[object] = []
    for _ in range(count):
        taken = poll(one)
        if taken is not None:
            element = taken.element
            found.append((taken.channel, element.ids[0] if isinstance(element, Buffer) else element))
        else:
            found.append(None)
    return found


def signals(one: UnionGate) -> list[object]:
    told: list[object] = list(one.signals)
    one.signals.clear()
    return told


def test_channels_are_numbered_through_all_gates():
    """gate.md U7, U9, U13."""
    one = fresh(((LOCAL, REMOTE), (REMOTE,), (LOCAL,)))
    for channel in (3, 2, 1, 0):
        send(one, channel, channel)
    assert polled(one, 5) == [(3, 3), (2, 2), (1, 1), (0, 0), None]


def test_only_the_first_gate_with_data_is_announced():
    """gate.md U1, U4, U14."""
    one = fresh()
    send(one, 0, 0)
    assert signals(one) == [DataAvailable()]
    send(one, 1, 1)
    send(one, 0, 2)
    assert signals(one) == []
    assert one.available()


def test_gates_are_polled_in_turn_and_say_whether_more_is_there():
    """gate.md U6 to U9, I-30."""
    one = fresh()
    send(one, 0, 0, 1, 2)
    send(one, 1, 3, 4)
    taken = [poll(one) for _ in range(5)]
    assert [each.element.ids[0] for each in taken] == [0, 3, 1, 4, 2]
    assert [each.more for each in taken] == [True, True, True, True, False]
    assert not one.available()
    assert poll(one) is None


def test_a_priority_event_moves_its_queued_gate_up():
    """gate.md U2, U4, U8."""
    one = fresh()
    send(one, 0, 0)
    send(one, 1, 1)
    signals(one)
    send(one, 1, barrier())
    assert signals(one) == [PriorityAvailable(-1)]
    assert polled(one, 3) == [(1, barrier()), (0, 0), (1, 1)]


def test_the_poll_of_a_first_priority_event_announces_that_of_a_second_gate():
    """gate.md U2, U9."""
    one = fresh()
    send(one, 1, 1, barrier())
    send(one, 0, 0, barrier())
    assert signals(one).count(PriorityAvailable(-1)) == 1
    first, second = poll(one), poll(one)
    assert (first.channel, first.more_priority) == (1, True)
    assert (second.channel, second.more_priority) == (0, False)
    assert polled(one, 2) == [(1, 1), (0, 0)]


def test_a_gate_whose_recovered_data_ended_makes_an_empty_poll():
    """gate.md U5, U10, U11."""
    one = fresh(recovery=Recovery.RECOVER_FIRST)
    whole(one.recover(1, Buffer((7,))))
    whole(one.finish_recovery(1))
    assert polled(one, 1) == [(1, 7)]
    assert one.available()
    assert polled(one, 1) == [None]
    assert StateConsumed(1) in signals(one)
    assert not one.available()


def test_a_gate_converts_although_another_was_never_read():
    """gate.md U12."""
    one = fresh(recovery=Recovery.RECOVER_FIRST)
    whole(one.recover(0, Buffer((7,))))
    whole(one.finish_recovery(1))
    polled(one, 2)
    whole(one.convert(1))
    whole(one.request_partitions(1))
    send(one, 1, 8)
    assert (1, 8) in polled(one, 2)


@pytest.mark.parametrize("recovery", [Recovery.RECOVER_FIRST, Recovery.IN_MEMORY])
def test_unread_state_is_not_converted_away(recovery):
    """gate.md U12."""
    one = fresh(recovery=recovery)
    whole(one.recover(0, Buffer((7,))))
    with pytest.raises(PortError) as raised:
        whole(one.convert(0))
    assert raised.value.kind is ErrorKind.STATE
    assert polled(one, 1) == [(0, 7)]


def test_what_is_left_in_memory_is_read_after_the_conversion():
    """gate.md U11 to U13."""
    one = fresh(recovery=Recovery.IN_MEMORY)
    for record in (7, 8):
        whole(one.recover(0, Buffer((record,))))
    whole(one.finish_recovery(0))
    assert polled(one, 1) == [(0, 7)]
    whole(one.convert(0))
    whole(one.request_partitions(0))
    send(one, 0, 9)
    assert polled(one, 2) == [(0, 8), (0, 9)]


def test_the_union_ends_with_its_last_gate():
    """gate.md U3, U6, U9, U14."""
    one = fresh()
    for channel in (0, 1):
        send(one, channel, EndOfData(), EndOfPartition())
    signals(one)
    ends = [poll(one) for _ in range(4)]
    assert [each.more for each in ends] == [True, True, True, False]
    assert signals(one) == [DataAvailable()]
    assert one.finished()
    assert one.available()
    assert poll(one) is None
    assert one.available()


def test_the_producer_behind_the_channel_is_resumed():
    """gate.md U5, U13."""
    one = fresh(((LOCAL, REMOTE), (REMOTE,)))
    send(one, 2, barrier(Alignment.ALIGNED))
    poll(one)
    signals(one)
    whole(one.resume(2))
    assert signals(one) == [ConsumptionResumed(2)]


def test_a_blocked_local_channel_gives_more_once_it_is_resumed():
    """gate.md U1, U10, U13."""
    one = fresh()
    send(one, 0, barrier(Alignment.ALIGNED), 0)
    assert polled(one, 2) == [(0, barrier(Alignment.ALIGNED)), None]
    signals(one)
    whole(one.resume(0))
    assert signals(one) == [DataAvailable()]
    assert polled(one, 1) == [(0, 0)]


def test_release_is_idempotent_and_gives_everything_back():
    """gate.md U6, U14, U15."""
    one = fresh(recovery=Recovery.IN_MEMORY)
    whole(one.recover(0, Buffer((7,))))
    for _ in range(2):
        whole(one.release())
        held = one.resources()
        assert (held.segments, held.heap, held.files, held.listeners, held.futures) == (0, 0, 0, 0, 0)
    whole(one.recover(0, Buffer((8,))))
    assert poll(one) is None


def test_a_release_goes_on_behind_a_gate_whose_release_fails_and_another_one_finishes_it():
    """gate.md U15, G33."""
    one = fresh()
    for channel in (0, 1):
        send(one, channel, channel)
    one.fault(CHANNEL_RELEASE, FaultKind.THROWS)
    with pytest.raises(PortError) as raised:
        whole(one.release())
    assert raised.value.kind is ErrorKind.IO
    assert [gate.in_use(0) for gate in one.gates] == [1, 0]
    whole(one.release())
    held = one.resources()
    assert (held.segments, held.heap, held.files, held.listeners, held.futures) == (0, 0, 0, 0, 0)


# ---- races -----------------------------------------------------------------------------------------------------------
LIVE = [("request_partitions", 0), ("finish", "task"), ("request_partitions", 1), ("finish", "task")]


def run_fine(steps, recovery=Recovery.NONE, part=UnionGate):
    """The run of a fine scenario of two gates with a local channel each; every step must be enabled."""
    made = changed_reference(part) if isinstance(part, str) else with_parts("hand-made", gate=part)
    program = Program(COMPONENTS["gate"], made)
    config = GateScenarioConfig(((LOCAL,), (LOCAL,)), recovery, 3, "fine")
    run = run_scenario(program, config, steps, record=True)
    assert all(one.outcome is not None for one in run.entries)
    return run


def race(steps, part=UnionGate):
    """The same without recovery, once both gates are live."""
    return run_fine([*LIVE, *steps], part=part)


def answers(run) -> list[object]:
    """What the polls before the drain returned: the channel, or None."""
    entries = [one for one in run.entries if not one.closing and one.outcome is not None]
    found: list[object] = []
    polling = False
    for one in entries:
        if one.step[0] == "poll":
            polling = True
        if polling and one.outcome.paused_at is None and (one.step[0] == "poll" or one.step[1:] == ("task",)):
            found.append(None if one.outcome.value is None else one.outcome.value.channel)
            polling = False
    return found


def test_what_comes_into_a_gate_while_it_is_polled_is_not_forgotten():
    """gate.md U7, U8."""
    steps = [
        ("buffer", 0), ("finish", "network"),
        ("poll",), ("run", "task", "gate lock"), ("run", "task", "local channel 0 lock"),
        ("run", "task", "subpartition 0 lock"), ("run", "task", "union lock"),
        ("buffer", 0), ("finish", "network"),
        ("finish", "task"), ("poll",), ("finish", "task"),
    ]  # fmt: skip
    run = race(steps)
    assert run.violation is None
    assert answers(run) == [0, 0]


def test_a_gate_that_notifies_while_it_is_polled_stands_in_the_queue_once():
    """gate.md U1, U2, U8."""
    steps = [
        ("buffer", 0), ("finish", "network"), ("buffer", 1), ("finish", "network"),
        ("poll",), ("run", "task", "gate lock"),
        ("buffer", 0), ("finish", "network"), ("unaligned_barrier", 0, 1), ("finish", "network"),
        ("finish", "task"),
        ("poll",), ("finish", "task"), ("poll",), ("finish", "task"),
    ]  # fmt: skip
    run = race(steps)
    assert run.violation is None
    assert answers(run) == [0, 1, 0]


BELIEVES_LATE_NOTIFICATIONS = """
--- network/union_gate.py
@@ async def gate_available
-            changed = self.enqueue(gate, priority and gate.has_priority())
+            changed = self.enqueue(gate, priority)
"""


def test_a_priority_notification_that_comes_late_puts_nobody_in_front():
    """gate.md U2, I-30."""
    steps = [
        ("buffer", 0), ("finish", "network"), ("buffer", 0), ("finish", "network"),
        ("unaligned_barrier", 0, 1), ("run", "network", "gate lock"), ("run", "network", "outside the gate lock"),
        ("poll",), ("finish", "task"),  # takes the barrier before the union is notified of it
        ("finish", "network"),
        ("unaligned_barrier", 1, 1), ("finish", "network"),
        ("poll",), ("finish", "task"),
    ]  # fmt: skip
    run = race(steps)
    assert run.violation is None
    assert answers(run) == [0, 1]
    broken = race(steps, BELIEVES_LATE_NOTIFICATIONS).violation
    assert broken is not None
    assert broken.property.slug == "priority-events-come-first"


class TakesPriorityAsTold(UnionGate):
    def queue_again(self, gate, taken):
        super().queue_again(gate, taken)
        if gate.available():
            self.enqueue(gate, gate.has_priority())


@pytest.mark.parametrize("part", [UnionGate, TakesPriorityAsTold])
def test_a_priority_event_found_by_an_empty_poll_is_still_announced(part):
    """gate.md U2, U8. The conversion left a queued gate empty. The gate gets a priority event after its poll and
    before it is queued again."""
    steps = [
        ("finish_recovery", 0), ("finish", "recovery"), ("convert", 0), ("finish", "task"),
        ("request_partitions", 0), ("finish", "task"),
        ("poll",), ("run", "task", "gate lock"), ("run", "task", "union lock"),
        ("unaligned_barrier", 0, 1), ("run", "network", "gate lock"), ("run", "network", "outside the gate lock"),
        ("finish", "task"), ("finish", "network"),
    ]  # fmt: skip
    violation = run_fine(steps, Recovery.IN_MEMORY, part).violation
    assert (violation is None) is (part is UnionGate)


def test_the_error_that_a_gate_keeps_wakes_the_consumer_and_fails_the_poll_of_the_union():
    """gate.md U16."""
    one = UnionGate(GateConfig(TWO), PUSHED)
    one.fault(SUBPARTITION_REQUEST, FaultKind.THROWS)
    whole(one.request_partitions(0))
    assert signals(one) == [FaultStruck(SUBPARTITION_REQUEST, FaultKind.THROWS), DataAvailable()]
    whole(one.request_partitions(1))
    send(one, 1, 7)
    with pytest.raises(PortError) as failed:
        poll(one)
    assert failed.value.kind is ErrorKind.IO
    assert len(one.with_data) == 1  # the other gate, which keeps what it has
    whole(one.release())
    assert one.resources().segments == 0


def test_a_gate_that_is_polled_may_tell_the_union_something():
    """gate.md U3, U7. The poll that takes the end of the last channel of a gate reports the end of the gate."""
    steps = [("end_of_data", 0), ("finish", "network"), ("end_of_partition", 0), ("finish", "network")]
    run = race([*steps, ("poll",), ("finish", "task"), ("poll",), ("finish", "task"), ("finished",)])
    assert run.violation is None


def test_what_a_task_does_at_each_gate_goes_to_the_gate_of_the_channel_or_to_all():
    """gate.md U17."""
    one = fresh(((REMOTE,), (REMOTE, REMOTE)))
    send(one, 0, 1)
    send(one, 2, 2, 3)
    assert [one.in_use(channel) for channel in range(3)] == [1, 0, 2]
    whole(one.insert_recovery_barriers(1))
    whole(one.checkpoint_started(barrier()))
    assert one.persisted(1) == ((1,), (), (2, 3))
    whole(one.checkpoint_stopped(1))
    with pytest.raises(PortError):
        whole(one.convert_to_priority(2, 7))
    for channel in range(3):
        whole(one.end_of_output_state(channel))
    assert signals(one)[-3:] == [ConsumptionResumed(channel) for channel in range(3)]


def test_a_union_may_be_given_its_gates_and_a_listener():
    """gate.md U1, U5. A task makes the gates of its unions, and hears of them with gate and channel."""
    heard: list[object] = []

    class Heard:
        lock_type = Lock

        async def gate_available(self, gate: object, data: bool, priority: bool) -> None:
            heard.append((data, priority))

        def state_consumed(self, channel: ChannelInfo) -> None:
            heard.append(("consumed", channel))

        def consumption_resumed(self, channel: ChannelInfo) -> None:
            heard.append(("resumed", channel))

        def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
            heard.append((credit, channel))

    made: list[Gate] = []

    def make_gate(config: GateConfig, index: int, listener: GateListener) -> Gate:
        made.append(Gate(config, PUSHED, listener, index))
        return made[-1]

    config = GateConfig(((LOCAL,), (REMOTE,)), Recovery.NONE, 2, 0)
    union = Union(config, Heard(), make_gate, numbering((1, 1, 1, 1)), 2)
    assert union.gates == made
    for gate in union.gates:
        whole(gate.request_partitions())
    whole(made[1].arrive(0, Buffer((0,))))
    whole(made[1].resume(0))
    assert heard == [(True, False), ("resumed", ChannelInfo(3, 0))]
    polled = whole(union.poll())
    assert polled is not None
    assert union.polled(polled.channel) == ChannelInfo(3, 0)
