"""The toy gate as a component: what engines are tried on.

Recovered channels become physical ones while the other threads are at work; a checkpoint writes what is in flight.
It is no component of the suite: engines are given its `Component`, or `COMPONENTS` where one is looked up by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conformance.driver import (
    DISABLED,
    NO_OPERANDS,
    Bound,
    Broken,
    Component,
    Components,
    Drain,
    Each,
    FailureClass,
    Judgement,
    Once,
    PortLedger,
    Program,
    Rules,
    Seen,
    Steps,
    While,
    always,
    answers_property,
    thread_properties,
)
from conformance.models.records import compare_ids
from conformance.ports import Answer, Implementation, KnownBug, Resources, Signal
from conformance.scenarios import Step
from tests.engines.toy_gate import (
    BARRIER,
    CollectsThenSetsPending,
    ForgetsToAnnounce,
    SwapsUnderChannelLock,
    Toy,
    ToyConfig,
    ToyPort,
)

WRITTEN = "what-was-in-flight-is-written"


# ---- the ledger ------------------------------------------------------------------------------------------------------
MOST = 6


class ToyLedger(PortLedger):
    __slots__ = ("barrier_at", "barriers_taken", "converted", "cut", "decided", "sent", "taken", "taking", "told")

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.phase = "live"
        self.sent, self.taken = [0] * channels, [0] * channels
        self.barrier_at: list[int | None] = [None] * channels
        self.converted = [False] * channels
        self.cut: tuple[int, ...] | None = None
        self.barriers_taken = self.told = 0
        self.decided = self.taking = False

    def hear(self, signals: list[Signal]) -> None:
        self.told += len(signals)

    def undelivered(self) -> int:
        return sum(self.sent) - sum(self.taken) + sum(at is not None for at in self.barrier_at) - self.barriers_taken

    def send(self, channel: int) -> None:
        self.sent[channel] += 1

    def convert(self, channel: int) -> None:
        self.converted[channel] = True

    def bar(self, channel: int) -> None:
        self.barrier_at[channel] = self.sent[channel]

    def begin_take(self) -> None:
        self.taking = True

    def take(self, seen: Seen[tuple[int, int]]) -> None:
        self.taking = False
        channel, buffer = seen.value
        if buffer == BARRIER:
            self.barriers_taken += 1
        else:
            self.taken[channel] += 1

    def decide(self, seen: Seen[None]) -> None:
        self.decided = True
        self.cut = tuple(self.taken) if seen.error is None else None

    def fail(self) -> None:
        self.phase = "failed"

    def owed(self, channel: int) -> tuple[int, ...] | None:
        """What must have been written of a channel; None if nothing is known."""
        at = self.barrier_at[channel]
        return None if self.cut is None or at is None else tuple(range(self.cut[channel], at))


# ---- the steps -------------------------------------------------------------------------------------------------------
LIVE = ("live",)
STEPS = Steps[ToyPort, ToyLedger]()
step = STEPS.step


def channels(enabled: Callable[[ToyLedger, int], bool]) -> Callable[[ToyLedger], Sequence[tuple[int]]]:
    return lambda ledger: [(channel,) for channel in range(len(ledger.sent)) if enabled(ledger, channel)]


def may_take(ledger: ToyLedger) -> Sequence[tuple[()]]:
    return NO_OPERANDS if ledger.decided or not ledger.barriers_taken else DISABLED


def may_start(ledger: ToyLedger) -> Sequence[tuple[()]]:
    return NO_OPERANDS if ledger.barriers_taken and not ledger.decided else DISABLED


pushable = channels(lambda ledger, channel: ledger.sent[channel] < 2 and not ledger.converted[channel])
recovering = channels(lambda ledger, channel: not ledger.converted[channel])
flowing = channels(lambda ledger, channel: ledger.sent[channel] < MOST and ledger.converted[channel])
unbarred = channels(lambda ledger, channel: ledger.barrier_at[channel] is None and ledger.converted[channel])
known = channels(lambda ledger, channel: ledger.owed(channel) is not None)


@step("recovery", LIVE, when=pushable, begin=ToyLedger.send, weight=16)
def push(port: ToyPort, ledger: ToyLedger, channel: int) -> Answer[None]:
    return port.push(channel, ledger.sent[channel] - 1)


@step("recovery", LIVE, when=recovering, end=ToyLedger.convert, weight=16)
def convert(port: ToyPort, ledger: ToyLedger, channel: int) -> Answer[None]:
    return port.convert(channel)


@step("network", LIVE, when=flowing, begin=ToyLedger.send, weight=24)
def arrive(port: ToyPort, ledger: ToyLedger, channel: int) -> Answer[None]:
    return port.arrive(channel, ledger.sent[channel] - 1)


@step("network", LIVE, when=unbarred, begin=ToyLedger.bar)
def barrier(port: ToyPort, ledger: ToyLedger, channel: int) -> Answer[None]:
    return port.barrier(channel)


@step("task", LIVE, when=may_take, begin=ToyLedger.begin_take, learn=ToyLedger.take, weight=20)
def take(port: ToyPort, ledger: ToyLedger) -> Answer[tuple[int, int]]:
    return port.take()


@step("task", LIVE, when=may_start, learn=ToyLedger.decide, weight=40, fails=True)
def start_checkpoint(port: ToyPort, ledger: ToyLedger) -> Answer[None]:
    return port.start_checkpoint()


@step("observer", LIVE, when=known, weight=2)
def written(port: ToyPort, ledger: ToyLedger, channel: int) -> Answer[tuple[int, ...]]:
    return port.written(channel)


@step("observer", ("live", "failed"), when=always, weight=1)
def resources(port: ToyPort, ledger: ToyLedger) -> Answer[Resources]:
    return port.resources()


@step("driver", LIVE, when=always, end=ToyLedger.fail, weight=1, crashes=True)
def fail(port: ToyPort, ledger: ToyLedger) -> Answer[None]:
    return port.release()


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _convert(ledger: ToyLedger) -> Step | None:
    return next((convert(*one) for one in recovering(ledger)), None)


def _start(ledger: ToyLedger) -> Step | None:
    return start_checkpoint() if may_start(ledger) else None


def _take(ledger: ToyLedger) -> Step | None:
    return take() if ledger.undelivered() else None


def _arrive(ledger: ToyLedger) -> Step | None:
    return arrive(0) if ledger.taking else None


def _failed(ledger: ToyLedger) -> bool:
    return ledger.phase == "failed"


def _flow(ledger: ToyLedger) -> Step | None:
    if _failed(ledger):
        return None
    return _convert(ledger) or _start(ledger) or _take(ledger) or _arrive(ledger)


DRAIN = Drain[ToyLedger](
    While((_flow,)),
    Each(lambda ledger: [] if _failed(ledger) else [written(channel) for channel in range(len(ledger.sent))]),
    Once((fail(),), unless=_failed),
    Once((resources(),)),
)


# ---- the rules -------------------------------------------------------------------------------------------------------
RULES = Rules[ToyLedger]("toy-gate", answers_property("toy-gate"), *thread_properties("toy-gate"))


@RULES.rule(take)
def buffers_are_taken_once_and_in_order(ledger: ToyLedger, seen: Seen[tuple[int, int]]) -> Judgement:
    """Every buffer is taken once, in the order sent."""
    channel, buffer = seen.value
    expected = ledger.taken[channel]
    if buffer in (expected, BARRIER):
        return True
    failure_class = compare_ids((expected,), (buffer,), expected)
    return Broken(failure_class, f"channel {channel} must give buffer {expected} next", f"it gave buffer {buffer}")


@RULES.rule(written, quiet=True, tickets=("FLINK-39018",))
def what_was_in_flight_is_written(ledger: ToyLedger, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """A checkpoint writes exactly what was in flight at it."""
    (channel,) = seen.operands
    owed = ledger.owed(channel)
    if owed is None:
        return False
    if seen.value == owed:
        return True
    sentence = f"buffers {_list(owed)} of channel {channel} came before its barrier and were not taken at the cut"
    return Broken(FailureClass.LOST, sentence, f"written were {_list(seen.value)}")


@RULES.goal(start_checkpoint)
def a_checkpoint_was_declined(ledger: ToyLedger, seen: Seen[None]) -> bool:
    """A checkpoint is declined."""
    return seen.error is not None


def _list(buffers: Iterable[int]) -> str:
    return ", ".join(map(str, buffers)) or "none"


# ---- the component ---------------------------------------------------------------------------------------------------
TOY = Component(
    name="toy-gate",
    port=ToyPort,
    config_type=ToyConfig,
    configs=(ToyConfig(2), ToyConfig(1), ToyConfig(2, "fine"), ToyConfig(1, "fine"), ToyConfig(2, "fine")),
    port_config=lambda config: config,
    make_ledger=lambda config, capabilities: ToyLedger(config.channels),
    threads=("recovery", "network", "task"),
    steps=tuple(STEPS.all),
    properties=tuple(RULES.all),
    drain=DRAIN,
    final_phase="failed",
    explored=ToyConfig(1, "fine"),
    bounds={
        "arrivals": Bound(("push", "arrive"), 2, each=True),
        "barriers": Bound(("barrier",), 1),
        "takes": Bound(("take",), 3),
        "other": Bound(("fail", "resources"), 0),
    },
    biases=({"push": 30, "take": 30}, {"barrier": 30, "convert": 60}),
    prefixes=(
        (("convert", 0), ("finish", "recovery"), ("barrier", 0), ("finish", "network"), ("take",), ("finish", "task")),
    ),
)
COMPONENTS = Components("tests.engines.toy:COMPONENTS", (TOY,))

_GATES: dict[str, tuple[Any, str]] = {
    "lock-order": (SwapsUnderChannelLock, "locks-are-taken-in-one-order"),
    "deadlock": (SwapsUnderChannelLock, "threads-do-not-deadlock"),
    "lost-wake-up": (ForgetsToAnnounce, "every-operation-ends"),
    "two-sections": (CollectsThenSetsPending, WRITTEN),
}
BUGS = {
    name: KnownBug(name, "own", "toy-gate", slug, name.replace("-", " "), lambda gate=gate, name=name: Toy(gate, name))  # type: ignore[misc]
    for name, (gate, slug) in _GATES.items()
}


def program(implementation: Implementation | None = None) -> Program:
    """The toy made ready for the correct gate, or for another."""
    return Program(TOY, implementation or Toy())


def broken(name: str) -> Program:
    """The toy with one of its known bugs."""
    return Program(TOY, BUGS[name].build())
