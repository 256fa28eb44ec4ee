"""A whole job in processes of its own, as its user runs it: input goes in, a process dies, and the job is started again
on the recovery data that is left.

It is a job at the level *job* (`PipelinePort`) of an engine that takes checkpoints on its own. What belongs to such an
engine alone is here: where user code dies, what the output promises, and what is left when a process is killed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, NoReturn

from msgspec import Meta, Struct, field

from conformance.ports.faults import FaultKind, Places
from conformance.ports.implementation import Implementation
from conformance.ports.outcomes import ErrorKind, PortError
from conformance.ports.pipeline import JobCheckpoint, JobConfig, OperatorState, PipelinePort, Triggered
from conformance.ports.pipeline_signals import CheckpointKind, FailurePoint, FailureTarget, Runs
from conformance.ports.port import Answer
from conformance.ports.task_restore import Turn
from conformance.ports.word import Word

__all__ = [
    "MOST_KEYS", "Asked", "Description", "EpisodeJob", "EpisodePort", "EpisodesImplementation", "Life", "Output",
    "Promises", "Row", "UserPlace", "key_among",
]  # fmt: skip

MOST_KEYS = 11


def key_among(record: int, keys: int) -> int:
    """Returns the key of a record if there are so many keys."""
    return record % keys


class UserPlace(Word):
    """A place in user code. A job calls `points.here(PLACE)` there."""

    SOURCE = "source"
    """The source is about to return records."""
    SOURCE_SNAPSHOT = "source-snapshot"
    """The source is asked for its state."""
    COUNT = "count"
    """The operator is about to count a record."""
    COUNT_SNAPSHOT = "count-snapshot"
    """The operator is asked for its state."""
    SINK_BEFORE = "sink-before"
    """The sink is about to write."""
    SINK_AFTER = "sink-after"
    """The sink has written."""
    SINK_SNAPSHOT = "sink-snapshot"
    """The sink is asked for its state."""
    NOTICE = "notice"
    """User code is notified that a checkpoint is complete."""


class Output(Word):
    """What an engine promises of its output. It promises of its state that each record counts once in all three."""

    EXACTLY_ONCE = "exactly-once"
    """Each record comes out once."""
    ONCE_PER_BATCH = "once-per-batch"
    """Each row is in a batch. A batch that is written again takes the place of the earlier one, and is the same."""
    AT_LEAST_ONCE = "at-least-once"
    """A later life may write again what an earlier one has written."""


class Promises(Struct, frozen=True, forbid_unknown_fields=True):
    """What an adapter promises of its engine and its job."""

    output: Output = Output.EXACTLY_ONCE
    committed: bool = True
    """Whether a row is committed as soon as `rows` has it. Otherwise rows are committed once the job has finished, and
    may vanish before that, as from a file that is cut back to its length in the restored checkpoint."""
    rescales: bool = False
    """The job can be started again with another parallelism."""
    images: bool = False
    """The job can be started from a copy of its folder that was made while all its threads stood still."""
    continues: bool = False
    """A job that has finished can be started again, and reads what was supplied later. Otherwise, nothing is started
    after the end: an engine may have deleted its recovery data (Flink deletes the checkpoints of a finished job)."""
    restarts: bool = False
    """If user code throws, the engine restarts the job in the same process."""
    chosen: bool = False
    """The job takes a checkpoint when it is asked for one. What had come out by then is in it."""
    savepoint: bool = False
    """The job can be stopped with a savepoint, from which the next life starts: all that was read has come out then,
    and nothing is read behind it."""
    stops: bool = False
    """The job can be asked to stop: it ends what it does and its processes, and the next life starts on what it leaves.
    That may be a checkpoint, or nothing more than a kill leaves."""


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """What an adapter says of itself, as a JSON object."""

    name: str
    version: str = ""
    promises: Promises = field(default_factory=Promises)
    knobs: Mapping[str, tuple[int | str | bool, ...]] = field(default_factory=dict)
    """Settings of the engine or of the job, each with its possible values, the plainest first."""
    places: tuple[UserPlace, ...] = ()
    """The places that the job's user code calls."""
    most_parallelism: Annotated[int, Meta(ge=1, le=64)] = 3
    rows: str = ""
    """A glob in the folder: files whose lines are the rows. They are read file by file, in the order of their names.
    Empty: the command `output` prints the rows."""
    progress: str = ""
    """A glob in the folder: files whose sizes change as long as something happens. Empty: the command `progress` prints
    a number that grows."""
    checkpoints: bool = False
    """Whether the command `checkpoints` prints how many checkpoints have completed so far."""
    serves: bool = False
    """Whether the command `serve` answers all others, one a line, so that none needs a process of its own."""
    start_seconds: Annotated[float, Meta(gt=0)] = 1.0
    """After how long without progress waiting ends in the middle of an episode, where the job may have nothing to do:
    at least as long as the engine takes to start, on a busy machine. For the end of a job the suite waits longer."""
    cores: Annotated[int, Meta(ge=1, le=64)] = 1
    """How many cores an episode takes: a campaign runs as many at once as that leaves room for."""
    host: bool = False
    """Whether lives run in a process that the command `host` starts. A kill ends the life, and not that process: it
    leaves a copy of the folder that is made while all threads stand still."""


class Row(Struct, frozen=True, omit_defaults=True):
    """A record in the output."""

    key: int | str
    count: int
    """How many records of the key have been counted, with this one."""
    record: int
    batch: int = -1
    """The batch, if the output promises that each comes out once; it can be seen as a whole, or not at all."""


class Asked(Struct, frozen=True, omit_defaults=True):
    """What a checkpoint or a savepoint that was asked for must have."""

    completed: bool
    """Whether it has completed; with a savepoint, whether the processes have ended."""
    life: int = 0
    """The number of the life in which it was."""
    out: tuple[int, ...] = ()
    """By split: the position behind the last of its records that had come out when it was asked for; with a savepoint,
    when the processes had ended. The source had read so far, or further."""


class Life(Struct, frozen=True, omit_defaults=True):
    """How far a life has come: the processes of the job from their start to their death or end."""

    number: int
    """From 0."""
    restored: bool | None = None
    """Whether the job was restored from recovery data; None: it does not tell."""
    completed: int | None = None
    """How many checkpoints have completed in it; None: it does not tell."""
    begins: Mapping[int, int] = field(default_factory=dict)
    """By split, the first position at which it was read; the smallest, if it was opened several times. Without those of
    which the job does not tell."""


class EpisodeJob(Struct, frozen=True, forbid_unknown_fields=True):
    """The job that is started, and what it is started on."""

    job: JobConfig
    keys: int
    knobs: Mapping[str, int | str | bool]
    location: str = ""
    """What `image` has returned: the job is started on that. Empty: in an empty folder."""


class EpisodePort(PipelinePort):
    """A job in processes of its own: source, count, sink.

    The processes begin with the first operation that waits, so that what is supplied before is there when they begin.
    `release` kills them. If an armed fault lets them die, the port starts them again, as the supervisor of a deployment
    would, and signals `JobRestarted`. If they end with an error that was not armed, the job is over with FAILED.

    Signals: `Committed`, of which the transaction has the number of the life, and that of the checkpoint or 0 if nobody
    knows it, or subtask 0 and the number of the batch; `FaultStruck`, `JobRestarted`, `JobOver`.

    A fault is armed for the next start of the processes: at the nth call of the place since then, it throws (THROWS),
    or all processes are killed (ENDS). Several are armed one after the other, each for a start of its own. `advance`
    waits so long. `settle` with NO_CHECKPOINT waits until a checkpoint has completed in this life, if the engine tells.
    The engine takes checkpoints on its own, so none is triggered, and none can be read.
    """

    can_fail: ClassVar[Places] = {place.value: (FaultKind.ENDS, FaultKind.THROWS) for place in UserPlace}

    @abstractmethod
    def image(self) -> Answer[str]:
        """Return where a job can be started that finds what a kill at this moment would leave: a copy that is made
        while all threads stand still or, after `release`, what is left. Empty: they could not be made to stand
        still."""

    @abstractmethod
    def rows(self, sink: int) -> Answer[tuple[Row, ...]]:
        """Return all rows of the output, those of earlier lives too."""

    @abstractmethod
    def life(self) -> Answer[Life]:
        """Return how far this life has come."""

    def checkpoint(self) -> Answer[Asked]:
        """Ask for a checkpoint, and wait until it has completed, or there is no progress any more. Only asked with the
        promise `chosen`."""
        _not_asked()

    def savepoint(self) -> Answer[Asked]:
        """Stop the job with a savepoint, and wait until its processes have ended, or there is no progress any more.
        With the end that was asked for the job is over with CANCELED, since it has not read everything. Only asked with
        the promise `savepoint`."""
        _not_asked()

    def stop(self) -> Answer[bool]:
        """Ask the job to stop, and wait until its processes have ended, or there is no progress any more. With the end
        that was asked for the job is over with CANCELED. Return whether it is. Only asked with the promise `stops`."""
        _not_asked()

    # ---- what the engine does on its own, or cannot do
    def throttle(self, task: int, on: bool) -> Answer[None]:
        """Not asked."""
        _not_asked()

    def trigger(self, kind: CheckpointKind) -> Answer[Triggered]:
        """Not asked."""
        _not_asked()

    def fail(self, target: FailureTarget, number: int, point: FailurePoint) -> Answer[bool]:
        """Not asked."""
        _not_asked()

    def cancel(self) -> Answer[None]:
        """Not asked."""
        _not_asked()

    def stop_with_savepoint(self) -> Answer[Triggered]:
        """Not asked."""
        _not_asked()

    def snapshot(self, checkpoint: int) -> Answer[JobCheckpoint | None]:
        """Not asked."""
        _not_asked()

    def state(self, vertex: int) -> Answer[tuple[OperatorState, ...]]:
        """Not asked."""
        _not_asked()

    def output(self, sink: int) -> Answer[Runs]:
        """Not asked."""
        _not_asked()

    def threads(self) -> Answer[tuple[str, ...]]:
        """Not asked."""
        _not_asked()

    def work(self, thread: str) -> Answer[Turn]:
        """Not asked."""
        _not_asked()

    def lose(self, thread: str) -> Answer[bool]:
        """Not asked."""
        _not_asked()


def _not_asked() -> NoReturn:
    raise PortError(ErrorKind.STATE, "the engine does this on its own, or cannot do it")


class EpisodesImplementation(Implementation):
    """An engine whose jobs are programs, behind an adapter. It offers the component `episode`."""

    root: Path | None = None
    """Where the folders of runs are made; None: in a temporary folder that `close` deletes."""

    @abstractmethod
    def describe(self) -> Description:
        """What the adapter says. Raises: UnusableImplementation."""

    def seconds(self) -> float:
        """How many CPU seconds processes have taken that live on with the implementation."""
        return 0.0

    @abstractmethod
    def end_run(self) -> Path:
        """Kill what the newest run has left running, and return its folder: recovery data, output, logs. The caller
        keeps or deletes it."""
