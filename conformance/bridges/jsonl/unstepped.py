"""A job that nobody steps: its own scheduler draws who works next, between operations and while it is waited for.

It stands for an engine whose threads work on their own. So what a scenario with the steps of a job is on such an engine
can be tried with any implementation in Python, also with a known bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import isawaitable
from random import Random
from typing import Any, TypeVar

from conformance.ports import (
    INTERFACES,
    Answer,
    Capability,
    CheckpointKind,
    ErrorKind,
    FailurePoint,
    FailureTarget,
    FaultKind,
    Implementation,
    JobCheckpoint,
    JobConfig,
    OperatorState,
    PipelinePort,
    PortError,
    Resources,
    Runs,
    ThreadWoken,
    Triggered,
    Turn,
    Until,
)
from conformance.ports.implementation import Factory

T = TypeVar("T")

TURNS = (0, 0, 1, 4, 16, 64)
"""How many turns there may be between two operations."""
RARELY = 200
"""Before one turn in so many, time passes."""


class UnsteppedJob(PipelinePort):
    """A job at the level *job*. After each operation, some threads work."""

    def __init__(self, inner: PipelinePort, config: JobConfig) -> None:
        """`inner`: the same job at the level *steps*."""
        self._inner = inner
        self._random = Random(config.settings.seed)
        self._settings = config.settings
        self._awake: dict[str, None] = {}

    async def _done(self, answer: Answer[T], works: bool = True) -> T:
        """Returns what an operation returned, after some threads have worked."""
        value: T = await answer if isawaitable(answer) else answer
        self._hear()
        for _ in range(self._random.choice(TURNS) if works else 0):
            if not self._awake:
                break
            await self._work()
        return value

    async def _work(self) -> None:
        """One turn of a thread that may have something to do, and now and then some time."""
        if not self._random.randrange(RARELY):
            late = self._random.choice((self._settings.alignment_timeout, self._settings.checkpoint_timeout))
            passed = self._inner.advance(max(1, late))
            if isawaitable(passed):
                await passed
        thread = self._random.choice([*self._awake])
        del self._awake[thread]
        turn = self._inner.work(thread)
        value = await turn if isawaitable(turn) else turn
        self._hear()
        if value is Turn.OVER:
            self._awake.clear()

    def _hear(self) -> None:
        """Passes on what the job says, but who is woken."""
        for signal in self._inner.signals:
            if type(signal) is ThreadWoken:
                self._awake[signal.thread] = None
            else:
                self.emit(signal)
        self._inner.signals.clear()

    # ---- level job
    async def supply(self, split: int, count: int) -> None:
        await self._done(self._inner.supply(split, count))

    async def end(self, source: int) -> None:
        await self._done(self._inner.end(source))

    async def throttle(self, task: int, on: bool) -> None:
        await self._done(self._inner.throttle(task, on))

    async def trigger(self, kind: CheckpointKind) -> Triggered:
        return await self._done(self._inner.trigger(kind))

    async def fail(self, target: FailureTarget, number: int, point: FailurePoint) -> bool:
        return await self._done(self._inner.fail(target, number, point))

    async def cancel(self) -> None:
        await self._done(self._inner.cancel())

    async def stop_with_savepoint(self) -> Triggered:
        return await self._done(self._inner.stop_with_savepoint())

    async def settle(self, until: Until) -> bool:
        return await self._done(self._inner.settle(until), works=False)

    async def snapshot(self, checkpoint: int) -> JobCheckpoint | None:
        return await self._done(self._inner.snapshot(checkpoint), works=False)

    async def state(self, vertex: int) -> tuple[OperatorState, ...]:
        return await self._done(self._inner.state(vertex), works=False)

    async def output(self, sink: int) -> Runs:
        return await self._done(self._inner.output(sink), works=False)

    async def fault(self, place: str, kind: FaultKind, nth: int = 1) -> bool:
        return await self._done(self._inner.fault(place, kind, nth))

    async def resources(self) -> Resources:
        return await self._done(self._inner.resources(), works=False)

    async def release(self) -> None:
        await self._done(self._inner.release(), works=False)

    # ---- level steps
    def threads(self) -> tuple[str, ...]:
        raise self._nobody()

    def work(self, thread: str) -> Turn:
        raise self._nobody()

    def lose(self, thread: str) -> bool:
        raise self._nobody()

    def advance(self, milliseconds: int) -> None:
        raise self._nobody()

    def _nobody(self) -> PortError:
        return PortError(ErrorKind.ARGUMENT, "the threads of this job work on their own")


class Unstepped(Implementation):
    """The jobs of an implementation, which work on their own."""

    def __init__(self, inner: Implementation) -> None:
        self._inner = inner
        self.name = f"{inner.name}-unstepped"
        self.version = inner.version

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Those of the implementation, but those of steps."""
        return self._inner.capabilities - {Capability.JOB_STEPS, Capability.STEPPING}

    def components(self) -> Mapping[str, Factory]:
        """Its jobs."""
        offered = self._inner.components().items()
        return {name: partial(self._job, make) for name, make in offered if INTERFACES[name].port is PipelinePort}

    def _job(self, make: Factory, config: Any) -> UnsteppedJob:
        inner = make(config)
        assert isinstance(inner, PipelinePort)
        return UnsteppedJob(inner, config)

    def close(self) -> None:
        """Ends what the implementation needs to run."""
        self._inner.close()
