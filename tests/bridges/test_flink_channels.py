"""Channels, gates and the persister of released Flink: what was looked into by hand, and what the suite finds."""

from __future__ import annotations

import json
import os
import signal

import pytest

from conformance.bridges.flink import RELEASES
from conformance.cli import main
from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines import reduce
from conformance.engines.batch import searching
from conformance.engines.search import seeds
from conformance.ports import (
    CHANNEL_RELEASE,
    CHANNEL_STATE_WRITER,
    SUBPARTITION_REQUEST,
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    BufferOrEvent,
    Capability,
    ChannelConfig,
    ChannelKind,
    CheckpointReason,
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    ErrorKind,
    Event,
    FaultKind,
    FaultStruck,
    GateConfig,
    PersisterConfig,
    PortError,
    PriorityAvailable,
    Recovery,
    RecoveryCompletion,
    StateConsumed,
    TaskRestoreConfig,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

OFFERED = (
    "deque", "subpartition", "persister", "recovered-channel", "local-channel", "remote-channel", "gate",
    "barrier-handler", "writer", "subtask-checkpoint", "consumer-loop", "task-restore",
)  # fmt: skip
IN_MEMORY = Capability.RECOVERS_IN_MEMORY
LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE


def unaligned(checkpoint):
    return Barrier(checkpoint, Alignment.UNALIGNED)


def heard(port):
    signals, port.signals = port.signals, []
    return signals


@pytest.fixture
def port(flink):
    """Makes a port of a component."""
    return lambda component, config: flink.components()[component](config)


@pytest.fixture
def newest(flink):
    """The releases that hand recovered buffers over."""
    if IN_MEMORY not in flink.capabilities:
        pytest.skip(f"{flink.version} does not hand recovered buffers over to physical channels")
    return flink


# ---- faults
def test_a_remote_channel_asks_again_for_a_partition_that_is_not_there_yet(port):
    """remote-channel.md R37. The request that Flink repeats is refused, too, so it has gone out."""
    refusal = FaultStruck(SUBPARTITION_REQUEST, FaultKind.REFUSES)
    channel = port("remote-channel", ChannelConfig())
    for _ in range(3):
        assert channel.fault(SUBPARTITION_REQUEST, FaultKind.REFUSES, 1)
        channel.request()
        assert refusal in heard(channel)
    channel.request()
    assert heard(channel) == []
    channel.receive(Buffer((0,)), 0, -1)
    assert channel.take().element == Buffer((0,))


# ---- what is offered -------------------------------------------------------------------------------------------------
def test_it_offers_what_was_released(flink):
    assert tuple(flink.components()) == (*OFFERED, "assignment", "filter")
    assert Capability.RECOVERS_FIRST in flink.capabilities
    assert (IN_MEMORY in flink.capabilities) == (flink.version == "2.3.0")
    assert Capability.RECOVERS_BY_PUSHING not in flink.capabilities


DOES_NOT_RECOVER = {
    "deque", "persister", "subpartition", "barrier-handler", "writer", "subtask-checkpoint", "consumer-loop",
}  # fmt: skip


@pytest.mark.parametrize("component", [one for one in OFFERED if one not in DOES_NOT_RECOVER])
def test_what_is_not_offered_is_refused_with_a_reason(port, component):
    opened = {
        "task-restore": TaskRestoreConfig((1,), ((),), (), Recovery.PUSHED),
        "gate": GateConfig(((LOCAL,),), Recovery.PUSHED),
    }.get(component, ChannelConfig(Recovery.PUSHED))
    with pytest.raises(PortError, match="no release pushes recovered buffers"):
        port(component, opened)


# ---- by hand ---------------------------------------------------------------------------------------------------------
def test_a_persister_writes_what_is_known_and_what_arrives_before_the_barrier(port):
    persister = port("persister", PersisterConfig())
    persister.start(1, (10, 11))
    persister.maybe_persist(Buffer((12,)))
    persister.maybe_persist(Event(0))
    assert persister.barrier(Announcement(1, 0)) == 1
    assert not persister.barrier_received()
    assert persister.barrier(unaligned(1)) == 1
    assert persister.barrier_received()
    persister.maybe_persist(Buffer((13,)))
    assert persister.persisted(1) == (10, 11, 12)
    assert persister.barrier(unaligned(0)) is None


def test_of_the_calls_of_a_persister_the_one_fails_that_is_to_fail(port):
    persister = port("persister", PersisterConfig())
    assert not persister.fault(CHANNEL_STATE_WRITER, FaultKind.ENDS, 1)
    assert not persister.fault(SUBPARTITION_REQUEST, FaultKind.THROWS, 1)
    assert persister.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS, 3)
    persister.start(1, (10, 11))
    persister.maybe_persist(Buffer((12,)))
    assert heard(persister) == []
    with pytest.raises(PortError) as failed:
        persister.maybe_persist(Buffer((13,)))
    assert failed.value.kind is ErrorKind.IO
    assert heard(persister) == [FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)]
    persister.maybe_persist(Buffer((14,)))
    assert persister.persisted(1) == (10, 11, 12, 14)
    assert persister.resources().segments == 0


def test_a_recovered_channel_declines_and_is_converted_when_all_is_consumed(port):
    channel = port("recovered-channel", ChannelConfig(Recovery.RECOVER_FIRST))
    channel.push_recovered(Buffer((0,)))
    with pytest.raises(PortError) as declined:
        channel.checkpoint_started(unaligned(1))
    assert declined.value.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    channel.finish_recovered()
    with pytest.raises(PortError) as refused:
        channel.convert()
    assert refused.value.kind is ErrorKind.STATE
    taken = channel.take()
    assert (taken.element, taken.seq) == (Buffer((0,)), -(2**31))
    assert channel.take() is None
    assert StateConsumed(0) in heard(channel)
    assert channel.convert() == ()
    assert channel.resources().segments == 0


def test_a_recovered_channel_hands_over_what_is_left(newest, port):
    channel = port("recovered-channel", ChannelConfig(Recovery.IN_MEMORY))
    for record in range(3):
        channel.push_recovered(Buffer((record,)))
    channel.take()
    channel.finish_recovered()
    assert channel.convert() == (1, 2)


def test_a_remote_channel_gives_credit_and_resumes_the_producer(port):
    channel = port("remote-channel", ChannelConfig())
    channel.request()
    channel.receive(Buffer((0,)), 0, 2)
    assert DataAvailable() in channel.signals
    assert sum(one.credit for one in heard(channel) if isinstance(one, CreditAnnounced)) == 2
    assert channel.free_for_live() == 3
    assert channel.take().element == Buffer((0,))
    channel.receive(Barrier(1, Alignment.ALIGNED), 1, 0)
    channel.resume()
    assert ConsumptionResumed(0) in heard(channel)
    channel.recycle(1)
    channel.release()
    assert channel.resources().segments == 0


def test_an_element_out_of_order_loses_the_connection(port):
    channel = port("remote-channel", ChannelConfig())
    channel.request()
    channel.receive(Event(0), 1, -1)
    assert heard(channel) == [DataAvailable()]
    for _ in range(2):  # the channel keeps the error
        with pytest.raises(PortError) as error:
            channel.take()
        assert error.value.kind is ErrorKind.REORDERING


def test_an_announced_barrier_overtakes(port):
    channel = port("remote-channel", ChannelConfig())
    channel.request()
    channel.receive(Buffer((0,)), 0, -1)
    channel.receive(Barrier(1, Alignment.TIMEOUTABLE), 1, 0)
    assert PriorityAvailable(1) in heard(channel)
    assert channel.take().element == Announcement(1, 1)
    channel.convert_to_priority(1)
    assert channel.take().element == unaligned(1)
    assert channel.take().element == Buffer((0,))


@pytest.mark.parametrize("early", ["convert", "request_partitions"])
def test_a_gate_that_converts_too_early_keeps_the_error_for_its_reader(port, early):
    gate = port("gate", GateConfig(((LOCAL, REMOTE),), Recovery.RECOVER_FIRST))
    getattr(gate, early)()
    assert DataAvailable() in heard(gate)
    with pytest.raises(PortError) as error:
        gate.poll()
    assert error.value.kind is ErrorKind.STATE


def test_a_gate_converts_when_all_state_is_consumed(port):
    gate = port("gate", GateConfig(((LOCAL, REMOTE),), Recovery.RECOVER_FIRST))
    gate.recover(1, Buffer((5,)))
    for channel in (0, 1):
        gate.finish_recovery(channel)
    assert gate.poll().element == Buffer((5,))
    assert gate.poll() is None
    assert [one for one in heard(gate) if isinstance(one, StateConsumed)] == [StateConsumed(0), StateConsumed(1)]
    gate.convert(0)
    gate.request_partitions(0)
    for channel in (0, 1):
        gate.arrive(channel, RecoveryCompletion(), -1)
        assert gate.poll().element == RecoveryCompletion()
    heard(gate)
    gate.end_of_output_state(0)
    assert heard(gate) == []
    gate.end_of_output_state(1)
    assert ConsumptionResumed(1) in heard(gate)
    gate.release()
    assert gate.resources().segments == gate.resources().listeners == 0


def test_the_writer_fails_in_the_poll_of_a_gate(port):
    gate = port("gate", GateConfig(((LOCAL, REMOTE),)))
    gate.request_partitions(0)
    gate.checkpoint_started(unaligned(1))
    gate.arrive(0, Buffer((0,)), -1)
    heard(gate)
    assert gate.fault("channel-state-writer", FaultKind.THROWS, 1)
    with pytest.raises(PortError) as error:
        gate.poll()
    assert error.value.kind is ErrorKind.IO
    assert heard(gate) == [FaultStruck("channel-state-writer", FaultKind.THROWS)]
    gate.release()
    assert gate.resources().segments == 1  # nobody has the buffer that was taken


def test_a_gate_keeps_the_error_of_an_arrival_for_its_reader(port):
    gate = port("gate", GateConfig(((LOCAL, REMOTE),)))
    gate.request_partitions(0)
    gate.checkpoint_started(unaligned(1))
    while gate.poll() is not None:
        pass
    heard(gate)
    gate.fault("channel-state-writer", FaultKind.THROWS, 1)
    with pytest.raises(PortError):
        gate.arrive(1, Buffer((0,)), -1)
    assert {DataAvailable(), FaultStruck("channel-state-writer", FaultKind.THROWS)} == set(heard(gate))
    with pytest.raises(PortError) as error:
        gate.poll()
    assert error.value.kind is ErrorKind.IO
    gate.release()
    assert gate.resources().segments == 0
    assert gate.persisted(1) == ((), ())


@pytest.mark.parametrize("kind", [LOCAL, REMOTE])
@pytest.mark.parametrize("gates", [1, 2])
def test_a_subpartition_that_cannot_be_requested_fails_the_poll(port, gates, kind):
    opened = port("gate", GateConfig(((kind,),) * gates))
    assert opened.fault("subpartition-request", FaultKind.THROWS, 1)
    opened.request_partitions(gates - 1)
    assert set(heard(opened)) == {DataAvailable(), FaultStruck("subpartition-request", FaultKind.THROWS)}
    with pytest.raises(PortError) as error:
        opened.poll()
    assert error.value.kind is ErrorKind.IO
    opened.release()
    assert opened.resources().segments == opened.resources().listeners == 0


@pytest.mark.parametrize("convert", ["convert", "request_partitions"])
def test_a_conversion_without_buffers_fails_the_poll(port, convert):
    gate = port("gate", GateConfig(((LOCAL, REMOTE),), Recovery.RECOVER_FIRST))
    for channel in (0, 1):
        gate.finish_recovery(channel)
    assert gate.poll() is None
    heard(gate)
    assert gate.fault("network-buffer-pool", FaultKind.THROWS, 1)
    getattr(gate, convert)(0)
    assert FaultStruck("network-buffer-pool", FaultKind.THROWS) in heard(gate)
    with pytest.raises(PortError) as error:
        gate.poll()
    assert error.value.kind is ErrorKind.IO
    gate.release()
    assert gate.resources().segments == 0


@pytest.mark.parametrize("gates", [1, 2])
def test_a_conversion_without_buffers_loses_recovered_buffers(newest, port, gates):
    """No ticket is known: the buffers are in the queue of a remote channel that nobody releases."""
    opened = port("gate", GateConfig(((LOCAL, REMOTE),) * gates, Recovery.IN_MEMORY))
    for record in range(3):
        opened.recover(1, Buffer((record,)))
    for channel in range(2):
        opened.finish_recovery(channel)
    opened.fault("network-buffer-pool", FaultKind.THROWS, 1)
    opened.convert(0)
    opened.release()
    assert opened.resources().segments == 3


@pytest.mark.parametrize("gates", [1, 2])
def test_a_gate_says_what_it_cannot_let_fail(port, gates):
    opened = port("gate", GateConfig(((LOCAL, REMOTE),) * gates))
    possible = [
        (place, kind)
        for place in (
            "channel-state-writer",
            "subpartition-request",
            "network-buffer-pool",
            "connection",
            CHANNEL_RELEASE,
        )
        for kind in (FaultKind.THROWS, FaultKind.REFUSES)
        if opened.fault(place, kind, 1)
    ]
    never = {CHANNEL_RELEASE} if gates == 1 else {CHANNEL_RELEASE, "channel-state-writer"}
    places = [place for place in type(opened).can_fail if place not in never]
    assert possible == [(place, FaultKind.THROWS) for place in places]


def test_a_union_numbers_channels_through(port):
    union = port("gate", GateConfig(((LOCAL,), (LOCAL, REMOTE))))
    for gate in (0, 1):
        union.request_partitions(gate)
    union.arrive(2, Buffer((7,)))
    assert union.available()
    found = [one for one in (union.poll(), union.poll(), union.poll()) if one is not None]
    assert found == [BufferOrEvent(2, Buffer((7,)), more=False, more_priority=False)]


# ---- what the suite finds --------------------------------------------------------------------------------------------
@pytest.fixture
def broken_alike(newest):
    """Reduces the first of so many random scenarios that breaks a property of a component."""

    def find(component, slug, scenarios):
        program = Program(COMPONENTS[component], newest)
        search = searching(program)
        for text in seeds(0, component, range(scenarios)):
            scenario, run = search.run(text)
            if run.violation is not None and run.violation.property.slug == slug:
                return reduce(program, scenario, 2000)
        return None

    return find


def test_flink_40016_is_found_reduced_and_fixed_in_the_reference(newest, broken_alike, tmp_path):
    found = broken_alike("local-channel", "recovered-data-is-written-as-the-checkpoint-starts", 2000)
    assert found is not None
    assert len(found.scenario.steps) <= 4
    assert found.signature[1] == "duplicated"
    statuses = check(tmp_path, "--component", "local-channel", "--scenarios", "200"), *replayed(tmp_path)
    assert statuses == (1, 1, 0)


def check(folder, *options):
    return status("check", "--implementation", "flink-component@2.3.0", *options, "--bug-reports", str(folder / "bugs"))


def replayed(folder):
    """The exit statuses of a replay of the bug report folder, on the release and on the reference."""
    scenario, *_ = (  # the same defect may also be reported as it shows after a restore
        path
        for path in sorted((folder / "bugs").rglob("scenario.json"))
        if json.loads(path.read_text(encoding="utf-8"))["finding"]["failure_class"] == "duplicated"
    )
    return [
        status("replay", str(scenario), "--implementation", name) for name in ("flink-component@2.3.0", "reference")
    ]


def status(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code or 0


def test_a_subsumed_start_keeps_copies_of_recovered_buffers(newest):
    """No ticket is known: the copies are made before it is seen that a newer barrier is here, and nobody frees them."""
    component = COMPONENTS["local-channel"]
    config = component.config_type(Recovery.IN_MEMORY, handed_over=1)
    steps = (("request_subpartition",), ("unaligned_barrier", 2), ("take",), ("checkpoint_started", 1))
    run = run_scenario(Program(component, newest), config, steps)
    assert run.violation is not None
    assert run.violation.signature == (
        "no-resource-is-leaked-while-open", "leaked", "resources"
    )  # fmt: skip


# ---- losing a JVM ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("component", ["gate", "subpartition"])
def test_a_killed_jvm_costs_one_scenario_and_is_reported(flink, component):
    program = Program(COMPONENTS[component], flink)
    search = searching(program)
    verdicts = []
    for number, text in enumerate(seeds("killed", component, range(30))):
        if number == 10:
            send = flink.client.request

            def kill_first(message, send=send):
                flink.client.request = send
                os.kill(flink.client._child._started.pid, signal.SIGKILL)
                return send(message)

            flink.client.request = kill_first
        verdicts.append(search.run(text)[1].violation)
    (lost,) = [one for one in verdicts if one is not None and one.broken.failure_class.value == "crashed"]
    assert verdicts[10] is lost
    assert "SIGKILL" in lost.broken.observed


def test_each_release_is_its_own_process(jvms):
    pids = {jvms[version].client.greeting.version: jvms[version].client._child._started.pid for version in RELEASES}
    assert len(set(pids.values())) == len(RELEASES)
