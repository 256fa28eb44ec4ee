"""Runs jobs of the reference: a seeded source draws which thread works next, what is triggered, and what fails.

It is no judge: it says whether each supplied record was committed once, and whether checkpoints end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace

from conformance.ports import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    Committed,
    EdgeKind,
    FailurePoint,
    FailureTarget,
    FaultKind,
    JobCheckpoint,
    JobConfig,
    JobOver,
    JobRestarted,
    JobStatus,
    JobTaskChanged,
    PipelinePort,
    Recovery,
    Runs,
    TaskState,
    ThreadWoken,
    Transaction,
    Triggered,
    Turn,
    VertexKind,
    record,
)
from conformance.scheduling import PAUSED, Kernel

OUTSIDE = "outside"
"""The thread of who operates the job."""
MOST_FAILURES = 20
"""How many failures may wait for a drain."""
MOST_STEPS = 300_000
"""How many steps a drain takes at most."""


def upstream(config: JobConfig, vertex: int) -> tuple[set[int], list[int]]:
    """Returns the edges on which records reach a vertex, and the splits from which they do."""
    edges: set[int] = set()
    splits: list[int] = []
    left = [vertex]
    while left:
        at = left.pop()
        if config.vertices[at].kind is VertexKind.SOURCE:
            splits += config.splits_of(at)
        into = [number for number, one in enumerate(config.edges) if one.consumer == at]
        if config.vertices[at].kind is VertexKind.BROADCAST_JOIN:  # it keeps the records of its second input
            del into[1:]
        edges.update(into)
        left += [config.edges[number].producer for number in into]
    return edges, sorted(splits)


class Broken(AssertionError):
    """A job has not done what it must."""


@dataclass
class Outside:
    """What is known of a job, over all ports that have continued it."""

    supplied: list[int]
    """By split, how many records were supplied."""
    committed: dict[tuple[int, Transaction], Runs] = field(default_factory=dict)
    stored: dict[int, JobCheckpoint] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def commit(self, one: Committed) -> None:
        """A transaction has its effect; under the same name it has none a second time."""
        before = self.committed.setdefault((one.sink, one.transaction), one.records)
        if sorted(r for run in before for r in run) != sorted(r for run in one.records for r in run):
            raise Broken(f"transaction {one.transaction} had {before} before, and has {one.records} now")

    def check(self, config: JobConfig) -> None:
        """Everything that was supplied was committed, once by each sink that it reaches."""
        for sink, one in enumerate(config.vertices):
            if one.kind is not VertexKind.SINK:
                continue
            all_of = Counter(
                one for (at, _), runs in self.committed.items() if at == sink for run in runs for one in run
            )
            doubled = [one for one, count in all_of.items() if count > 1]
            if doubled:
                raise Broken(f"sink {sink} has committed twice: {doubled[:5]} ({len(doubled)})")
            due = {record(split, n) for split in upstream(config, sink)[1] for n in range(self.supplied[split])}
            if extra := sorted(set(all_of) - due):
                raise Broken(f"sink {sink} has committed what nobody has supplied: {extra[:5]}")
            if missing := sorted(due - set(all_of)):
                raise Broken(f"sink {sink} has not committed {missing[:5]} ({len(missing)})")


class Run:
    """One port. Who works next is drawn."""

    def __init__(self, make: Callable[[JobConfig], PipelinePort], config: JobConfig, outside: Outside, seed: int,
                 fine: bool = False) -> None:  # fmt: skip
        self.config = config
        self.outside = outside
        self.random = Random(seed)
        port: Any = make(config)
        self.port = port
        self.kernel = Kernel([*port.threads(), OUTSIDE], fine)
        self.able: dict[str, None] = {}
        self.states = [TaskState.INITIALIZING] * len(config.tasks())
        self.pending: set[int] = set()
        self.over: JobOver | None = None
        self.weights: dict[str, float] = {}
        self.steps = 0
        self.restarts = 0
        self.newest = config.restored
        for split, count in enumerate(outside.supplied):
            before = 0 if config.restored is None else self.offset(config.restored, split)
            if count > before:
                self.port.supply(split, count - before)
        self.hear()

    @staticmethod
    def offset(checkpoint: JobCheckpoint, split: int) -> int:
        """Returns how many records of a split were emitted in a checkpoint."""
        return max(
            (
                one.offset
                for states in checkpoint.states
                for state in states
                for one in state.splits
                if one.split == split
            ),
            default=0,
        )

    # ---- steps
    def hear(self) -> None:
        """Read the signals of the port."""
        told = self.port.signals
        if not told:
            return
        self.port.signals = []
        counts = self.outside.counts
        for one in told:
            if type(one) is ThreadWoken:
                self.able[one.thread] = None
                continue
            counts[type(one).__name__] += 1
            if type(one) is Committed:
                self.outside.commit(one)
            elif type(one) is CheckpointCompleted:
                self.pending.discard(one.checkpoint)
                stored = self.port.snapshot(one.checkpoint)
                self.check_cut(stored)
                self.outside.stored[one.checkpoint] = stored
                if one.kind is not CheckpointKind.SAVEPOINT:
                    self.newest = stored
            elif type(one) is CheckpointFailed:
                counts[f"failed {one.reason}"] += 1
                self.pending.discard(one.checkpoint)
            elif type(one) is JobTaskChanged:
                self.states[one.task] = one.state
            elif type(one) is JobRestarted:
                self.restarts += 1
                due = 0 if self.newest is None else self.newest.checkpoint
                if one.checkpoint != due:
                    raise Broken(f"restarted from {one.checkpoint}, the newest is {due}")
            elif type(one) is JobOver:
                self.over = one

    def call(self, operation: Any) -> Any:
        """Perform an operation from outside, to its end."""
        if not hasattr(operation, "send"):
            self.hear()
            return operation
        thread = self.kernel.threads[OUTSIDE]
        value = self.kernel.start(thread, (OUTSIDE,), operation)
        while value is PAUSED:
            self.hear()
            if thread.runnable and self.random.random() < 0.5:
                value = self.kernel.run(thread)
            elif not self.step(but=OUTSIDE) and not thread.runnable:
                raise Broken(f"stuck: {self.kernel.waiting()}")
        self.hear()
        return value

    def step(self, but: str = "") -> bool:
        """A thread that can act works, or goes on. Returns whether there was one."""
        threads = self.kernel.threads
        able = [name for name in self.able if threads[name].coroutine is None]
        if self.kernel.in_flight:
            able += [one.name for one in threads.values() if one.runnable and one.name != but]
        if not able:
            return False
        name = self.random.choice(able) if not self.weights else self.draw(able)
        thread = threads[name]
        self.steps += 1
        if thread.coroutine is None:
            del self.able[name]
            work = self.port.work_finely if self.kernel.fine else self.port.work
            turn = work(name)
            value = self.kernel.start(thread, (name,), turn) if self.kernel.fine else turn
        else:
            value = self.kernel.run(thread)
        if value is Turn.WAITS:
            self.outside.counts["vain"] += 1
            self.outside.counts["vain " + name.partition(" ")[0]] += 1
        if self.port.signals:
            self.hear()
        return True

    def draw(self, able: list[str]) -> str:
        """Some threads are slower than others."""
        weights = [self.weights.get(name.partition(" ")[0], self.weights.get(name, 1.0)) for name in able]
        return self.random.choices(able, weights)[0]

    def swarm(self) -> None:
        """Draw who is slow in this attempt."""
        slow = self.random.choice(("", "restore", "task", "link", "writer", "master", "to", "from"))
        self.weights = {slow: 0.05} if slow else {}

    # ---- what is checked
    def check_cut(self, stored: JobCheckpoint) -> None:
        """Each split is in one place, and aligned checkpoints have no channel state."""
        places = Counter(stored.unassigned)
        places.update(one.split for states in stored.states for state in states for one in state.splits)
        if places != Counter(range(len(self.outside.supplied))):
            raise Broken(f"checkpoint {stored.checkpoint}: splits {places}")
        if stored.in_flight and stored.kind in (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT):
            raise Broken(f"checkpoint {stored.checkpoint} is aligned and has {stored.in_flight}")
        for vertex, one in enumerate(self.config.vertices):
            if one.kind in (VertexKind.COUNT, VertexKind.SINK):
                self.check_conservation(stored, vertex)
        self.outside.counts["with channel state"] += bool(stored.in_flight)
        self.outside.counts["in recovery"] += TaskState.INITIALIZING in self.states

    def check_conservation(self, stored: JobCheckpoint, vertex: int) -> None:
        """What the sources count as emitted is in the state of a vertex, or on its way to it, and is there once."""
        edges, splits = upstream(self.config, vertex)
        there = Counter(
            one for flying in stored.in_flight if flying.edge in edges for run in flying.records for one in run
        )
        if self.config.vertices[vertex].kind is VertexKind.COUNT:
            there.update(one for state in stored.states[vertex] for run in state.records for one in run)
        else:
            written = {
                name: runs for (sink, name), runs in self.outside.committed.items()
                if sink == vertex and name.checkpoint <= stored.checkpoint
            }  # fmt: skip
            written.update({one.transaction: one.records for state in stored.states[vertex] for one in state.prepared})
            there.update(one for runs in written.values() for run in runs for one in run)
        emitted = Counter(record(split, n) for split in splits for n in range(self.offset(stored, split)))
        if emitted != there:
            lost, more = sorted((emitted - there).elements()), sorted((there - emitted).elements())
            raise Broken(f"checkpoint {stored.checkpoint}, vertex {vertex}: lost {lost[:5]}, more {more[:5]}")

    # ---- longer stretches
    def trigger(self, kind: CheckpointKind) -> Triggered:
        """Trigger a checkpoint."""
        triggered: Triggered = self.call(self.port.trigger(kind))
        if triggered.refused is None:
            self.pending.add(triggered.checkpoint)
        self.outside.counts[f"triggered {kind}" if triggered.refused is None else f"refused {triggered.refused}"] += 1
        return triggered

    def go_on(self, steps: int) -> None:
        """So many steps, unless nobody can act."""
        for _ in range(steps):
            if self.over is not None or not self.step():
                return

    def until(self, reached: Callable[[], bool]) -> bool:
        """Steps until it has come to that. Returns whether it has."""
        for _ in range(MOST_STEPS):
            if reached():
                return True
            if not self.step():
                return reached()
        raise Broken("stuck: it does not come to an end")

    def random_stretch(self, steps: int) -> None:
        """Random steps, checkpoints, failures, throttles and time."""
        draw = self.random
        for _ in range(steps):
            if self.over is not None:
                return
            chance = draw.random()
            if chance < 0.02:
                self.trigger(draw.choice(KINDS))
            elif chance < 0.026:
                self.fail()
            elif chance < 0.034:
                self.call(self.port.throttle(draw.randrange(len(self.states)), draw.random() < 0.4))
            elif chance < 0.037:
                self.call(self.port.advance(draw.choice((5, 10, 60))))
            elif chance < 0.041:
                threads = [name for name in self.port.threads() if name.startswith(("to ", "from "))]
                lost = self.call(self.port.lose(draw.choice(threads)))
                self.outside.counts["lost"] += lost
            elif chance < 0.044:
                place = draw.choice(sorted(PipelinePort.can_fail))
                self.call(self.port.fault(place, FaultKind.THROWS, draw.choice((1, 1, 2, 4))))
            elif chance < 0.05:
                split = draw.randrange(len(self.outside.supplied))
                self.outside.supplied[split] += 1
                self.call(self.port.supply(split, 1))
            elif not self.step():
                self.trigger(draw.choice(KINDS))

    def fail(self) -> None:
        """Something fails, now or later."""
        draw = self.random
        target = draw.choice(tuple(FailureTarget))
        most = {FailureTarget.TASK: len(self.states), FailureTarget.WORKER: self.config.settings.workers}
        point = draw.choice((FailurePoint.NOW, *FailurePoint))
        self.call(self.port.fail(target, draw.randrange(most.get(target, 1)), point))
        self.swarm()

    def restore_chain(self, links: int) -> None:
        """A checkpoint while operators stand still, a failure, a checkpoint at once, a failure …"""
        draw = self.random
        for link in range(links):
            held = [task for task in range(len(self.states)) if draw.random() < 0.4]
            if link:
                self.go_on(draw.choice((0, 5, 20, 60)))
            for task in held:
                self.call(self.port.throttle(task, True))
            self.go_on(draw.choice((5, 20, 60, 120)))
            triggered = self.trigger(CheckpointKind.UNALIGNED)
            if triggered.refused is None:
                for _ in range(1500):
                    if triggered.checkpoint not in self.pending or not self.step():
                        break
            for task in held:
                self.call(self.port.throttle(task, False))
            self.swarm()
            self.call(self.port.fail(FailureTarget.TASK, draw.randrange(len(self.states)), FailurePoint.NOW))

    def drain(self) -> None:
        """Nothing stands still any more; then checkpoints until two complete.

        Of one that fails, all messages may be lost; then channels are blocked until there is another one.
        """
        self.weights = {}
        completed = 0
        for task in range(len(self.states)):
            self.call(self.port.throttle(task, False))
        for _ in range(MOST_FAILURES):
            self.until(lambda: False)
            self.call(self.port.advance(1_000))
            self.until(lambda: False)
            if self.over is not None:
                return
            last = self.trigger(CheckpointKind.ALIGNED)
            self.until(lambda: False)
            completed += last.checkpoint in self.outside.stored
            if completed == 2:
                return
            if last.checkpoint in self.pending:
                raise Broken(f"stuck: checkpoint {last} is pending; {self.kernel.waiting()}")
        raise Broken("no checkpoint completes any more")

    def finish(self) -> None:
        """All sources end; the job finishes with checkpoints that complete."""
        self.weights = {}
        for task in range(len(self.states)):
            self.call(self.port.throttle(task, False))
        for vertex, one in enumerate(self.config.vertices):
            if one.kind is VertexKind.SOURCE:
                self.call(self.port.end(vertex))
        for _ in range(MOST_FAILURES):
            self.until(lambda: False)
            if self.over is not None:
                break
            self.call(self.port.advance(1_000))
            self.trigger(CheckpointKind.ALIGNED)
        if self.over is None or self.over.status is not JobStatus.FINISHED:
            raise Broken(f"the job does not finish: {self.over}, {self.states}, {self.kernel.waiting()}")

    def stop(self) -> bool:
        """The job is stopped with a savepoint. Returns whether it has stopped; if not, it goes on."""
        self.weights = {}
        for task in range(len(self.states)):
            self.call(self.port.throttle(task, False))
        self.until(lambda: False)
        stopped: Triggered = self.call(self.port.stop_with_savepoint())
        if stopped.refused is not None:
            return False
        self.pending.add(stopped.checkpoint)
        if self.random.random() < 0.3:
            self.go_on(self.random.randrange(200))
            if self.over is None:
                self.fail()
        self.until(lambda: False)
        self.outside.counts[f"stopped {None if self.over is None else self.over.status}"] += 1
        if self.over is None:
            return False
        self.newest = self.outside.stored[stopped.checkpoint]
        return True

    def cancel(self) -> None:
        """The job is cancelled, and is over."""
        self.call(self.port.cancel())
        self.until(lambda: False)
        if self.over is None or self.over.status is not JobStatus.CANCELED or self.pending:
            raise Broken(f"after it was cancelled: {self.over}, {self.pending}")

    def close(self) -> None:
        """The port is released, and holds nothing."""
        self.kernel.close()
        release = self.port.release()
        if hasattr(release, "send"):
            self.call(release)
        held = self.port.resources()
        if held.segments or held.files or held.listeners or held.futures:
            raise Broken(f"after the release, {held} is held")

    def restart_with(self, make: Callable[[JobConfig], PipelinePort], seed: int) -> Run:
        """Another port, from the newest checkpoint, with other parallelisms, in another design, with other flags."""
        self.close()
        draw = self.random
        settings = replace(
            self.config.settings,
            recovery=draw.choice((Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)),
            output_on_downstream=draw.random() < 0.7,
            during_recovery=draw.random() < 0.85,
        )
        vertices = self.config.vertices
        if draw.random() < 0.7:
            sizes = [draw.choice((1, 2, 3, 4)) for _ in vertices]
            for edge in self.config.edges:
                if edge.kind is EdgeKind.FORWARD:  # its ends have the same parallelism
                    old, new = sizes[edge.consumer], sizes[edge.producer]
                    sizes = [new if one == old else one for one in sizes]
            vertices = tuple(replace(one, parallelism=size) for one, size in zip(vertices, sizes, strict=True))
            self.outside.counts["rescaled"] += 1
            self.outside.counts["rescaled with channel state"] += bool(self.newest and self.newest.in_flight)
        config = replace(self.config, vertices=vertices, settings=settings, restored=self.newest)
        return Run(make, config, self.outside, seed, self.kernel.fine)


KINDS = (
    CheckpointKind.UNALIGNED,
    CheckpointKind.UNALIGNED,
    CheckpointKind.TIMEOUTABLE,
    CheckpointKind.ALIGNED,
    CheckpointKind.SAVEPOINT,
)
