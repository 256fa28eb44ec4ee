"""A whole job: sources, operators and sinks in tasks, the network between them, their state, the job master.

What a record is follows from the configuration, so that a scenario only says how many there are. A checkpoint of a job
is a value, from which another job can start: with another parallelism, another recovery design, other settings.

The port has two levels. *Job*: records are supplied, checkpoints are triggered, things fail, and what comes out is
observed; that every engine can do. *Steps*, with the capability `job-steps`: the scenario also says which thread works
next, which message is lost, and how time passes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.assignment import Edge
from conformance.ports.channel import Recovery
from conformance.ports.faults import (
    CHANNEL_STATE_READ,
    CHANNEL_STATE_WRITER,
    CHECKPOINT_STORE,
    COMMIT,
    OPERATOR_COORDINATOR,
    OPERATOR_SNAPSHOT,
    OPERATORS_OPEN,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    FaultKind,
    Places,
)
from conformance.ports.key_groups import LEAST_DEFAULT, MOST
from conformance.ports.pipeline_signals import CheckpointKind, FailurePoint, FailureTarget, Runs, Transaction
from conformance.ports.port import Answer, Port
from conformance.ports.subtask_signals import PartTaken
from conformance.ports.task_restore import Turn
from conformance.ports.word import Word

RECORDS_OF_A_SPLIT = 1_000_000
"""A split has fewer records. The id of a record is its split times this number, plus its position, from 0."""
MOST_SPLITS = 2_000
"""The ids of all records are less than 2³¹."""
KEYS = 11
"""How many keys there are. It has no factor in common with the usual parallelisms, so that records in turn do not meet
the same keys at the same subtask."""


def record(split: int, position: int) -> int:
    """Returns the id of a record."""
    return split * RECORDS_OF_A_SPLIT + position


def split_of(record: int) -> int:
    """Returns the split to which a record belongs."""
    return record // RECORDS_OF_A_SPLIT


def key_of(record: int) -> int:
    """Returns the key of a record. Its hash is `key_groups.hash_of_number`."""
    return record % KEYS


class VertexKind(Word):
    """What the subtasks of a vertex do with records."""

    SOURCE = "source"
    """Reads splits that its operator coordinator assigns to its subtasks, and emits the records of each split in the
    order of their positions. It has no input."""
    MAP = "map"
    """Passes every record on. It has one input."""
    COUNT = "count"
    """Counts records by key, which is its keyed state, and passes them on. It has one input, with a hash edge."""
    UNION = "union"
    """Passes every record on. It has two or more inputs, which are read as one."""
    TWO_INPUT = "two-input"
    """Passes every record on. It has two inputs, which are read in turn."""
    SELECTIVE = "selective"
    """Passes every record on. It has two inputs, and reads the second only while the first has nothing to be read."""
    BROADCAST_JOIN = "broadcast-join"
    """It has two inputs. The records of the second, which has a broadcast edge, are its broadcast state: each subtask
    has all. Those of the first are passed on."""
    SINK = "sink"
    """Writes records in transactions, one for each checkpoint, and commits them in two phases: a transaction is
    prepared in the snapshot, and committed when its subtask is notified that the checkpoint, or a later one, is
    complete, or when it is restored from one. It has one input and no output."""


class JobVertex(Struct, frozen=True, forbid_unknown_fields=True):
    """A vertex of the job. Its inputs and outputs are numbered in the order of the edges."""

    name: str
    """Names mean nothing: they say in a report which vertex is meant."""
    kind: VertexKind
    parallelism: Annotated[int, Meta(ge=1, le=MOST)]
    max_parallelism: Annotated[int, Meta(ge=1, le=MOST)] = LEAST_DEFAULT
    """As key groups have it. It does not change when a checkpoint is restored."""
    splits: Annotated[int, Meta(ge=0, le=MOST_SPLITS)] = 0
    """How many splits a source has, one at least; 0 for others. Splits are numbered through all sources, in the order
    of the vertices."""


class JobSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How the job runs, takes checkpoints, and recovers."""

    workers: Annotated[int, Meta(ge=1)] = 2
    """The worker processes. Subtask s of each vertex runs on worker s modulo this number; a channel is local if both of
    its tasks run on the same one."""
    recovery: Recovery = Recovery.RECOVER_FIRST
    """The design in which the engine recovers if checkpointing during recovery is in effect, that is, if `unaligned`,
    `output_on_downstream` and `during_recovery` are all set; otherwise it recovers with RECOVER_FIRST. Not NONE."""
    unaligned: bool = True
    """Whether unaligned checkpoints are enabled (Flink: `execution.checkpointing.unaligned.enabled`)."""
    during_recovery: bool = True
    """Flink: `execution.checkpointing.unaligned.during-recovery.enabled`."""
    output_on_downstream: bool = True
    """Whether the consumers recover output state (Flink:
    `execution.checkpointing.unaligned.recover-output-on-downstream.enabled`)."""
    alignment_timeout: Annotated[int, Meta(ge=0)] = 10
    """After how many milliseconds a timeoutable checkpoint becomes unaligned (Flink:
    `execution.checkpointing.aligned-checkpoint-timeout`)."""
    checkpoint_timeout: Annotated[int, Meta(ge=1)] = 100
    """After how many milliseconds a checkpoint that is not complete expires (Flink:
    `execution.checkpointing.timeout`)."""
    concurrent: Annotated[int, Meta(ge=1)] = 1
    """How many checkpoints may be pending at a time, savepoints apart; 1 if `unaligned` is set (Flink:
    `execution.checkpointing.max-concurrent-checkpoints`)."""
    tolerable: Annotated[int, Meta(ge=0)] = 1_000_000
    """How many checkpoints in a row may fail for a reason that counts (`CheckpointReason.counts`). With one more, all
    tasks are restarted, and counting begins anew, as it does when a checkpoint completes that is no savepoint. After
    `FailureTarget.MASTER` it may begin anew (Flink: `execution.checkpointing.tolerable-failed-checkpoints`)."""
    regions: bool = True
    """Whether after the failure of a task only its region is restarted: the tasks that are connected with it through
    channels, directly or not. Otherwise, and after `FailureTarget.MASTER` and `JOB`, all are. A task that has finished
    is restarted with the others (Flink: `jobmanager.execution.failover-strategy`)."""
    room: Annotated[int, Meta(ge=1)] = 3
    """How many data buffers wait in a subpartition from which on its task has no room: it takes priority events and
    mails, and no data."""
    records_in_buffer: Annotated[int, Meta(ge=1)] = 1
    """How many records of a split a source emits at a time, at most."""
    exclusive_buffers: Annotated[int, Meta(ge=0)] = 2
    floating_buffers: Annotated[int, Meta(ge=1)] = 2
    recovery_buffers: Annotated[int, Meta(ge=1)] = 64
    """How many buffers a task has for recovered data (`TaskRestoreConfig.buffers`)."""
    sharing: Annotated[int, Meta(ge=1)] = 1
    """How many subtasks on a worker share the file of their channel state (Flink:
    `execution.checkpointing.unaligned.max-subtasks-per-channel-state-file`)."""
    watermarks: Annotated[int, Meta(ge=0)] = 0
    """After how many of its records a subtask of a source emits a watermark, once it has its splits: how many records
    of each of them it has emitted at least. 0: never. Any other subtask has the smallest of the last watermarks of its
    channels, once all have had one, and passes it on when it grows. A restart begins without."""
    seed: int = 0
    """An engine in which chance says which thread works next, as in `settle`, begins with this number; others ignore
    it."""


class SplitState(Struct, frozen=True):
    """A split that a reader has, and how many of its records the reader has emitted."""

    split: int
    offset: int


class Prepared(Struct, frozen=True):
    """A transaction that was prepared and, as far as the subtask knew, not committed."""

    transaction: Transaction
    records: Runs


class OperatorState(Struct, frozen=True, omit_defaults=True):
    """The state of the operator of one subtask. Those of a map, a union and the like have none."""

    splits: tuple[SplitState, ...] = ()
    """Of a source: the splits of its reader, those too that were read to the end."""
    records: Runs = ()
    """Of a count: the records counted, by key and, for each key, by split; those of one key and split in the order in
    which they were counted, so that as long as this is their order there is one run, with the step `KEYS`. Of a
    broadcast join: the records of its second input, by split, those of one split in the order of their coming."""
    prepared: tuple[Prepared, ...] = ()
    """Of a sink, in the order of the checkpoints. A snapshot prepares a transaction for its checkpoint, unless nothing
    was written. The subtask is that of the job in which it was prepared. What was written since is in none."""
    watermark: int = 0
    """Of a subtask with inputs: of each split, so many records have come, and none of them comes any more. 0: none."""


class Side(Word):
    """Where a task has stored a record that was in flight."""

    INPUT = "input"
    """The consumer: it is input state of its channel."""
    OUTPUT = "output"
    """The producer: it is output state of its subpartition."""


class InFlight(Struct, frozen=True):
    """Records of one channel that a checkpoint stores, in their order. Those of the input were sent first."""

    edge: int
    producer: int
    """The subtask of the producer."""
    consumer: int
    """The subtask of the consumer."""
    side: Side
    records: Runs


class JobCheckpoint(Struct, frozen=True, omit_defaults=True):
    """A completed checkpoint of a job."""

    checkpoint: int
    kind: CheckpointKind
    parallelism: tuple[int, ...]
    """By vertex."""
    unassigned: tuple[int, ...] = ()
    """The splits that no reader has, as the operator coordinators of the sources have stored it."""
    states: tuple[tuple[OperatorState, ...], ...] = ()
    """By vertex and subtask. The state of a task that has finished is the one of its last snapshot."""
    in_flight: tuple[InFlight, ...] = ()
    """By edge, producer, consumer and side, without those that have no records."""
    taken: tuple[tuple[PartTaken, ...], ...] = ()
    """By vertex and subtask. Of a task that had finished, nothing is said. Empty: the engine says nothing."""
    location: str = ""
    """Where the engine keeps the checkpoint, if it needs more than this value to restore it.

    An engine that keeps everything itself and cannot read it back, so that it has no `checkpoint-readback`, leaves all
    but this field, `checkpoint`, `kind` and `parallelism` empty. If it can read where all splits are, it may show that
    in `unassigned` and `states`: each subtask of a source has its `splits` there, and other vertices have no subtasks.
    Such an engine keeps what is outside the job, too, as `JobConfig.restored` says."""


class JobConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A job, and the checkpoint from which it starts.

    Vertices are in an order in which each edge leads to a later one. From a source to a sink there is at most one path
    on which records are passed on, so that a sink must commit each record that reaches it once. A forward edge joins
    vertices of the same parallelism. Edges of the kinds forward, rescale and broadcast never have channel state: their
    barriers are always aligned, and an unaligned checkpoint waits for them. Either all edges into a union are of these
    kinds, or none is. The kind shuffle does not occur.
    """

    vertices: tuple[JobVertex, ...]
    edges: tuple[Edge, ...]
    settings: JobSettings = JobSettings()
    restored: JobCheckpoint | None = None
    """Of a job with the same vertices and edges, but for parallelism. Of each split, the records in front of its offset
    exist from the beginning, and no others. The ids of checkpoints go on behind that of this one.

    Of an engine without `checkpoint-readback`: the records that were supplied to the jobs before exist, and none of
    their sources has ended. Sinks keep the transactions that were committed for this checkpoint or an older one:
    committed again under its name, one has no second effect, and is not signalled. Those of newer checkpoints they
    forget."""

    def tasks(self) -> tuple[tuple[int, int], ...]:
        """Returns vertex and subtask of each task, by its number: subtasks are numbered through all vertices."""
        return tuple(
            (vertex, subtask) for vertex, one in enumerate(self.vertices) for subtask in range(one.parallelism)
        )

    def task(self, vertex: int, subtask: int) -> int:
        """Returns the number of a task."""
        return sum(one.parallelism for one in self.vertices[:vertex]) + subtask

    def splits_of(self, vertex: int) -> range:
        """Returns the numbers of the splits of a source."""
        first = sum(one.splits for one in self.vertices[:vertex])
        return range(first, first + self.vertices[vertex].splits)


class Refusal(Word):
    """Why a checkpoint is not triggered. Nothing happens then."""

    OVER = "over"
    """The job is over, or being cancelled."""
    STOPPING = "stopping"
    """The job is being stopped with a savepoint."""
    NOT_RUNNING = "not-running"
    """Not all tasks were deployed since the last failure, or have begun to restore. An engine may wait longer, until
    all are running, and refuse meanwhile."""
    TOO_MANY = "too-many"
    """As many are pending as may be, or another one is being triggered. A savepoint is only refused for the second
    reason."""
    DISABLED = "disabled"
    """Unaligned checkpoints are not enabled, or the engine has no such kind."""


class Triggered(Struct, frozen=True, omit_defaults=True):
    """The checkpoint that was triggered, or why none was."""

    checkpoint: int = 0
    """Its id, larger than all before; 0: none."""
    refused: Refusal | None = None
    kind: CheckpointKind | None = None
    """Of which kind it is, if it is not of the kind that was asked for: the configuration of some engines says of which
    kind all checkpoints of a job are, savepoints apart. Without unaligned checkpoints it is ALIGNED."""


class Until(Word):
    """How long to wait for the engine."""

    NO_CHECKPOINT = "no-checkpoint"
    """Until no checkpoint is pending."""
    RUNNING = "running"
    """Until every task is running or has finished, or the job is over."""
    IDLE = "idle"
    """Until nothing is left to do, as long as nothing is supplied, nothing fails, and no time passes."""
    OVER = "over"
    """Until the job is over."""


class PipelinePort(Port):
    """A job, deployed as the configuration says. Specification: pipeline.md.

    Every operation is allowed at any time, also while the job restores, when it is over, and after `release`; after
    that, those that change something do nothing. None fails, but `work` for a thread that does not exist.

    Signals: `CheckpointBegun`, `CheckpointCompleted`, `CheckpointFailed`, `Committed`, `JobRestarted`,
    `JobTaskChanged`, `TaskReady`, `FailureStruck`, `FaultStruck`, `JobOver` and, with `job-steps`, `ThreadWoken`. An
    engine that cannot tell when a task changes its state or is ready leaves `JobTaskChanged` and `TaskReady` out. One
    that triggers no checkpoint by itself never says `CheckpointBegun`.

    A failure that `fail` or `fault` causes restarts the region or all, at once or in a later turn of the job master. A
    fault at `checkpoint-store`, or when a state file is opened, written, flushed or closed, lets a checkpoint fail and
    no task. One at `operator-coordinator` lets the checkpoint fail, and all tasks are restarted. One at `commit` lets
    the task of the sink fail, and the transaction is committed after the restart. All others let a task fail.
    """

    can_fail: ClassVar[Places] = {
        OPERATORS_OPEN: (FaultKind.THROWS,),
        CHANNEL_STATE_READ: (FaultKind.THROWS,),
        OPERATOR_SNAPSHOT: (FaultKind.THROWS,),
        CHANNEL_STATE_WRITER: (FaultKind.THROWS,),
        COMMIT: (FaultKind.THROWS,),
        OPERATOR_COORDINATOR: (FaultKind.THROWS,),
        CHECKPOINT_STORE: (FaultKind.THROWS,),
        STATE_FILE_OPEN: (FaultKind.THROWS,),
        STATE_FILE_WRITE: (FaultKind.THROWS,),
        STATE_FILE_FLUSH: (FaultKind.THROWS,),
        STATE_FILE_CLOSE: (FaultKind.THROWS,),
    }

    # ---- level job
    @abstractmethod
    def supply(self, split: int, count: int) -> Answer[None]:
        """So many further records of a split exist from now on, outside the job, whatever happens to the job. A reader
        that has the split emits them sooner or later. After `end` of its source, or when the job is over, nothing
        happens."""

    @abstractmethod
    def end(self, source: int) -> Answer[None]:
        """No further records of the splits of a source (the number of a vertex) will be supplied. Once all its splits
        are assigned and read to the end, its tasks take part in one more checkpoint that completes (a savepoint does
        not do), and finish; so do the tasks behind them, once all their inputs have ended. The job finishes with its
        last task. Called again, nothing happens."""

    @abstractmethod
    def throttle(self, task: int, on: bool) -> Answer[None]:
        """From now on the operator of a task stands still between two records, or no longer does: it takes no data, and
        a source emits none. Mails, priority events, network and files go on; what has no priority in the queues of its
        inputs stays there. A restart does not change it. Nothing happens when the job is over."""

    @abstractmethod
    def trigger(self, kind: CheckpointKind) -> Answer[Triggered]:
        """A checkpoint is triggered, or refused. It ends with one `CheckpointCompleted` or `CheckpointFailed`, which
        may come later.

        A checkpoint that completes and is no savepoint ends older ones that are pending, savepoints excepted, as
        SUBSUMED. A savepoint ends none. Only of a checkpoint that is no savepoint the tasks are notified.
        """

    @abstractmethod
    def fail(self, target: FailureTarget, number: int, point: FailurePoint) -> Answer[bool]:
        """Something fails, now or when it comes to that point for the first time; then `FailureStruck` is signalled.

        At most one failure waits for a point; another call with such a point takes its place. It waits over restarts.

        Returns: whether it has struck or waits. False if there is nothing that can fail: the job is over, or NOW no
        task of the target is deployed that has not finished (MASTER and JOB can always fail until the job is over).
        """

    @abstractmethod
    def cancel(self) -> Answer[None]:
        """The job is cancelled, whatever it does. It is over with CANCELED, at once or later, unless it is over before.
        Pending checkpoints fail."""

    @abstractmethod
    def stop_with_savepoint(self) -> Answer[Triggered]:
        """A savepoint is triggered, or refused, after which the job finishes. Sources emit nothing behind its barriers.
        When it is complete, tasks are notified of it, sinks commit, all tasks finish, and the job is over with
        FINISHED.

        If the savepoint fails, the job goes on, and sources emit again. If a task fails before the savepoint is
        complete, it fails, and the job is restarted as usual. If a task fails later, the job is over with FAILED.
        """

    @abstractmethod
    def settle(self, until: Until) -> Answer[bool]:
        """Wait for the engine. Threads that can be stepped work in an order of the engine's own, in which each that can
        act does so sooner or later; no time passes, and no message is lost.

        Returns: whether it came to that; False if it cannot, since nothing can act any more or the job is over, or if
        it takes longer than the engine likes to wait.
        """

    @abstractmethod
    def snapshot(self, checkpoint: int) -> Answer[JobCheckpoint | None]:
        """Return a completed checkpoint, also if a newer one has completed; None if it has not completed. With
        `checkpoint-readback` it has its contents; without, it may say where the splits are."""

    @abstractmethod
    def state(self, vertex: int) -> Answer[tuple[OperatorState, ...]]:
        """Return what the operators of a vertex have now, by subtask: of one that is not deployed, the state with which
        it was, or will be; of one that has finished, its last. Only asked with the capability `checkpoint-readback`."""

    @abstractmethod
    def output(self, sink: int) -> Answer[Runs]:
        """Return all records that a sink has committed in this job, ascending; one that was committed twice is there
        twice."""

    # ---- level steps; only asked with the capability `job-steps`
    @abstractmethod
    def threads(self) -> Answer[tuple[str, ...]]:
        """Return the names of all threads, always the same, whether they have anything to do or not. Numbers are those
        of vertices, edges, subtasks and workers.

        - `task V/S`: the loop of a task: it runs the oldest mail or, if there is none, takes one element or emits one
          buffer.
        - `restore V/S`: the executor that reads the recovered channel state of a task and hands it on.
        - `link E/P/C`: the network, from subtask P of the producer of an edge to subtask C of its consumer, if they are
          on different workers.
        - `writer W/N`: an executor of the channel state writer of a worker, numbered from 0.
        - `to V/S`: the oldest message of the job master to a task arrives.
        - `from V/S`: the oldest message of a task to the job master arrives.
        - `master`: the main thread of the job master, which runs the oldest action.
        - `enumerator V`: the operator coordinator of a source, which assigns one split.
        """

    @abstractmethod
    def work(self, thread: str) -> Answer[Turn]:
        """A thread does its next piece of work.

        A thread has something to do if `ThreadWoken` has named it since its last turn began. So if there is more to do
        after a turn, it is named in that turn; and nobody need ask a thread that was not named. Threads that are named
        when the job is made are signalled with the first operation.

        Returns: ACTED; WAITS if there was nothing to do, as when what it was named for is done already, or if the
        thread must wait for another one in the middle of it; then it is named when it can go on. OVER once the job is
        over, whatever the thread.

        Raises: PortError ARGUMENT if there is no such thread.
        """

    @abstractmethod
    def lose(self, thread: str) -> Answer[bool]:
        """The oldest message that a thread `to V/S` or `from V/S` would deliver is lost. What operator coordinators
        send, and the replies to it, cannot be lost unnoticed: the task fails, with the cause `lose`. A trigger, an
        acknowledgement, a refusal or a notice is lost without notice.

        Returns: whether one was lost. False if there is none, if it is sent until it arrives (that a task runs, has
        failed or finished; notices of the savepoint with which a job stops), and for other threads.
        """

    @abstractmethod
    def advance(self, milliseconds: int) -> Answer[None]:
        """Time passes, on all workers and for the job master. A thread whose timer is due acts in a turn."""
