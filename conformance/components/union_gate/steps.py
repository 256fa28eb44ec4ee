"""The steps of a union gate.

Four threads act: the recovery thread pushes recovered data, the network thread delivers live elements, the task thread
polls, and the canceler releases the union. The consumer polls only for a reason, and asks whether the union is
available before it stops polling. A gate is requested as soon as it is converted, since Flink does both in one mail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from conformance.components.union_gate.ledger import Ledger
from conformance.components.union_gate.lines import Gate, Line
from conformance.driver import BROKEN, DISABLED, NO_OPERANDS, Drain, Once, Step, Steps, While, always
from conformance.driver.drain import Step as Due
from conformance.models.answers import AVAILABLE, FINISHED
from conformance.models.faults import fault_step
from conformance.models.kept import KEPT
from conformance.models.lifetime import fail_step, resources_step
from conformance.ports import Answer, BufferOrEvent, Recovery, RecoveryCompletion, Resources, UnionGatePort
from conformance.ports.elements import Alignment, EndOfData, EndOfPartition

MOST_QUEUED = 5
"""Number of elements in a channel from which on its producer is back-pressured."""
MOST_RECOVERED = 3
"""Highest number of recovered buffers of a channel."""

RECOVERING = ("recovering",)
UNTIL_FAILED = ("recovering", "live", "ended")
PUSHES = ("recovering", "live", "failed")
ALWAYS = (*UNTIL_FAILED, "failed")
FAILS = ("failing",)
EVER = (*ALWAYS, "failing", BROKEN)

UNALIGNED, ALIGNED = Alignment.UNALIGNED, Alignment.ALIGNED

STEPS = Steps[UnionGatePort, Ledger]()
step = STEPS.step

May: TypeAlias = Callable[[Ledger, Line], bool]


# ---- when a step is enabled ------------------------------------------------------------------------------------------
def channels(may: May) -> Callable[[Ledger], Sequence[tuple[int]]]:
    """Enables a step for the channels for which `may` is true."""
    return lambda ledger: [(line.number,) for line in ledger.lines if may(ledger, line)]


def gates(may: Callable[[Gate], bool]) -> Callable[[Ledger], Sequence[tuple[int]]]:
    """Enables a step for the gates for which `may` is true."""
    return lambda ledger: [(gate.number,) for gate in ledger.gates if may(gate)]


def may_send(ledger: Ledger, line: Line) -> bool:
    """Whether the producer is connected and neither blocked nor back-pressured."""
    return line.is_connected() and not line.held_back and len(line.live) < MOST_QUEUED


def may_send_data(ledger: Ledger, line: Line) -> bool:
    """Whether the producer may send data. In recovery, the producer of a remote channel has no credit."""
    return not line.data_ended and (line.local or line.consumed) and may_send(ledger, line)


def may_complete(ledger: Ledger, line: Line) -> bool:
    """Whether the producer may send its end of output state, which is its first element."""
    return not line.arrived and ledger.recovery is not Recovery.NONE and may_send(ledger, line)


def may_overtake(ledger: Ledger, line: Line) -> bool:
    """Whether the producer may send an unaligned barrier, also if it is blocked. Unaligned checkpoints do not
    overlap."""
    return line.is_connected() and not line.urgent


def may_stop(ledger: Ledger, line: Line) -> bool:
    """Whether the producer may send the end of data, which it does once."""
    return not line.data_ended and may_send(ledger, line)


def may_end(ledger: Ledger, line: Line) -> bool:
    """Whether the producer may send the end of partition, which follows the end of data."""
    return line.data_ended and may_send(ledger, line)


def may_recover(ledger: Ledger, line: Line) -> bool:
    """Whether a recovered buffer may be pushed."""
    return line.pushed < MOST_RECOVERED and may_finish(ledger, line)


def may_finish(ledger: Ledger, line: Line) -> bool:
    """Whether the end of recovered data may be pushed: with `pushed` after the conversion, otherwise before it."""
    if line.finishing or ledger.converting:
        return False
    return line.gate.converted if ledger.recovery is Recovery.PUSHED else not line.gate.converted


def may_refuse(gate: Gate) -> bool:
    """Whether a conversion that must be refused may be tried. With `in-memory` no channel may have all its state,
    because an implementation may convert such a channel before it refuses the gate."""
    if gate.recovery is Recovery.IN_MEMORY and any(line.finishing for line in gate.lines):
        return False
    return gate.must_refuse()


def may_request(gate: Gate) -> bool:
    """Whether the partitions of the gate may be requested: once, after the conversion."""
    return gate.converted and not gate.requested


blocked = channels(lambda ledger, line: line.blocked)
refusals = gates(may_refuse)


def may_poll(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a poll for a reason, twice after the end of all gates, and after release."""
    if ledger.failed:
        return NO_OPERANDS
    if ledger.phase == "ended":
        return NO_OPERANDS if ledger.after_end < 2 else DISABLED
    if not (ledger.consumer.awake or ledger.consumer.expects_priority):
        return DISABLED
    if ledger.phase == "recovering" and ledger.recovery is Recovery.IN_MEMORY and any(map(may_request, ledger.gates)):
        return DISABLED  # Flink converts and requests in one mail, so that no poll comes between
    return NO_OPERANDS


# ---- recovery and the task -------------------------------------------------------------------------------------------
@step("recovery", PUSHES, when=channels(may_recover), begin=Ledger.recover, end=Ledger.end_recovery, weight=14)
def recover(port: UnionGatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.recover(channel, ledger.lines[channel].being_pushed())


@step("recovery", PUSHES, when=channels(may_finish), begin=Ledger.finish_recovery, end=Ledger.end_recovery, weight=10)
def finish_recovery(port: UnionGatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.finish_recovery(channel)


@step("task", RECOVERING, when=gates(Gate.may_convert), begin=Ledger.begin, learn=Ledger.convert,
      struck=Ledger.setup_failed, weight=10, fails=True)  # fmt: skip
def convert(port: UnionGatePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.convert(gate)


@step("task", RECOVERING, when=refusals, begin=Ledger.begin_refusal, learn=Ledger.end_refusal,
      struck=Ledger.setup_failed, weight=1, fails=True)  # fmt: skip
def convert_early(port: UnionGatePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.convert(gate)


@step("task", RECOVERING, when=gates(may_request), begin=Ledger.begin_request, learn=Ledger.request,
      struck=Ledger.setup_failed, weight=12, fails=True)  # fmt: skip
def request_partitions(port: UnionGatePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.request_partitions(gate)


@step("task", (KEPT,), when=always, begin=Ledger.begin, end=Ledger.end, learn=Ledger.read, weight=28, fails=True)
def poll_the_error(port: UnionGatePort, ledger: Ledger) -> Answer[BufferOrEvent | None]:
    return port.poll()


@step("task", ALWAYS, when=may_poll, begin=Ledger.begin_poll, learn=Ledger.poll, weight=28, fails=True)
def poll(port: UnionGatePort, ledger: Ledger) -> Answer[BufferOrEvent | None]:
    return port.poll()


@step("task", FAILS, when=may_poll, begin=Ledger.begin_poll, learn=Ledger.last_poll, weight=28, fails=True)
def poll_for_the_error(port: UnionGatePort, ledger: Ledger) -> Answer[BufferOrEvent | None]:
    return port.poll()


@step("task", UNTIL_FAILED, when=blocked, begin=Ledger.begin, learn=Ledger.resume, weight=6, fails=True)
def resume(port: UnionGatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.resume(channel)


# ---- the network -----------------------------------------------------------------------------------------------------
def _sends(name: str, may: May, send: Callable[[Ledger, int], None], weight: int) -> Step[Ledger, None, int]:
    """Returns the step in which an element arrives: the ledger notes it as sent when the operation begins."""

    @step("network", PUSHES, when=channels(may), begin=send, end=Ledger.arrived, weight=weight, name=name)
    def arrive(port: UnionGatePort, ledger: Ledger, channel: int) -> Answer[None]:
        return port.arrive(channel, ledger.sending)

    return arrive


buffer = _sends("buffer", may_send_data, Ledger.data, 18)
event = _sends("event", may_send, Ledger.event, 2)
recovery_completion = _sends(
    "recovery_completion", may_complete, lambda ledger, at: ledger.send(at, RecoveryCompletion()), 4
)
unaligned_barrier = _sends("unaligned_barrier", may_overtake, lambda ledger, at: ledger.barrier(at, UNALIGNED), 8)
aligned_barrier = _sends("aligned_barrier", may_send, lambda ledger, at: ledger.barrier(at, ALIGNED), 3)
end_of_data = _sends("end_of_data", may_stop, lambda ledger, at: ledger.send(at, EndOfData()), 2)
end_of_partition = _sends("end_of_partition", may_end, lambda ledger, at: ledger.send(at, EndOfPartition()), 6)

FEEDS = (
    buffer, event, recovery_completion, unaligned_barrier, aligned_barrier, end_of_data, end_of_partition,
    recover, finish_recovery, convert, request_partitions, resume,
)  # fmt: skip
"""Steps after which the consumer must perhaps have been notified."""


# ---- observers, release and failure ----------------------------------------------------------------------------------
@step("observer", (*UNTIL_FAILED, "failing"), when=always, learn=Ledger.asked, weight=6, in_words=AVAILABLE)
def available(port: UnionGatePort, ledger: Ledger) -> Answer[bool]:
    return port.available()


@step("observer", UNTIL_FAILED, when=always, weight=1, in_words=FINISHED)
def finished(port: UnionGatePort, ledger: Ledger) -> Answer[bool]:
    return port.finished()


fault = fault_step(STEPS, RECOVERING, weight=6, when=Ledger.strikable)
resources = resources_step(STEPS, EVER, weight=1)


@step("canceler", EVER, when=always, begin=Ledger.begin_release, end=Ledger.release, weight=1)
def release(port: UnionGatePort, ledger: Ledger) -> Answer[None]:
    return port.release()


fail = fail_step(STEPS, (*UNTIL_FAILED, "failing", "broken"))


@step("driver", ("failed",), when=always, end=Ledger.restore, weight=16, fresh_port=True, crashes=True)
def restore(port: UnionGatePort, ledger: Ledger) -> Answer[Resources]:
    return port.resources()


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _go_on(ledger: Ledger) -> Due | None:
    """Finishes conversion and recovery, and lets the consumer act on its notifications until every channel has
    ended."""
    if ledger.phase == KEPT:
        return poll_the_error()
    if ledger.failed or ledger.phase == BROKEN:
        return None if ledger.released else release()
    if ledger.is_broken():
        return _learn_of_the_error(ledger)
    return _convert(ledger) or _complete(ledger) or _consume(ledger) or _finish_recovery(ledger) or _end(ledger)


def _learn_of_the_error(ledger: Ledger) -> Due | None:
    if ledger.phase != "failing":
        return None
    if ledger.consumer.awake or ledger.consumer.expects_priority:
        return poll_for_the_error()
    return available() if ledger.consumer.probe else None


def _convert(ledger: Ledger) -> Due | None:
    for gate in ledger.gates:
        if gate.may_convert():
            return convert(gate.number)
        if may_request(gate):
            return request_partitions(gate.number)
    return None


def _complete(ledger: Ledger) -> Due | None:
    """With `pushed`, pushes wait until the producer has sent its first element, so it sends its end of output state."""
    if ledger.recovery is not Recovery.PUSHED:
        return None
    return next((recovery_completion(line.number) for line in ledger.lines if not (line.arrived or line.local)), None)


def _consume(ledger: Ledger) -> Due | None:
    ended = ledger.phase == "ended"
    if ledger.consumer.awake or ledger.consumer.expects_priority:
        return poll() if not ended or ledger.after_end < 2 else None
    if ledger.consumer.probe and not ended:
        return available()
    return next((resume(line.number) for line in ledger.lines if line.blocked), None)


def _finish_recovery(ledger: Ledger) -> Due | None:
    busy = ledger.pushing
    return next((finish_recovery(line.number) for line in ledger.lines if busy or not line.finishing), None)


def _end(ledger: Ledger) -> Due | None:
    """If one producer has sent the end of data, all producers end."""
    if any(line.data_ended for line in ledger.lines):
        for line in ledger.lines:
            if line.gate.requested and not line.end_sent:
                return end_of_partition(line.number) if line.data_ended else end_of_data(line.number)
    return None


DRAIN = Drain[Ledger](
    While((_go_on,)),
    Once((finished(), available()), unless=lambda ledger: ledger.is_over() or ledger.is_broken()),
    While((_go_on,)),
    Once((resources(), fail()), unless=Ledger.is_over),
    Once((resources(),)),
)
"""Finish the recovery, poll all elements, ask the union for its state, release, and read the resources."""
