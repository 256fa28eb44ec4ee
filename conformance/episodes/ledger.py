"""The ledger of an episode: that of a job, over the lives of its processes.

The world goes on when a process dies: what was supplied stays supplied, and what was committed stays committed. A life
that begins from an image begins in the world as it was when the image was taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from conformance import ports
from conformance.components.pipeline.ledger import CORRUPTED, CRASHED, DUPLICATED, LOST, OVER, PROTOCOL, Ledger, Sink
from conformance.components.pipeline.records import Records
from conformance.driver import Seen
from conformance.episodes.config import SINK, EpisodeConfig
from conformance.models.records import in_words
from conformance.ports import Transaction
from conformance.ports.episodes import Asked, EpisodeJob, Life, Output, Row

TWICE = "nothing-is-committed-twice-or-made-up"
REPLAYS = "a-record-comes-again-only-from-a-later-life"
SAME = "a-replayed-batch-is-the-same"
AGAIN = "a-job-starts-again-from-its-own-recovery-data"
LOST_ONE = "a-job-finishes-when-all-is-committed"
BEHIND = "what-came-out-before-a-savepoint-does-not-come-again"
FEW = 6
"""How many records a message names."""


@dataclass(frozen=True, slots=True)
class World:
    """What is there outside the processes."""

    location: str
    supplied: Mapping[int, int]
    ended: frozenset[int]
    committed: Records
    rows: Sequence[Row]
    batches: Mapping[Transaction, ports.Runs]
    kept: tuple[Asked, ...]
    sealed: Records


class EpisodeLedger(Ledger):
    """Phases: *live*, *over*, *failed*, as those of a job. After *failed*, another life can begin."""

    __slots__ = (
        "again", "batches", "finished", "images", "in_life", "kept", "key_of", "keys_are", "knobs", "lives", "location",
        "name_of", "promises", "rows", "saving", "sealed", "stuck", "told", "waited",
    )  # fmt: skip

    def __init__(self, scenario: EpisodeConfig) -> None:
        self.promises, self.knobs = scenario.promises, scenario.knobs
        self.keys_are, self.key_of, self.name_of = scenario.keys, scenario.key_of, scenario.name_of
        self.lives = 0
        """How many lives there were before this one that the user has started again."""
        self.location = ""
        self.images: list[World] = []
        self.rows: Sequence[Row] = ()
        """The rows that were committed when they were read last."""
        self.batches: dict[Transaction, ports.Runs] = {}
        """By batch, what has come out."""
        self.finished = False
        """Whether a life has finished, and nothing was supplied since."""
        self.stuck = False
        """Whether the engine made no progress any more, which is no verdict."""
        self.in_life: dict[int, Records] = {}
        """By life, what it has committed."""
        self.waited = self.again = False
        """What the drain has done."""
        self.told: list[Life] = []
        """What each life has said of itself, as far as it was asked."""
        self.kept: list[Asked] = []
        """The checkpoints and savepoints that were asked for and have completed."""
        self.saving = False
        """Whether this life was asked to stop with a savepoint."""
        self.sealed = Records()
        """The records that had come out when the job was stopped with a savepoint."""
        super().__init__(scenario, frozenset(), {})

    # ---- queries -----------------------------------------------------------------------------------------------------
    def started(self) -> EpisodeJob:
        """Returns the configuration of the port of this life."""
        return EpisodeJob(self.config, self.keys_are, self.knobs, self.location)

    def can_start_again(self) -> bool:
        """Returns whether a life can begin on what is left."""
        return not self.finished or self.promises.continues

    def is_committed(self) -> bool:
        """Returns whether the rows are committed that can be read now."""
        return self.promises.committed or self.status is ports.JobStatus.FINISHED or self.is_stopped()

    def is_stopped(self) -> bool:
        """Returns whether the job was stopped with a savepoint."""
        return self.saving and self.status is ports.JobStatus.CANCELED

    def is_left(self) -> bool:
        """Returns whether the job has ended because it was asked to, and not since it has read everything."""
        return self.status is ports.JobStatus.CANCELED

    def has_read_further(self, life: Life) -> bool:
        """Returns whether a life that has finished has read what no life before it can have read, or has read again
        what is behind the place from which it began."""
        begins = life.begins.items()
        return self.supplied_here > 0 or any(position < self.supplied.get(split, 0) for split, position in begins)

    def least(self, life: Life) -> dict[int, int]:
        """Returns by split a position at which a life must begin, or behind it."""
        found: dict[int, int] = {}
        for one in self.kept:
            for split, out in enumerate(one.out) if one.life < life.number else ():
                found[split] = max(out, found.get(split, 0))
        return found

    def owed(self) -> dict[int | str, int]:
        """Returns by key how many records were supplied."""
        found: Counter[int | str | None] = Counter()
        for split, many in self.supplied.items():
            found.update(self.key_of(ports.record(split, position)) for position in range(many))
        return {key: many for key, many in found.items() if key is not None}

    def owed_after_a_failure(self) -> str:
        """Returns, in words, why a job does not end with FAILED in its first life."""
        if self.failures.count:
            return "the engine restarts a job whose user code has failed"
        return "a job runs until its input has ended, and does not fail on its own"

    def owed_at_its_end(self, sink: int) -> str:
        """Returns, in words, what the sink has done when the job finishes."""
        return "a job that has finished has written each record"

    # ---- what happens ------------------------------------------------------------------------------------------------
    def world(self, location: str = "") -> World:
        """Returns what is there outside the processes."""
        committed = self.sinks[SINK].records.copy()
        sealed = committed if self.is_stopped() else self.sealed
        return World(
            location, dict(self.supplied), frozenset(self.ended), committed, self.rows, dict(self.batches),
            tuple(self.kept), sealed,
        )  # fmt: skip

    def take_image(self, seen: Seen[str]) -> None:
        """Notes what a life can begin from, also later."""
        if seen.value:
            self.images.append(self.world(seen.value))

    def start_again(self, seen: Seen[str], parallelism: int, image: int) -> None:
        """Notes that a life begins on what is left, or on an image."""
        world = self.images[image - 1] if image else self.world(seen.value)
        vertices = tuple(replace(one, parallelism=parallelism) for one in self.config.vertices)
        self._begin(world, replace(self.config, vertices=vertices))

    def start_from(self, seen: Seen[ports.JobCheckpoint | None], checkpoint: int) -> None:
        """Notes that a life begins with a checkpoint; None: nobody knows with which one."""
        self._begin(self.world(), replace(self.config, restored=seen.value))

    def _begin(self, world: World, config: ports.JobConfig) -> None:
        ended: set[int] = set() if self.finished else set(world.ended)
        self.begin_job(config)
        self.lives += 1
        self.location = world.location
        self.supplied, self.ended, self.rows = dict(world.supplied), ended, world.rows
        self.sinks = {SINK: Sink(world.committed.copy())}
        self.batches = dict(world.batches)
        self.kept, self.sealed = list(world.kept), world.sealed
        self.in_life = {}
        self.finished = self.saving = False

    def supply(self, split: int, count: int) -> None:
        """Notes further records. A job that has finished has more to read."""
        if self.finished:
            self.finished, self.ended = False, set()
        super().supply(split, count)

    def settled(self, seen: Seen[bool], until: str) -> None:
        """Notes whether the engine has come to that."""
        super().settled(seen, until)
        self.waited |= self.closing
        self.stuck |= not seen.value and until == ports.Until.OVER.value

    def stop(self) -> None:
        """Notes that the job is to stop."""
        self.act()
        self.cancelled = True

    def save(self) -> None:
        """Notes that the job is to stop with a savepoint."""
        self.stop()
        self.saving = True

    def asked(self, seen: Seen[Asked]) -> None:
        """Notes a checkpoint or a savepoint that has completed."""
        if seen.value.completed:
            self.kept.append(seen.value)

    def read(self, seen: Seen[Sequence[Row]], sink: int) -> None:
        """Notes what is in the output."""
        if self.is_committed():
            self.rows = seen.value

    def tell(self, seen: Seen[Life]) -> None:
        """Notes what a life says of itself."""
        self.told.append(seen.value)

    # ---- signals -----------------------------------------------------------------------------------------------------
    def hear(self, signals: list[ports.Signal]) -> None:
        """Notes what the job says, in this order."""
        for signal in signals:
            if (heard := _HEARS.get(type(signal))) is not None:
                heard(self, signal)

    def named(self, records: Iterable[int], total: int = 0) -> str:
        """Names a few records, as the configuration does, and says how many there are besides. `total`: of how many
        these are a few."""
        every = list(dict.fromkeys(records))
        more = (total or len(every)) - FEW
        return in_words(map(self.name_of, every[:FEW])) + (f" and {more} more" if more > 0 else "")

    def _often(self, again: Sequence[int]) -> str:
        """Names records that have come again, so often each as they are among these, and says how often they came."""
        counts = Counter(again)
        least, most = (1 + one(counts.values()) for one in (min, max))
        times = "twice" if most == 2 else f"{most} times"
        return f"{self.named(sorted(counts))}: {'up to ' if least < most else ''}{times}"

    def _rows_came(self, signal: ports.Committed) -> None:
        sink = self.sinks[SINK]
        twice = sink.records.add(_in_pieces(signal.records))
        if self.sealed.lanes and self.promises.output is Output.AT_LEAST_ONCE:
            again = self.sealed.copy().add(ports.Run(one, one) for one in sorted({*twice}))
            if again:
                self.say(BEHIND, DUPLICATED, "what came out before a savepoint does not come again", self.named(again))
        if signal.transaction.checkpoint and self.promises.output is not Output.ONCE_PER_BATCH:
            self.may_commit(signal.transaction, f"what was written for checkpoint {signal.transaction.checkpoint}")
        replayed = self.promises.output is Output.ONCE_PER_BATCH and signal.transaction in self.batches
        if twice and self.promises.output is not Output.AT_LEAST_ONCE and not replayed:
            self.say(TWICE, DUPLICATED, "each record comes out once", self._often(twice))
        if self.promises.output is Output.ONCE_PER_BATCH:
            before = self.batches.setdefault(signal.transaction, signal.records)
            if before != signal.records:
                other, now = (self.named(ports.records_of(one)) for one in (before, signal.records))
                batch = f"batch {signal.transaction.checkpoint}"
                self.say(SAME, CORRUPTED, f"{batch} was written with {other}", f"written again, it has {now}")
        here = self.in_life.setdefault(signal.transaction.subtask, Records()).add(_in_pieces(signal.records))
        if here and self.promises.output is Output.AT_LEAST_ONCE and self.promises.committed and not self._restarts():
            self.say(REPLAYS, DUPLICATED, "only a later life writes a record again", f"{self._often(here)} in one life")
        paths = self.graph.paths[SINK]
        for run in signal.records:
            split = ports.split_of(run.last)
            if split not in paths or run.first < 0 or run.last >= ports.record(split, self.supplied[split]):
                self.say(TWICE, CORRUPTED, "only what was supplied comes out", self.named([run.last]))

    def _restarts(self) -> bool:
        return self.promises.restarts and self.failures.count > 0

    def _begins_again(self, signal: ports.JobRestarted) -> None:
        self._restarted(signal)
        self.supplied_here = 0  # the processes that have died may have read it, and a checkpoint may have it

    def _missing(self) -> int:
        """Returns how many records were supplied and have not come out."""
        there = self.sinks[SINK].records
        every = there.copy()
        every.add(ports.Run(ports.record(split, 0), ports.record(split, many) - 1) for split, many in
                  self.supplied.items() if many)  # fmt: skip
        return _size(every) - _size(there)

    def _died(self, signal: ports.FaultStruck) -> None:
        self.failures.count += 1
        self.failures.credit += 1

    def _ended(self, signal: ports.JobOver) -> None:
        if signal.status is ports.JobStatus.FAILED and (self.lives or self.attempt):
            self.status, self.phase = signal.status, "over" if self.phase == "live" else self.phase
            self.say(AGAIN, CRASHED, "a life starts on what the one before has left", f"it ended: {signal.cause}")
            return
        if signal.status is ports.JobStatus.FINISHED and signal.cause and not self.has_all_ended():
            self.say(OVER, PROTOCOL, "a job finishes when all of its sources have ended", signal.cause)
        if signal.status is ports.JobStatus.FINISHED and not self.stopped and (left := self.not_committed(SINK)):
            without = self.named(left, self._missing())
            self.say(LOST_ONE, LOST, self.owed_at_its_end(SINK), f"it has finished without {without}")
        Ledger._over(self, signal)
        self.finished |= signal.status is ports.JobStatus.FINISHED


def _in_pieces(runs: Iterable[ports.Run]) -> Iterator[ports.Run]:
    """Yields runs as shorter ones: of a run, a set of records tells only the first `FEW` of a key that it had."""
    for run in runs:
        wide = FEW * (ports.KEYS if run.step == 1 else run.step)
        if run.last - run.first < wide:
            yield run
        else:
            for first in range(run.first, run.last + 1, wide):
                yield ports.Run(first, min(run.last, first + wide - run.step), run.step)


def _size(records: Records) -> int:
    """Returns how many records there are."""
    return sum(len(range(first, end, ports.KEYS)) for borders in records.lanes.values()
               for first, end in zip(borders[::2], borders[1::2], strict=True))  # fmt: skip


_HEARS: Mapping[type, Callable[[EpisodeLedger, Any], None]] = {
    ports.Committed: EpisodeLedger._rows_came,
    ports.CheckpointCompleted: EpisodeLedger._completed,
    ports.CheckpointFailed: EpisodeLedger._checkpoint_failed,
    ports.FaultStruck: EpisodeLedger._died,
    ports.JobRestarted: EpisodeLedger._begins_again,
    ports.JobOver: EpisodeLedger._ended,
}
