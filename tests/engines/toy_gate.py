"""A small gate with three threads and two kinds of locks: its port, its reference, and three ways to be wrong."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.ports import (
    Answer,
    Capability,
    CheckpointReason,
    DataAvailable,
    ErrorKind,
    Implementation,
    Port,
    PortError,
    PriorityAvailable,
    Resources,
)
from conformance.ports.implementation import Factory
from conformance.scheduling import Future, Lock

BARRIER = -1
"""Taken in place of a buffer."""


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
