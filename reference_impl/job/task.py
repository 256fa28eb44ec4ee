"""A task of a job: it restores, takes part in checkpoints, runs its operator, and writes to its outputs.

Specification: pipeline.md, task-restore.md, chain.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    CancelMarker,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    Element,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    Event,
    FailurePoint,
    GateConfig,
    InputsCheckpointStopped,
    InputStatus,
    JobSettings,
    OperatorsOpened,
    PortError,
    Recovery,
    RecoveryCompletion,
    RecoveryMetadata,
    Resources,
    Signal,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    TaskRestoreConfig,
    TaskState,
    TaskStateChanged,
    Turn,
)
from conformance.scheduling import Lock, Mailbox

from ..design import Design
from ..faults import Faults
from ..network.channel_info import ChannelInfo, Numbering
from ..network.gate import Gate
from ..network.result_partition import RecoveredOutput, ResultPartition
from ..network.union_gate import Union
from ..state.drainer.buffers import RecoveryBuffers
from ..state.drainer.hand_over import Slice
from ..state.drainer.lists import ListDrainer
from ..task.checkpoints import TaskCheckpoints
from ..task.inputs import Inputs
from ..task.operators import Outputs
from ..task.restore import RestoringTask
from ..task.task import Mail, TaskListener
from .network import JobProducers
from .operators import JobOperator, Source
from .states import JobStates

INITIALIZING, RUNNING, FINISHED = TaskState.INITIALIZING, TaskState.RUNNING, TaskState.FINISHED
END_OF_DATA, END_OF_INPUT = InputStatus.END_OF_DATA, InputStatus.END_OF_INPUT
MORE_AVAILABLE, NOTHING_AVAILABLE = InputStatus.MORE_AVAILABLE, InputStatus.NOTHING_AVAILABLE
ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED
TRIGGER, COMPLETE, ABORT, INSTALL = Mail.TRIGGER, Mail.COMPLETE, Mail.ABORT, Mail.INSTALL
SPLIT, NO_MORE_SPLITS = Mail.SPLIT, Mail.NO_MORE_SPLITS
ACTED, WAITS, OVER = Turn.ACTED, Turn.WAITS, Turn.OVER
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Options(NamedTuple):
    """What a barrier says of its checkpoint besides its number (Flink: `CheckpointOptions`)."""

    alignment: Alignment
    timestamp: int
    stops: bool
    """Whether the job stops with it."""


class Surroundings(Protocol):
    """What a task needs of its job."""

    @property
    def options(self) -> Mapping[int, Options]:
        """J5. By checkpoint."""

    def changed(self, task: JobTask, state: TaskState, cause: str) -> None:
        """J11. The task has another state."""

    def ready(self, task: JobTask) -> None:
        """J6. The task takes its part in checkpoints from now on."""

    def can_read(self, task: JobTask) -> None:
        """J14. What was fetched can be pushed."""

    def acknowledge(self, task: JobTask, told: CheckpointAcknowledged) -> None:
        """J6. The task has taken its part in a checkpoint, and stored it."""

    def decline(self, task: JobTask, checkpoint: int, reason: CheckpointReason) -> None:
        """J6. The task declines a checkpoint."""

    def cut(self, task: JobTask, checkpoint: int) -> None:
        """J6. A source has taken its snapshot."""

    def heard_of_abort(self, task: JobTask, checkpoint: int) -> None:
        """J8. A source was notified that a checkpoint was aborted."""

    async def reach(self, point: FailurePoint, task: JobTask, checkpoint: int) -> None:
        """J11. Something may be made to fail here."""


class Restored(NamedTuple):
    """What a task is deployed with."""

    inputs: Mapping[ChannelInfo, tuple[int, ...]]
    outputs: RecoveredOutput
    """Recovered channel state."""
    is_restored: bool
    """Whether the job starts from a checkpoint."""


class TaskMails(Mailbox[tuple[Mail, int]]):
    """A mailbox that wakes its thread."""

    __slots__ = ("thread",)

    def __init__(self, thread: Callable[[], None]) -> None:
        """I-22. `thread`: wakes it."""
        super().__init__("mailbox")
        self.thread = thread

    def put(self, mail: tuple[Mail, int]) -> bool:
        """I-22. Add a mail."""
        self.thread()
        return super().put(mail)


class JobListener(TaskListener):
    """It wakes the task when there is something to take, and its producers when there is room again."""

    upstream: JobProducers

    def __init__(
        self,
        upstream: JobProducers,
        channels: Sequence[int],
        buffers: RecoveryBuffers,
        thread: Callable[[], None],
        lock_type: type[Lock],
        reads_at_once: bool,
    ) -> None:
        """I-22. `thread`: wakes that of the task. `reads_at_once`: also before its gates are converted."""
        super().__init__(upstream, channels, buffers, TaskMails(thread))
        self.thread = thread
        self.reads_at_once = reads_at_once
        self.lock_type = lock_type

    async def gate_available(self, gate: Gate | Union, data: bool, priority: bool) -> None:
        """consumer-loop.md M3. The task is woken if it reads the gate."""
        await super().gate_available(gate, data, priority)
        if data and (self.reads_at_once or gate.requested):
            self.thread()

    def was_taken(self, channel: ChannelInfo, element: Element) -> None:
        """drainer.md N6. The producers learn of it."""
        super().was_taken(channel, element)
        self.upstream.was_taken(channel, element)


class JobOutputs(Outputs):
    """The result partitions of a task."""

    def __init__(self, partitions: Sequence[ResultPartition], options: Mapping[int, Options]) -> None:
        self.partitions = partitions
        self.options = options

    async def emit(self, emitted: tuple[int, ...] | Event) -> None:
        """J2. Records and watermarks are sent to every partition (Flink: `RecordWriterOutput.collect`)."""
        for one in self.partitions:
            if isinstance(emitted, Event):
                await one.broadcast(emitted)
            else:
                await one.emit(emitted)

    async def broadcast(self, element: Element) -> None:
        """J2. An event is sent to all."""
        for one in self.partitions:
            await one.broadcast(element)

    async def recover(self, outputs: RecoveredOutput) -> None:
        """chain.md C4, C5. Recovered output state comes before anything else."""
        for number, partition in enumerate(self.partitions):
            for subpartition in range(len(partition.readers)):
                for record in outputs.get(ChannelInfo(number, subpartition), ()):
                    await partition.send(subpartition, RecoveryMetadata(0, subpartition))
                    await partition.send(subpartition, Buffer((record,)))
                await partition.send(subpartition, RecoveryCompletion())

    async def barrier(self, checkpoint: int, alignment: Alignment) -> None:
        """subtask-checkpoint.md T7. A timeoutable barrier is sent as such."""
        if alignment is ALIGNED and self.options[checkpoint].alignment is TIMEOUTABLE:
            alignment = TIMEOUTABLE
        for one in self.partitions:
            await one.barrier(checkpoint, alignment)

    async def cancel_marker(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T6, T10."""
        for one in self.partitions:
            await one.cancel_marker(checkpoint)

    def abort(self, checkpoint: int) -> None:
        """J8. The checkpoint was aborted."""
        for one in self.partitions:
            one.abort(checkpoint)

    async def time_out(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T13."""
        for one in self.partitions:
            await one.time_out(checkpoint)

    def give_up(self) -> None:
        """J11. The task has ended before its time."""
        for one in self.partitions:
            one.give_up()

    def has_room(self, most: int) -> bool:
        """J3. Whether records can be sent."""
        return False not in [one.has_room(most) for one in self.partitions]

    def all_read(self) -> bool:
        """J16. Whether every consumer has taken the end of data."""
        return not any(one.unread for one in self.partitions)


class JobCheckpoints(TaskCheckpoints):
    """The part of a task of a job in its checkpoints.

    If some of its channels can have no channel state, and others can, an unaligned checkpoint begins once the barriers
    of the former were taken. Until then unaligned barriers are held, and only the former are read.
    """

    task: JobTask
    states: JobStates
    outputs: JobOutputs

    def __init__(self, task: JobTask, always_aligned: Sequence[int], *parts: Any) -> None:
        """J6. `always_aligned`: the channels that can have no channel state, if there are others."""
        super().__init__(task, *parts)
        self.task = task
        self.aligned = dict.fromkeys(always_aligned, 0)
        """Aligned: by channel that can have no channel state, the newest checkpoint of which its barrier was taken."""
        self.held: list[tuple[ChannelInfo, Barrier, int]] = []
        """Held: unaligned barriers, with their channels and when their checkpoint was triggered."""

    async def take(self, info: ChannelInfo, element: Element, timestamp: int) -> None:
        """consumer-loop.md M8, M9. Elements of a task that has channels of both kinds are looked at first."""
        if not self.aligned:
            await super().take(info, element, timestamp)
            return
        number = self.inputs.numbers.number(info)
        if type(element) is Announcement:  # the alignment does not time out here
            return
        if type(element) is Barrier:
            if number in self.aligned:
                self.aligned[number] = element.checkpoint
            elif element.alignment is UNALIGNED and self.is_behind(element.checkpoint):
                await self.hold(info, element, timestamp)
                return
            elif element.alignment is TIMEOUTABLE:
                element = Barrier(element.checkpoint, ALIGNED)
        elif type(element) is CancelMarker:
            self.let_go(element.checkpoint)
        await super().take(info, element, timestamp)
        if self.held and not self.is_behind(self.held[0][1].checkpoint):
            held, self.held = self.held, []
            for one in held:
                await super().take(*one)

    async def hold(self, info: ChannelInfo, barrier: Barrier, timestamp: int) -> None:
        """J6. An older checkpoint is over: channels that were blocked for it go on, and its barriers block none."""
        if self.handler.is_obsolete(barrier.checkpoint):
            return
        self.handler.meet(barrier.checkpoint, UNALIGNED, timestamp)
        await self.hear()
        self.held = [one for one in self.held if one[1].checkpoint == barrier.checkpoint]
        self.held.append((info, barrier, timestamp))

    def is_behind(self, checkpoint: int) -> bool:
        """J6. Whether a channel that can have no channel state has not delivered the barrier of a checkpoint."""
        return any(last < checkpoint and not self.handler.ended[number] for number, last in self.aligned.items())

    def let_go(self, checkpoint: int) -> None:
        """J8. A checkpoint was aborted."""
        if self.held and self.held[0][1].checkpoint <= checkpoint:
            self.held = []
            self.task.wake()

    async def begin(self, checkpoint: int) -> None:
        """task-restore.md E15, chain.md C21."""
        if not self.task.can_checkpoint():
            raise PortError(ErrorKind.CHECKPOINT, "not ready", CheckpointReason.DECLINED_TASK_NOT_READY)
        await super().begin(checkpoint)

    async def prepare_inputs(self, checkpoint: int) -> None:
        """task-restore.md E16. What was fetched and not pushed is read out of its files."""
        drainer = self.task.drainer
        if drainer is None:
            await super().prepare_inputs(checkpoint)
            return
        snapshot = await drainer.snapshot_and_mark(checkpoint)
        try:
            await self.inputs.checkpoint_started(Barrier(checkpoint, UNALIGNED))
        except BaseException:  # the snapshot belongs to this thread until it is handed over
            if snapshot is not None:
                snapshot.close()
            raise
        if snapshot is not None:
            self.states.add_snapshot(checkpoint, Slice(snapshot, self.inputs.numbers, self.inputs.faults))

    async def trigger_by_call(self, checkpoint: int, options: Options) -> None:
        """J6. The job master triggers a task that has no producer any more: the barrier counts as received from every
        channel that has not ended (Flink: `triggerUnfinishedChannelsCheckpoint`)."""
        if not self.task.can_checkpoint():
            if not self.handler.is_obsolete(checkpoint):
                self.handler.abort(checkpoint, CheckpointReason.DECLINED_TASK_NOT_READY)
            await self.hear()
            return
        self.meet(checkpoint)
        open_channels = [number for number, ended in enumerate(self.handler.ended) if not ended] or [0]
        for number in open_channels:
            await self.handler.rpc_barrier(number, Barrier(checkpoint, options.alignment), options.timestamp)
        await self.hear()

    async def take_part(self, told: CheckpointTriggered) -> None:
        """chain.md C22. The options of the checkpoint say whether it can become unaligned later."""
        options = self.task.job.options[told.checkpoint]
        if not told.unaligned:
            self.subtask.aligned(told.checkpoint, self.handler.duration)
        if not told.unaligned and options.alignment is not ALIGNED and told.checkpoint > self.subtask.last:
            self.subtask.start_inputs(told.checkpoint, TIMEOUTABLE)  # there may be output state, and no input state
            await self.obey()
        alignment = UNALIGNED if told.unaligned else options.alignment
        await self.snapshot(Barrier(told.checkpoint, alignment), options)

    async def snapshot(self, barrier: Barrier, options: Options) -> None:
        """subtask-checkpoint.md T5 to T8. The barrier is sent on, and the operators take their snapshots."""
        checkpoint, task = barrier.checkpoint, self.task
        if checkpoint > self.subtask.last and checkpoint not in self.subtask.aborted:
            await task.reach(FailurePoint.IN_SNAPSHOT, checkpoint)
        self.subtask.trigger(barrier, options.timestamp)
        taken = any(type(one) is SubtaskCalled and one.call is SubtaskCall.OPERATORS_SNAPSHOT
                    for one in self.subtask.signals)  # fmt: skip
        await self.obey()
        if taken:
            task.snapshot_taken(checkpoint, options.stops)
            self.subtask.finish_part(checkpoint, StatePart.OPERATORS)
            await task.reach(FailurePoint.BETWEEN_CUTS, checkpoint)

    async def inputs_stopped(self, told: InputsCheckpointStopped, declined: bool) -> None:
        """chain.md C23, C24. Output state is final with the result of the writer."""
        await self.inputs.checkpoint_stopped(told.checkpoint)
        self.subtask.aligned(told.checkpoint, self.handler.duration)
        if declined:
            self.subtask.inputs_failed(told.checkpoint)
        else:
            self.subtask.inputs_done(told.checkpoint)
        await self.obey()

    async def complete(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T11. A checkpoint is complete."""
        self.subtask.complete(checkpoint)
        await self.obey()

    async def abort(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T12. A checkpoint was aborted. Output state of a later one does not wait for its own,
        which would be complete only when its barrier is taken."""
        self.let_go(checkpoint)
        if self.handler.pending() == checkpoint:  # a barrier that it waits for may never have been sent
            self.handler.abort(checkpoint, CheckpointReason.DECLINED)
            await self.hear()
        self.subtask.abort(checkpoint)
        await self.obey()
        self.outputs.abort(checkpoint)

    async def run_async(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T15, T16. The asynchronous part of a checkpoint goes on."""
        self.subtask.run_async(checkpoint)
        await self.obey()


class JobTask(RestoringTask):
    """A task that reads."""

    operators: JobOperator
    checkpoints: JobCheckpoints
    listener: JobListener

    def __init__(
        self,
        job: Surroundings,
        number: int,
        settings: JobSettings,
        config: TaskRestoreConfig,
        gates: Sequence[GateConfig],
        numbers: Numbering,
        design: Design,
        faults: Faults,
        listener: JobListener,
        states: JobStates,
        partitions: Sequence[ResultPartition],
        operator: JobOperator,
        restored: Restored,
        always_aligned: Sequence[int],
    ) -> None:
        """J3. `number`: that of the task. `config`: how it restores. `gates`: of each input. `always_aligned`: the
        channels that can have no channel state, if there are others."""
        self.job = job
        self.number = number
        self.settings = settings
        self.states = states
        self.outputs = JobOutputs(partitions, job.options)
        self.restored = restored
        self.throttled = False
        self.lacks_room = False
        """Lacks room: whether it had no room for records when it has sent the last ones, and none was made since."""
        self.is_ready = False
        """Ready: whether the job knows that the task takes its part in checkpoints."""
        self.announced: set[tuple[ChannelInfo, int]] = set()
        """Announced: by channel and checkpoint, the barriers that were sent as timeoutable ones."""
        self.data_has_ended = False
        """Whether the end of data was sent."""
        self.final: int | None = None
        """Final: the first checkpoint in which the task takes part after everything it sent was taken."""
        self.may_finish = False
        """Whether all is committed, so that the task finishes with its input."""

        def make_checkpoints(inputs: Inputs, reader: ListDrainer) -> TaskCheckpoints:
            """J6. The barriers of all channels meet in one handler."""
            handled = BarrierHandlerConfig(max(len(numbers.infos), 1), settings.alignment_timeout)
            return JobCheckpoints(self, always_aligned, inputs, reader, states, handled, operator, self.outputs)

        super().__init__(self, config, numbers, design, faults, listener, operator, gates, make_checkpoints, states)

    # ---- what happens to it ------------------------------------------------------------------------------------------
    def emit(self, signal: Signal) -> None:
        """J11. What its parts tell is passed on to the job."""
        if type(signal) is TaskStateChanged:
            self.job.changed(self, signal.state, signal.cause)
        elif type(signal) is OperatorsOpened:
            self.operators.open()
        elif type(signal) is CheckpointAcknowledged:
            self.job.acknowledge(self, signal)
        elif type(signal) is CheckpointDeclined:
            self.job.decline(self, signal.checkpoint, signal.reason)

    async def fail(self, cause: str) -> None:
        """J11. It is made to fail."""
        if not self.is_over():
            await self.end(TaskState.FAILED, cause)

    async def end(self, state: TaskState, cause: str = "") -> None:
        """J11. It is over. If it has not finished, its subpartitions are given up."""
        await super().end(state, cause)
        if state is not TaskState.FINISHED:
            self.outputs.give_up()

    async def reach(self, point: FailurePoint, checkpoint: int) -> None:
        """J11. Something may be made to fail here. Raises: PortError RELEASED if it was this task."""
        await self.job.reach(point, self, checkpoint)
        if self.is_over():
            raise PortError(ErrorKind.RELEASED, "the task is over")

    def throttle(self, on: bool) -> None:
        """J3. The operator stands still, or goes on."""
        self.throttled = on
        self.wake()

    def wake(self) -> None:
        """I-22. There is something to do for the task."""
        self.listener.thread()

    def room_made(self) -> None:
        """J3. A buffer has left one of its subpartitions."""
        if self.lacks_room and self.outputs.has_room(self.settings.room):
            self.lacks_room = False
            self.wake()

    def was_read(self, info: ChannelInfo) -> None:
        """J16. A consumer has taken the end of data."""
        self.outputs.partitions[info.gate].unread -= 1

    # ---- the restore -------------------------------------------------------------------------------------------------
    async def deploy(self) -> None:
        """task-restore.md E1 to E4. The task begins, with its output state."""
        try:
            await self.outputs.recover(self.restored.outputs)
            self.lacks_room = not self.outputs.has_room(self.settings.room)
            await self.restore()
            if self.restored.is_restored and not self.is_over():
                await self.reach(FailurePoint.IN_RESTORE, 0)
        except PortError as error:
            await self.fail(error.reason)

    async def convert(self, gate: Gate) -> None:
        """task-restore.md E9, chain.md C6. Readers are connected, too."""
        await super().convert(gate)
        exclusive = self.settings.exclusive_buffers
        self.listener.upstream.request(0 if self.recovery is Recovery.PUSHED else exclusive, exclusive)

    # ---- the loop ----------------------------------------------------------------------------------------------------
    async def work(self) -> bool:
        """J3. One turn. Returns whether there was anything to do."""
        if self.state is None:
            await self.deploy()
            return True
        turn = await self.turn()
        if self.is_over():
            return turn is ACTED
        self.advance(0)  # a timer is due at once if its time has passed when it is set
        if not self.is_ready and self.can_checkpoint():
            self.is_ready = True
            self.job.ready(self)
        return turn is ACTED

    def has_more(self) -> bool:
        """I-22. Whether there may be something to do in the next turn."""
        if self.is_over():
            return False
        if self.mails.mails or self.state is None:
            return True
        if self.throttled or self.lacks_room:
            return False
        return self.has_input()

    def has_input(self) -> bool:
        """I-22. Whether the default action may find something."""
        reads_at_once = self.listener.reads_at_once
        for gate in self.inputs.read:
            if gate.available() and (reads_at_once or gate.requested):
                return True
        return self.may_finish

    def has_more_to_read(self) -> bool:
        """I-22. Whether recovered channel state is still to be read or handed on."""
        if self.is_over():
            return False
        if self.recovery is not Recovery.PUSHED:
            return bool(self.to_end)
        if self.drainer is None:
            return True
        return self.installed and not self.drainer.has_ended()

    async def run(self, mail: Mail, index: int) -> None:
        """J3. The mails of the job."""
        if mail is TRIGGER:
            await self.trigger(index, self.job.options[index])
        elif mail is COMPLETE:
            await self.checkpoints.complete(index)
            self.was_completed(index)
        elif mail is ABORT:
            await self.checkpoints.abort(index)
            self.was_aborted(index)
        else:
            await super().run(mail, index)
            if mail is INSTALL:
                self.job.can_read(self)

    async def trigger(self, checkpoint: int, options: Options) -> None:
        """J6. The job master triggers a checkpoint (Flink: `triggerCheckpointAsync`)."""
        await self.checkpoints.trigger_by_call(checkpoint, options)

    def snapshot_taken(self, checkpoint: int, stops: bool) -> None:
        """J16. The operators have taken their snapshots."""
        if self.final is None and self.data_has_ended and self.outputs.all_read():
            self.final = checkpoint

    def was_completed(self, checkpoint: int) -> None:
        """J16. The task may finish once a checkpoint is complete in which it took part at its end."""
        if (self.final is not None and checkpoint >= self.final) or self.job.options[checkpoint].stops:
            self.may_finish = True

    def was_aborted(self, checkpoint: int) -> None:
        """J8. Nothing stands still because of a checkpoint that was aborted."""

    async def default_action(self) -> Turn:
        """task-restore.md E12 to E14. A task that stands still, or has no room, takes nothing."""
        if self.throttled or self.lacks_room:
            return WAITS
        status = await self.process_input()
        if status is END_OF_DATA:
            self.data_has_ended = True
            await self.outputs.broadcast(EndOfData())
            return ACTED
        if status is END_OF_INPUT:
            if self.state is INITIALIZING or not self.may_finish or self.checkpoints.subtask.parts:
                return WAITS
            await self.outputs.broadcast(EndOfPartition())
            await self.end(FINISHED)
            return ACTED
        if status is NOTHING_AVAILABLE and not self.mails.mails:
            return ACTED if True in [gate.available() for gate in self.readable()] else WAITS
        return ACTED

    def readable(self) -> list[Gate | Union]:
        """task-restore.md E12. Some operators prefer their first input. While barriers are held, only the inputs are
        read that can have no channel state."""
        if self.operators.prefers_first:
            self.turn_of = 0
        found = super().readable()
        checkpoints = self.checkpoints
        if not checkpoints.held:
            return found
        first = self.inputs.numbers.first
        return [gate for gate in found if first[gate.index] in checkpoints.aligned]

    def as_sent(self, info: ChannelInfo, element: Element) -> tuple[Element, int]:
        """consumer-loop.md M8, M9. A barrier that was announced was sent as a timeoutable one."""
        if type(element) is Barrier:
            options = self.job.options[element.checkpoint]
            if (info, element.checkpoint) in self.announced:
                self.announced.remove((info, element.checkpoint))
                element = Barrier(element.checkpoint, TIMEOUTABLE)
            return element, options.timestamp
        if type(element) is Announcement:
            self.announced.add((info, element.checkpoint))
            return element, self.job.options[element.checkpoint].timestamp
        return element, 0

    async def deal_with(self, info: ChannelInfo, element: Element) -> None:
        """consumer-loop.md M8. What the operators emit is sent before the next element is taken. The producer learns
        that all its records were taken."""
        if type(element) is Buffer:
            self.operators.process(info, element)
        else:
            await super().deal_with(info, element)
            if type(element) is EndOfData:
                self.listener.upstream.was_read(info)
        if self.operators.emitted:
            await self.send()

    async def send(self) -> None:
        """J2, J3. What the operators have emitted is sent."""
        emitted, self.operators.emitted = self.operators.emitted, []
        for one in emitted:
            await self.outputs.emit(one)
        self.lacks_room = not self.outputs.has_room(self.settings.room)

    async def channel_state(self, checkpoint: int, failed: CheckpointReason | None) -> None:
        """J6. The writer has completed or given up the channel state of a checkpoint."""
        subtask = self.checkpoints.subtask
        if failed is None:
            for part, stored in zip(
                (StatePart.INPUTS, StatePart.OUTPUTS), self.states.contents(checkpoint), strict=True
            ):
                subtask.state_written(checkpoint, part, sum(map(len, stored.values())))
                subtask.finish_part(checkpoint, part)
        else:
            for part in (StatePart.INPUTS, StatePart.OUTPUTS):
                subtask.fail_part(checkpoint, part, failed)
        await self.checkpoints.run_async(checkpoint)
        if self.may_finish:  # it finishes when none of its checkpoints goes on
            self.wake()

    def held(self) -> list[Resources]:
        """J17. What the task holds, and its producers for it."""
        return [*self.resources(), *self.listener.upstream.resources()]

    async def clean_up(self) -> None:
        """task-restore.md E20. Its results are given up, too."""
        self.states.close()
        await super().clean_up()


class SourceTask(JobTask):
    """A task that reads splits. It has no gate."""

    operators: Source

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.suspended: int | None = None
        """Suspended: the savepoint of which the snapshot was taken, if the job stops with it."""

    async def run(self, mail: Mail, index: int) -> None:
        """J1. Splits are assigned by mails."""
        if mail is SPLIT:
            self.operators.add(index)
        elif mail is NO_MORE_SPLITS:
            self.operators.no_more = True
        else:
            await super().run(mail, index)

    async def trigger(self, checkpoint: int, options: Options) -> None:
        """subtask-checkpoint.md T1 to T8. A source takes its part when it is triggered."""
        checkpoints = self.checkpoints
        if not self.can_checkpoint():
            checkpoints.subtask.decline(checkpoint, CheckpointReason.DECLINED_TASK_NOT_READY)
            await checkpoints.obey()
            return
        subtask = checkpoints.subtask
        subtask.aligned(checkpoint, 0)
        if checkpoint > subtask.last:
            subtask.start_inputs(checkpoint, options.alignment)
            await checkpoints.obey()
            if options.alignment is UNALIGNED:
                subtask.inputs_done(checkpoint)
                await checkpoints.obey()
        await checkpoints.snapshot(Barrier(checkpoint, options.alignment), options)
        await checkpoints.run_async(checkpoint)

    def snapshot_taken(self, checkpoint: int, stops: bool) -> None:
        """J10. The source emits nothing behind the savepoint with which the job stops."""
        super().snapshot_taken(checkpoint, stops)
        self.job.cut(self, checkpoint)
        if stops:
            self.suspended = checkpoint

    def was_aborted(self, checkpoint: int) -> None:
        """J10. If the job does not stop after all, the source goes on."""
        self.job.heard_of_abort(self, checkpoint)
        if checkpoint == self.suspended:
            self.suspended = None

    def has_input(self) -> bool:
        """I-22. Whether there are records, or the source is to end."""
        if self.data_has_ended or self.suspended is not None:
            return self.may_finish
        return self.operators.has_next() or self.operators.has_ended()

    async def process_input(self) -> InputStatus:
        """J1. The next records of a split (Flink: `SourceOperator.emitNext`)."""
        if self.data_has_ended:
            return END_OF_INPUT
        if self.suspended is not None:
            return END_OF_DATA if self.may_finish else NOTHING_AVAILABLE
        if self.state is not RUNNING:
            return NOTHING_AVAILABLE
        if self.operators.emit_next():
            await self.send()
            return MORE_AVAILABLE
        return END_OF_DATA if self.operators.has_ended() else NOTHING_AVAILABLE


def restore_config(
    settings: JobSettings, gates: tuple[int, ...], inputs: tuple[tuple[int, ...], ...]
) -> TaskRestoreConfig:
    """task-restore.md E1. How a task restores. `gates`: the number of channels of each."""
    return TaskRestoreConfig(
        gates=gates,
        input_state=inputs,
        output_state=(),
        recovery=settings.recovery,
        unaligned=settings.unaligned,
        output_on_downstream=settings.output_on_downstream,
        during_recovery=settings.during_recovery,
        buffers=settings.recovery_buffers,
    )
