"""A small gate with three threads, two kinds of locks and three known bugs: what engines are tried on.

Recovered channels become physical ones while the other threads are at work; a checkpoint writes what is in flight.
It is no component of the suite: engines are given its `Alphabet`, and where one is looked up by name, as files do, a
test registers it for itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore
from conformance.alphabets.program import Program
from conformance.ports import (
    Answer,
    Capability,
    CheckpointReason,
    DataAvailable,
    ErrorKind,
    Implementation,
    KnownBug,
    Port,
    PortError,
    PriorityAvailable,
    Resources,
)
from conformance.ports.implementation import Factory
from conformance.properties import Broken, FailureClass, Judgement, Kind, Property, Seen
from conformance.properties.base import answers_property, compare_ids, thread_properties
from conformance.scenarios import Step
from conformance.scheduling import Future, Lock

BARRIER = -1
"""Taken in place of a buffer."""
IN_ORDER = "buffers-are-taken-once-and-in-order"
WRITTEN = "what-was-in-flight-is-written"


# ---- the port and its reference --------------------------------------------------------------------------------------
class ToyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    channels: Annotated[int, Meta(ge=1, le=3)] = 2
    interleaving: Literal["whole", "fine"] = "whole"


class ToyPort(Port):
    @abstractmethod
    def push(self, channel: int, buffer: int) -> Answer[None]: ...

    @abstractmethod
    def convert(self, channel: int) -> Answer[None]: ...

    @abstractmethod
    def arrive(self, channel: int, buffer: int) -> Answer[None]: ...

    @abstractmethod
    def barrier(self, channel: int) -> Answer[None]: ...

    @abstractmethod
    def take(self) -> Answer[tuple[int, int]]: ...

    @abstractmethod
    def start_checkpoint(self) -> Answer[None]: ...

    @abstractmethod
    def written(self, channel: int) -> Answer[tuple[int, ...]]: ...


class Channel:
    def __init__(self, name: str, rank: int, physical: bool, received: list[int]) -> None:
        self.lock = Lock(name, "channel lock", rank)
        self.received, self.physical = received, physical
        self.mode = "idle"
        self.barrier = False
        self.behind = 0


class Gate(ToyPort):
    def __init__(self, config: ToyConfig) -> None:
        self.lock = Lock("gate lock")
        self.channels = [Channel(f"channel {i} lock", i, False, []) for i in range(config.channels)]
        self.with_data: list[int] = []
        self.available = Future("data")
        self.files: list[list[int]] = [[] for _ in range(config.channels)]

    async def push(self, channel: int, buffer: int) -> None:
        await self.arrive(channel, buffer)

    async def convert(self, channel: int) -> None:
        old = self.channels[channel]
        async with old.lock:
            new = Channel(f"channel {channel} lock", channel, True, old.received)
            old.received = []
        await self.swap(channel, new)

    async def swap(self, channel: int, new: Channel) -> None:
        async with self.lock:
            if channel in self.with_data:
                self.with_data.remove(channel)
            self.channels[channel] = new
            if new.received:
                self.with_data.append(channel)
                self.announce()

    def announce(self) -> None:
        self.available.complete()
        self.emit(DataAvailable())

    async def arrive(self, channel: int, buffer: int) -> None:
        one = self.channels[channel]
        async with one.lock:
            one.received.append(buffer)
            if one.mode == "pending":
                self.files[channel].append(buffer)
            one.behind += one.mode == "received"
            first = len(one.received) == 1
        if first:
            await self.notify(channel)

    async def barrier(self, channel: int) -> None:
        one = self.channels[channel]
        async with one.lock:
            one.barrier = True
            one.mode = "received"
        self.emit(PriorityAvailable(0))
        await self.notify(channel, priority=True)

    async def notify(self, channel: int, priority: bool = False) -> None:
        async with self.lock:
            if priority and channel in self.with_data:
                self.with_data.remove(channel)
            if channel not in self.with_data:
                self.with_data.insert(0 if priority else len(self.with_data), channel)
                Gate.announce(self)

    async def take(self) -> tuple[int, int]:
        while True:
            async with self.lock:
                taken = await self.poll()
                if not self.with_data:
                    self.available.done = False
            if taken is not None:
                return taken
            await self.available

    async def poll(self) -> tuple[int, int] | None:
        while self.with_data:
            number = self.with_data.pop(0)
            channel = self.channels[number]
            async with channel.lock:
                taken = None
                if channel.barrier:
                    channel.barrier, taken = False, BARRIER
                elif channel.received:
                    taken = channel.received.pop(0)
                if channel.received:
                    self.with_data.append(number)
            if taken is not None:
                return number, taken
        return None

    async def start_checkpoint(self) -> None:
        if not all(channel.physical for channel in self.channels):
            raise PortError(ErrorKind.CHECKPOINT, "not all are physical", CheckpointReason.DECLINED_TASK_NOT_READY)
        for number in range(len(self.channels)):
            await self.checkpoint_started(number)

    async def checkpoint_started(self, number: int) -> None:
        async with self.channels[number].lock:
            self.collect_known(number)
            self.set_pending(number)

    def collect_known(self, number: int) -> None:
        received = self.channels[number].received
        self.files[number].extend(received[: len(received) - self.channels[number].behind])

    def set_pending(self, number: int) -> None:
        if self.channels[number].mode != "received":
            self.channels[number].mode = "pending"

    def written(self, channel: int) -> tuple[int, ...]:
        return tuple(self.files[channel])

    def resources(self) -> Resources:
        return Resources(0, 0, 0, 0, 0)

    def release(self) -> None:
        self.channels.clear()


# ---- its known bugs --------------------------------------------------------------------------------------------------
class SwapsUnderChannelLock(Gate):
    async def swap(self, channel: int, new: Channel) -> None:
        async with self.channels[channel].lock:
            await super().swap(channel, new)


class ForgetsToAnnounce(Gate):
    def announce(self) -> None: ...


class CollectsThenSetsPending(Gate):
    async def checkpoint_started(self, number: int) -> None:
        async with self.channels[number].lock:
            self.collect_known(number)
        async with self.channels[number].lock:
            self.set_pending(number)


class Toy(Implementation):
    """The toy with one gate; `stepping`: whether it claims that it can be interleaved inside."""

    def __init__(self, gate: Any = Gate, name: str = "toy", stepping: bool = True) -> None:
        self.gate = gate
        self.name = name
        self.stepping = stepping

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability) - (frozenset() if self.stepping else {Capability.STEPPING})

    def components(self) -> Mapping[str, Factory]:
        return {"toy-gate": self.gate}


# ---- the ledger and the properties -----------------------------------------------------------------------------------
MOST = 6


class ToyLedger:
    __slots__ = (
        "barrier_at",
        "barriers_taken",
        "closing",
        "converted",
        "cut",
        "decided",
        "inspected",
        "phase",
        "sent",
        "taken",
        "taking",
        "told",
    )

    def __init__(self, channels: int) -> None:
        self.closing = 0
        self.phase = "live"
        self.sent, self.taken = [0] * channels, [0] * channels
        self.barrier_at: list[int | None] = [None] * channels
        self.converted = [False] * channels
        self.cut: tuple[int, ...] | None = None
        self.barriers_taken = self.inspected = self.told = 0
        self.decided = self.taking = False

    def hear(self, signals: list[Any]) -> None:
        self.told += len(signals)

    def undelivered(self) -> int:
        return sum(self.sent) - sum(self.taken) + sum(at is not None for at in self.barrier_at) - self.barriers_taken

    def send(self, channel: int) -> None:
        self.sent[channel] += 1

    def bar(self, channel: int) -> None:
        self.barrier_at[channel] = self.sent[channel]

    def take(self, taken: tuple[int, int]) -> None:
        self.taking = False
        if taken[1] == BARRIER:
            self.barriers_taken += 1
        else:
            self.taken[taken[0]] += 1

    def decide(self, started: bool) -> None:
        self.decided = True
        self.cut = tuple(self.taken) if started else None

    def owed(self, channel: int) -> tuple[int, ...] | None:
        """What must have been written of a channel; None if nothing is known."""
        at = self.barrier_at[channel]
        return None if self.cut is None or at is None else tuple(range(self.cut[channel], at))


def _taken(ledger: ToyLedger, seen: Seen) -> Judgement:
    channel, buffer = seen.value
    expected = ledger.taken[channel]
    if buffer in (expected, BARRIER):
        return True
    failure_class = compare_ids((expected,), (buffer,), expected)
    return Broken(failure_class, f"channel {channel} must give buffer {expected} next", f"it gave buffer {buffer}")


def _written(ledger: ToyLedger, seen: Seen) -> Judgement:
    channel = seen.operands[0]
    owed = ledger.owed(channel)
    if owed is None:
        return False
    if seen.value == owed:
        return True
    sentence = f"buffers {_list(owed)} of channel {channel} came before its barrier and were not taken at the cut"
    return Broken(FailureClass.LOST, sentence, f"written were {_list(seen.value)}")


def _list(buffers: Iterable[int]) -> str:
    return ", ".join(map(str, buffers)) or "none"


PROPERTIES = (
    answers_property("toy-gate"),
    *thread_properties("toy-gate"),
    Property(IN_ORDER, "Every buffer is taken once, in the order sent.", "toy-gate", ("take",), _taken),
    Property(WRITTEN, "A checkpoint writes exactly what was in flight at it.", "toy-gate", ("written",), _written,
             quiet=True, tickets=("FLINK-39018",)),
    Property("a-checkpoint-was-declined", "A checkpoint is declined.", "toy-gate", ("start_checkpoint",),
             lambda ledger, seen: seen.error is not None, kind=Kind.SOMETIMES),
)  # fmt: skip


# ---- the alphabet ----------------------------------------------------------------------------------------------------
_LIVE = ("live",)
_ALWAYS = ("live", "failed")
_CHANNEL = {"channel": int}


def _channels(enabled: Any) -> Any:
    def choices(ledger: ToyLedger) -> tuple[Operands, ...]:
        return tuple([(channel,) for channel in range(len(ledger.sent)) if enabled(ledger, channel)])

    return choices


def _when(enabled: Any) -> Any:
    return lambda ledger: NO_OPERANDS if enabled(ledger) else DISABLED


def _begin_take(ledger: ToyLedger) -> None:
    ledger.taking = True


def _converted(ledger: ToyLedger, seen: Seen, channel: int) -> None:
    ledger.converted[channel] = True


def _inspected(ledger: ToyLedger, seen: Seen, channel: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _failed(ledger: ToyLedger, seen: Seen) -> None:
    ledger.phase = "failed"


def _counted(ledger: ToyLedger, seen: Seen) -> None:
    if ledger.closing:
        ledger.closing = 2


def _closing(ledger: ToyLedger) -> Step | None:
    if ledger.phase == "failed":
        return ("resources",) if ledger.closing < 2 else None
    for channel, converted in enumerate(ledger.converted):
        if not converted:
            return "convert", channel
    if ledger.barriers_taken and not ledger.decided:
        return ("start_checkpoint",)
    if ledger.undelivered():
        return ("take",)
    if ledger.taking:
        return "arrive", 0
    if ledger.inspected < len(ledger.sent):
        return "written", ledger.inspected
    return ("fail",)


TOY = Alphabet(
    component="toy-gate",
    port=ToyPort,
    config_type=ToyConfig,
    configs=(ToyConfig(2), ToyConfig(1), ToyConfig(2, "fine"), ToyConfig(1, "fine"), ToyConfig(2, "fine")),
    port_config=lambda config: config,
    make_ledger=lambda config, capabilities: ToyLedger(config.channels),
    threads=("recovery", "network", "task"),
    steps=(
        StepKind("push", "recovery", _LIVE, _CHANNEL,
                 _channels(lambda ledger, i: ledger.sent[i] < 2 and not ledger.converted[i]),
                 lambda port, ledger, i: port.push(i, ledger.sent[i] - 1), ignore, begin=ToyLedger.send, weight=16),
        StepKind("convert", "recovery", _LIVE, _CHANNEL, _channels(lambda ledger, i: not ledger.converted[i]),
                 lambda port, ledger, i: port.convert(i), _converted, weight=16),
        StepKind("arrive", "network", _LIVE, _CHANNEL,
                 _channels(lambda ledger, i: ledger.sent[i] < MOST and ledger.converted[i]),
                 lambda port, ledger, i: port.arrive(i, ledger.sent[i] - 1), ignore, begin=ToyLedger.send, weight=24),
        StepKind("barrier", "network", _LIVE, _CHANNEL,
                 _channels(lambda ledger, i: ledger.barrier_at[i] is None and ledger.converted[i]),
                 lambda port, ledger, i: port.barrier(i), ignore, begin=ToyLedger.bar, weight=8),
        StepKind("take", "task", _LIVE, {}, _when(lambda ledger: ledger.decided or not ledger.barriers_taken),
                 lambda port, ledger: port.take(), lambda ledger, seen: ledger.take(seen.value), begin=_begin_take,
                 weight=20, answers=tuple[int, int]),
        StepKind("start_checkpoint", "task", _LIVE, {},
                 _when(lambda ledger: ledger.barriers_taken and not ledger.decided),
                 lambda port, ledger: port.start_checkpoint(),
                 lambda ledger, seen: ledger.decide(seen.error is None), weight=40, fails=True),
        StepKind("written", "observer", _LIVE, _CHANNEL, _channels(lambda ledger, i: ledger.owed(i) is not None),
                 lambda port, ledger, i: port.written(i), _inspected, weight=2, answers=tuple[int, ...]),
        StepKind("resources", "observer", _ALWAYS, {}, lambda ledger: NO_OPERANDS,
                 lambda port, ledger: port.resources(), _counted, weight=1, answers=Resources),
        StepKind("fail", "driver", _LIVE, {}, lambda ledger: NO_OPERANDS, lambda port, ledger: port.release(),
                 _failed, weight=1, crashes=True),
    ),
    closing=_closing,
    properties=PROPERTIES,
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
)  # fmt: skip

_GATES: dict[str, tuple[Any, str]] = {
    "lock-order": (SwapsUnderChannelLock, "locks-are-taken-in-one-order"),
    "deadlock": (SwapsUnderChannelLock, "threads-do-not-wait-in-a-circle"),
    "lost-wake-up": (ForgetsToAnnounce, "what-was-begun-comes-to-an-end"),
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
