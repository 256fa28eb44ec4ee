"""The reference's consumer loop, rule by rule. Specification: consumer-loop.md."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    OPERATORS_PROCESS,
    PRODUCER,
    Alignment,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    CancelMarker,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    Element,
    ElementTaken,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    FaultKind,
    FaultStruck,
    InputStatus,
    PortError,
    Resources,
)
from reference_impl import PUSHED
from reference_impl.task.consumer_loop import ConsumerLoop

TIMEOUT = 10
NOTHING, MORE = InputStatus.NOTHING_AVAILABLE, InputStatus.MORE_AVAILABLE


class Loop:
    """A loop whose operations run whole."""

    def __init__(self, channels: int = 2) -> None:
        self.port = ConsumerLoop(BarrierHandlerConfig(channels, TIMEOUT), PUSHED)

    def arrive(self, channel: int, *elements: Element, timestamp: int = 0) -> None:
        for element in elements:
            whole(self.port.arrive(channel, element, timestamp))

    def mail(self) -> bool:
        return bool(whole(self.port.run_mail()))

    def process(self) -> InputStatus:
        return InputStatus(whole(self.port.process()))

    def signals(self) -> list[Any]:
        """The signals of the loop since the last question."""
        told, self.port.signals = self.port.signals, []
        return told

    def told(self) -> list[Any]:
        """The same without what it has taken."""
        return [one for one in self.signals() if type(one) is not ElementTaken]

    def taken(self) -> list[tuple[int, Element]]:
        """What it has taken since it was asked last."""
        return [(one.channel, one.element) for one in self.signals() if type(one) is ElementTaken]

    def run(self) -> list[InputStatus]:
        """Run mails and the default action until there is nothing to do; what the default action returned."""
        answers = []
        while not self.port.idle():
            while self.mail():
                pass
            answers.append(self.process())
        return answers


def unaligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.UNALIGNED)


def timeoutable(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.TIMEOUTABLE)


def aligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.ALIGNED)


def test_records_are_processed_one_at_a_time():
    """consumer-loop.md M1, M2, M7, M8."""
    loop = Loop()
    assert loop.process() is NOTHING
    loop.arrive(0, Buffer((0,)), Buffer((1,)))
    assert loop.process() is MORE
    assert loop.taken() == [(0, Buffer((0,)))]
    assert loop.run() == [MORE]
    assert loop.taken() == [(0, Buffer((1,)))]


def test_a_priority_event_is_taken_by_a_mail_and_its_records_are_in_flight():
    """consumer-loop.md M3, M5, M9, M10."""
    loop = Loop()
    loop.arrive(0, Buffer((0,)), unaligned(1))
    loop.arrive(1, Buffer((1,)))
    assert loop.mail()
    assert loop.told()[-1] == CheckpointTriggered(1, unaligned=True)
    loop.arrive(1, Buffer((2,)), unaligned(1))
    assert loop.port.persisted(1) == ((0,), (1, 2))
    loop.run()
    assert loop.port.persisted(1) == ((0,), (1, 2))


def test_a_mail_finds_what_the_default_action_has_taken():
    """consumer-loop.md M5, M7."""
    loop = Loop()
    loop.arrive(0, unaligned(1))
    assert loop.process() is MORE
    assert loop.taken() == [(0, unaligned(1))]
    assert loop.mail()
    assert loop.signals() == []
    assert not loop.mail()


def test_a_timer_acts_in_a_mail():
    """consumer-loop.md M4, M6, M8, M10, M11."""
    loop = Loop()
    loop.arrive(0, Buffer((0,)), timeoutable(1))
    loop.arrive(1, timeoutable(1), timestamp=0)
    assert loop.mail()
    assert loop.taken() == [(0, Announcement(1, 1)), (1, Announcement(1, 0))]
    loop.port.advance(TIMEOUT)
    assert loop.signals() == []
    loop.run()
    told = loop.signals()
    assert CheckpointTriggered(1, unaligned=True) in told
    assert told.index(ElementTaken(1, timeoutable(1))) < told.index(ElementTaken(0, Buffer((0,))))
    assert sorted(one.channel for one in told if type(one) is ConsumptionResumed) == [0, 1]
    assert loop.port.persisted(1) == ((0,), ())


def test_a_timer_that_is_late_does_nothing():
    """consumer-loop.md M4, M6."""
    loop = Loop()
    loop.arrive(0, timeoutable(1))
    loop.arrive(1, timeoutable(1))
    loop.mail()
    loop.process()
    loop.port.advance(TIMEOUT)
    loop.port.advance(TIMEOUT)
    loop.process()
    assert loop.told()[0] == CheckpointTriggered(1, unaligned=False)
    assert [loop.mail(), loop.mail()] == [True, False]
    assert loop.signals() == []


def test_a_channel_that_refuses_declines_the_checkpoint_in_all():
    """consumer-loop.md M10, M11."""
    loop = Loop()
    loop.arrive(0, unaligned(1))
    loop.arrive(1, unaligned(2))
    loop.mail()
    assert [one for one in loop.told() if type(one) is not ConsumptionResumed][:1] == [
        CheckpointDeclined(1, CheckpointReason.SUBSUMED)
    ]


def test_a_cancel_marker_declines_and_resumes():
    """consumer-loop.md M9, M11."""
    loop = Loop()
    loop.arrive(0, aligned(1))
    loop.arrive(1, CancelMarker(1))
    loop.run()
    assert loop.told() == [
        ConsumptionResumed(0),
        CheckpointDeclined(1, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER),
    ]


def test_the_end_of_data_and_of_the_input():
    """consumer-loop.md M12, M13."""
    loop = Loop()
    for channel in (0, 1):
        loop.arrive(channel, EndOfData(), EndOfPartition())
    assert loop.run() == [MORE, InputStatus.END_OF_DATA, MORE, MORE, InputStatus.END_OF_INPUT]
    assert loop.process() is InputStatus.END_OF_INPUT
    assert loop.port.idle()


@pytest.mark.parametrize("element", [Buffer((0,)), unaligned(1)])
def test_a_task_waits_only_if_nothing_is_there(element):
    """consumer-loop.md M14."""
    loop = Loop()
    assert loop.port.idle()
    loop.arrive(0, element)
    assert not loop.port.idle()


def test_a_release_leaves_nothing():
    """consumer-loop.md M14, M15."""
    loop = Loop()
    loop.arrive(0, timeoutable(1), timestamp=0)
    loop.mail()
    assert loop.port.resources().listeners == 1
    whole(loop.port.release())
    assert loop.port.resources() == Resources(0, 0, 0, 0, 0)
    assert not loop.mail()


def test_what_the_operators_throw_fails_the_default_action():
    """consumer-loop.md M16."""
    loop = Loop()
    loop.arrive(0, Buffer((0,)))
    loop.port.fault(OPERATORS_PROCESS, FaultKind.THROWS)
    with pytest.raises(PortError, match=OPERATORS_PROCESS) as failed:
        loop.process()
    assert failed.value.kind is ErrorKind.IO
    assert loop.taken() == [(0, Buffer((0,)))]
    whole(loop.port.release())
    assert loop.port.resources() == Resources(0, 0, 0, 0, 0)


def test_an_error_in_the_start_of_a_checkpoint_is_no_refusal():
    """consumer-loop.md M10, M17."""
    loop = Loop()
    loop.arrive(0, Buffer((0,)))
    loop.arrive(1, unaligned(1))
    loop.port.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError, match=CHANNEL_STATE_WRITER):
        loop.mail()
    assert loop.told() == [FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)]


def test_a_channel_that_cannot_be_resumed_fails_the_task():
    """consumer-loop.md M11, M17."""
    loop = Loop(1)
    loop.arrive(0, Barrier(1, Alignment.ALIGNED))
    loop.port.fault(CONNECTION, FaultKind.THROWS)
    with pytest.raises(PortError, match=CONNECTION):
        loop.process()


def test_an_error_that_a_channel_keeps_wakes_the_task_and_fails_it():
    """consumer-loop.md M18."""
    loop = Loop()
    loop.arrive(1, Buffer((0,)))
    loop.port.fault(PRODUCER, FaultKind.ENDS)
    loop.arrive(0, Buffer((1,)))
    assert not loop.mail()
    assert not loop.port.idle()
    assert loop.process() is MORE
    assert not loop.port.idle()
    with pytest.raises(PortError, match="producer") as failed:
        loop.process()
    assert failed.value.kind is ErrorKind.IO
