"""Faults: what is armed, what it strikes, and what is judged then."""

from __future__ import annotations

from typing import ClassVar

import pytest

from conformance.components import COMPONENTS
from conformance.components.local_channel import LocalChannelScenarioConfig
from conformance.components.persister import PersisterScenarioConfig
from conformance.driver import ANSWERS, Faults, Program, run_scenario
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    PRODUCER,
    Capability,
    Error,
    ErrorKind,
    FaultKind,
    FaultStruck,
    Places,
    PortError,
    Recovery,
)
from conformance.scenarios import Scenario, SchemaError, decode_scenario, encode_scenario
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.network.deque import Deque
from reference_impl.network.local_channel import LocalChannel
from reference_impl.state.persister import Persister
from tests import implementations as made

THROWS = FaultKind.THROWS
FAULT = ("fault", CHANNEL_STATE_WRITER, "throws", 1)
FAULTY = PersisterScenarioConfig(faults=True)


class Swallowing(Persister):
    """Loses the error of the channel state writer."""

    def maybe_persist(self, element):
        try:
            super().maybe_persist(element)
        except PortError:
            return


class Crashing(Persister):
    """Dies of the error of the channel state writer."""

    def maybe_persist(self, element):
        try:
            super().maybe_persist(element)
        except PortError as error:
            raise AttributeError("no such writer") from error


class Wrapping(Persister):
    """Fails with an error of another kind."""

    def maybe_persist(self, element):
        try:
            super().maybe_persist(element)
        except PortError as error:
            raise PortError(ErrorKind.STATE, "the channel is broken") from error


class Haunted(Persister):
    """Fails without a reason."""

    def maybe_persist(self, element):
        self.emit(FaultStruck(CHANNEL_STATE_WRITER, THROWS))
        raise PortError(ErrorKind.IO, "again")


class Silent(Persister):
    """Fails, and does not say that a fault has struck."""

    def emit(self, signal):
        return


def run(*steps, port=Persister, config=FAULTY):
    program = Program(COMPONENTS["persister"], made.with_parts("mine", persister=port))
    return run_scenario(program, config, steps, record=True)


def test_a_fault_strikes_the_next_call_and_no_other():
    done = run(("start", 1, 0), FAULT, ("event",), ("buffer",), ("persisted", 1), ("resources",))
    assert done.violation is None
    struck = next(one.outcome for one in done.entries if one.step == ("buffer",))
    assert struck.signals == (FaultStruck(CHANNEL_STATE_WRITER, THROWS),)
    assert struck.error == Error(ErrorKind.IO, "channel-state-writer failed")
    assert next(one.outcome for one in done.entries if one.step == ("persisted", 1)).value == ()


@pytest.mark.parametrize("nth", [2, 3])
def test_a_fault_strikes_the_call_that_it_names(nth):
    done = run(("start", 1, 0), (*FAULT[:3], nth), *[("buffer",)] * 4, ("persisted", 1))
    assert done.violation is None
    buffers = [one.outcome for one in done.entries if one.step == ("buffer",) and one.outcome is not None]
    assert [one.error is not None for one in buffers] == [False] * (nth - 1) + [True]
    assert next(one.outcome for one in done.entries if one.step == ("persisted", 1)).value == tuple(range(nth - 1))


def test_a_fault_of_an_older_file_strikes_the_next_call():
    text = encode_scenario(Scenario("persister", FAULTY, (("start", 1, 0), FAULT)))
    older = text.replace('"schema": 3', '"schema": 2').replace(", 1]\n  ]", "]\n  ]")
    assert '"throws"]' in older
    assert decode_scenario(older, COMPONENTS) == decode_scenario(text, COMPONENTS)
    with pytest.raises(SchemaError, match=r"'fault' takes 3 operands \(place, kind, nth\), found 2"):
        decode_scenario(older.replace('"schema": 2', '"schema": 3'), COMPONENTS)


def test_only_the_next_call_of_some_places_can_fail():
    faults = Faults({CHANNEL_STATE_WRITER: (THROWS, FaultKind.SLOW, FaultKind.ENDS), PRODUCER: (THROWS,)})
    calls = {place_and_kind: set(faults.calls(*place_and_kind)) for place_and_kind in faults.possible()}
    assert calls == {
        (CHANNEL_STATE_WRITER, "throws"): {1, 2, 3},
        (CHANNEL_STATE_WRITER, "slow"): {1},
        (CHANNEL_STATE_WRITER, "ends"): {1},
        (PRODUCER, "throws"): {1},
    }
    faults.leave_out(CHANNEL_STATE_WRITER, "throws", 2)
    assert set(faults.calls(CHANNEL_STATE_WRITER, "throws")) == {1}
    assert (CHANNEL_STATE_WRITER, "throws") in faults.possible()


def test_after_a_fault_has_struck_only_observers_are_called():
    done = run(
        FAULT, ("start", 1, 2), ("buffer",), ("barrier", 1), FAULT, ("barrier_received",), ("fail",), ("restore",)
    )
    assert [step[0] for step in done.performed] == ["fault", "start", "barrier_received", "fail", "restore"]


def test_a_fault_that_has_not_struck_is_gone_with_its_port():
    done = run(FAULT, ("fail",), ("restore",), FAULT, ("start", 1, 0), ("buffer",))
    assert [step[0] for step in done.performed].count("fault") == 2
    assert done.violation is None


def test_at_a_place_one_fault_is_armed_at_most():
    assert [step[0] for step in run(FAULT, FAULT).performed] == ["fault"]


def test_a_configuration_without_faults_has_none():
    assert not run(FAULT, config=PersisterScenarioConfig()).performed


@pytest.mark.parametrize("port", [Swallowing, Wrapping, Haunted])
def test_an_error_that_is_not_the_right_one_is_noticed(port):
    done = run(("start", 1, 0), *([] if port is Haunted else [FAULT]), ("buffer",), port=port)
    assert done.violation.property.slug == "an-operation-fails-with-what-it-calls"


@pytest.mark.parametrize("port", [Crashing, Silent])
def test_an_error_for_another_reason_is_not_legal(port):
    assert run(("start", 1, 0), FAULT, ("buffer",), port=port).violation.property.slug == ANSWERS


def test_an_implementation_that_does_not_claim_faults_is_not_asked_for_them():
    class Without(Reference):
        capabilities = frozenset(Capability) - {Capability.FAULTS}

    program = Program(COMPONENTS["persister"], Without("mine", PUSHED))
    assert program.configs
    assert not any(one.faults for one in program.configs)


def test_a_port_that_calls_nothing_that_can_fail_says_so():
    with pytest.raises(PortError, match="must not claim"):
        Deque().fault(CHANNEL_STATE_WRITER, THROWS)


def test_what_is_armed_cannot_be_armed_again_until_it_has_struck():
    faults = Faults({"a": (THROWS,), "b": (THROWS,)})
    faults.arm("a", THROWS)
    assert faults.possible() == [("b", "throws")]
    faults.struck([FaultStruck("a", THROWS), FaultStruck("b", THROWS)])
    assert faults.possible() == [("a", "throws"), ("b", "throws")]
    assert Faults({}).possible() == ()


def test_a_slow_call_is_no_failure_and_can_be_asked_for_again():
    faults = Faults({"a": (FaultKind.SLOW, THROWS)})
    faults.arm("a", FaultKind.SLOW)
    assert faults.possible() == [("a", "slow"), ("a", "throws")]


class Unable(Persister):
    """Cannot let the channel state writer fail."""

    def fault(self, place, kind, nth=1):
        return False


def test_an_implementation_is_not_asked_again_for_what_it_cannot_let_fail():
    done = run(FAULT, FAULT, ("start", 1, 0), ("buffer",), ("fail",), ("restore",), FAULT, port=Unable)
    assert done.violation is None
    assert [step[0] for step in done.performed] == ["fault", "start", "buffer", "fail", "restore", "fault"]


def test_only_fine_scenarios_have_slow_calls():
    class Slow(Persister):
        can_fail: ClassVar[Places] = {"a": (FaultKind.SLOW, THROWS)}

    assert FAULTY.can_fail(Slow) == {"a": (THROWS,)}
    assert FAULTY.can_fail(Slow, fine=True) == Slow.can_fail
    assert PersisterScenarioConfig().can_fail(Slow, fine=True) == {}


class Upset(LocalChannel):
    """A push ends with an error if the start of a checkpoint has begun meanwhile."""

    upset = False

    async def push_recovered(self, data):
        await super().push_recovered(data)
        if self.upset:
            raise PortError(ErrorKind.STATE, "the task fails")

    async def checkpoint_started(self, barrier):
        self.upset = True
        await super().checkpoint_started(barrier)


@pytest.mark.parametrize("port", [LocalChannel, Upset])
def test_an_operation_that_is_in_flight_when_the_task_fails_ends_and_is_not_judged(port):
    steps = (
        *(("request_subpartition",), ("finish", "task"), ("push_recovered",), ("finish", "recovery")),
        *(("insert_recovery_barrier", 1), ("finish", "task"), FAULT, ("push_recovered",), ("run", "recovery", "")),
        *(("checkpoint_started", 1), ("finish", "task"), ("finish", "recovery")),
    )
    config = LocalChannelScenarioConfig(Recovery.PUSHED, interleaving="fine", faults=True)
    program = Program(COMPONENTS["local-channel"], made.with_parts("mine", local_channel=port))
    done = run_scenario(program, config, steps, record=True)
    assert done.violation is None
    assert list(done.performed[-2:]) == [("finish", "task"), ("finish", "recovery")]
    outcomes = [one.outcome for one in done.entries if one.step == ("finish", "recovery") and one.outcome is not None]
    assert (outcomes[-1].error is None) is (port is LocalChannel)


def test_the_task_is_about_to_release_a_channel_that_has_failed():
    steps = (
        ("request_subpartition",),
        ("checkpoint_started", 1),
        ("add_buffer",),
        FAULT,
        ("take",),
        ("take",),
        ("add_buffer",),
    )
    program = Program(COMPONENTS["local-channel"], made.reference())
    done = run_scenario(program, LocalChannelScenarioConfig(faults=True), [*steps, ("release",)], record=True)
    assert done.violation is None
    assert [step[0] for step in done.performed][-3:] == ["fault", "take", "release"]
    assert [one.step[0] for one in done.entries if one.closing] == [
        "persisted", "resources", "fail", "resources", "fail", "resources",
    ]  # fmt: skip


def test_the_canceler_releases_a_port_while_the_task_is_in_the_middle_of_an_operation():
    steps = [("request_subpartition",), ("cancel",), ("finish", "canceler"), ("resources",), ("finish", "task")]
    program = Program(COMPONENTS["local-channel"], made.reference())
    done = run_scenario(program, LocalChannelScenarioConfig(interleaving="fine"), steps, record=True)
    assert done.violation is None
    late = next(one.outcome for one in done.entries if one.step == ("finish", "task"))
    assert late is not None
    assert late.error == Error(ErrorKind.STATE, "the channel is released")


@pytest.mark.parametrize("first", ["task", "canceler"])
def test_a_port_is_released_when_the_last_of_two_releases_is_over(first):
    last = "canceler" if first == "task" else "task"
    begin = [("release",), ("cancel",)] if first == "task" else [("cancel",), ("release",)]
    steps = [
        *begin,
        ("finish", first),
        ("add_buffer",),
        ("finish", last),
        ("add_buffer",),
        ("finish", "producer"),
    ]
    program = Program(COMPONENTS["local-channel"], made.reference())
    done = run_scenario(program, LocalChannelScenarioConfig(interleaving="fine"), steps, record=True)
    assert done.violation is None
    assert [step[0] for step in done.performed].count("add_buffer") == 1, "the first one is skipped"
