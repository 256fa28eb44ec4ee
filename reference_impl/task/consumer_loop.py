"""The loop of a task in front of its barrier handler. Specification: consumer-loop.md.

One thread, the task's own, takes elements from the gate and calls the barrier handler. What other threads want of it
is put into its mailbox.
"""

from __future__ import annotations

from enum import Enum

from conformance.ports import (
    MOST_QUEUED,
    Alignment,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    BarrierPrioritized,
    BufferOrEvent,
    CancelMarker,
    ChannelKind,
    CheckpointReason,
    ConsumerLoopPort,
    ConsumptionResumed,
    Element,
    ElementTaken,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    GateConfig,
    InputsCheckpointStopped,
    InputStatus,
    PortError,
    PriorityAvailable,
    Recovery,
    Resources,
    Signal,
)
from conformance.scheduling import Mailbox

from ..design import Design
from ..network.channel import PhysicalChannel
from ..network.gate import Gate
from ..network.remote_channel import RemoteChannel
from .barrier_handler import BarrierHandler


class Mail(Enum):
    """What other threads want of the task."""

    PRIORITY = "take priority events"
    TIMER = "act on an alignment that is overdue"


class LoopGate(Gate):
    """The gate of a loop, whose subpartitions were requested before the loop began."""

    def __init__(self, config: GateConfig, design: Design, loop: ConsumerLoop) -> None:
        self.loop = loop
        super().__init__(config, design)

    def physical_channel(self, number: int, handed_over: tuple[int, ...], last_stopped: int) -> PhysicalChannel:
        """M1."""
        channel = super().physical_channel(number, handed_over, last_stopped)
        assert isinstance(channel, RemoteChannel)
        channel.requested = True
        channel.buffers.assign_exclusive()
        return channel

    def emit(self, signal: Signal) -> None:
        """M3, M11. What the gate tells the task of priority events becomes a mail."""
        if type(signal) is PriorityAvailable:
            self.loop.mails.put(Mail.PRIORITY)
        elif type(signal) is ConsumptionResumed:
            self.loop.emit(signal)


class LoopHandler(BarrierHandler):
    """The barrier handler of a loop. Its inputs are the channels of the gate."""

    def __init__(self, config: BarrierHandlerConfig, loop: ConsumerLoop) -> None:
        self.loop = loop
        super().__init__(config)

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """M10."""
        return await self.loop.start_inputs(checkpoint)


class ConsumerLoop(ConsumerLoopPort):
    """Gate and handler have states of their own."""

    def __init__(self, config: BarrierHandlerConfig, design: Design) -> None:
        self.mails: Mailbox[Mail] = Mailbox("mailbox")
        """Mailbox: what other threads want of the task, in order."""
        self.gate = LoopGate(
            GateConfig((ChannelKind.REMOTE,) * config.channels, Recovery.NONE, MOST_QUEUED, 0), design, self
        )
        self.handler = LoopHandler(config, self)
        self.sent: dict[tuple[int, int], tuple[Barrier, int]] = {}
        """Sent: by channel and checkpoint, the barrier as it was sent, and when its checkpoint was triggered."""
        self.out_of_data = [False] * config.channels
        """Out of data: by channel, whether its end of data was taken."""
        self.is_over = False
        """Over: whether the default action has ended."""

    # ---- other threads ---------------------------------------------------------------------------------------------
    async def arrive(self, channel: int, element: Element, timestamp: int) -> None:
        """M2."""
        if isinstance(element, Barrier):
            self.sent[channel, element.checkpoint] = element, timestamp
        await self.gate.arrive(channel, element)

    def advance(self, milliseconds: int) -> None:
        """M4."""
        handler = self.handler
        handler.now += milliseconds
        if handler.due is not None and handler.now >= handler.due and Mail.TIMER not in self.mails.mails:
            self.mails.put(Mail.TIMER)

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def run_mail(self) -> bool:
        """M5, M6."""
        mail = self.mails.take()
        if mail is Mail.PRIORITY:
            await self.take_priority_events()
        elif mail is Mail.TIMER:
            await self.handler.advance(0)
            await self.obey()
        return mail is not None

    async def take_priority_events(self) -> None:
        """M5. There may be none: the default action takes them as well."""
        while self.gate.has_priority():
            taken = await self.gate.poll()
            if taken is None:
                return
            await self.deal_with(taken)

    async def process(self) -> InputStatus:
        """M7, M12, M13."""
        taken = await self.gate.poll()
        if taken is None:
            self.is_over = self.gate.finished()
            return InputStatus.END_OF_INPUT if self.is_over else InputStatus.NOTHING_AVAILABLE
        await self.deal_with(taken)
        if type(taken.element) is EndOfData and all(self.out_of_data):
            return InputStatus.END_OF_DATA
        return InputStatus.MORE_AVAILABLE

    async def deal_with(self, taken: BufferOrEvent) -> None:
        """M8, M9. Records are processed here; the handler hears of the events that are meant for it."""
        channel, element = taken.channel, taken.element
        timestamp = 0
        if isinstance(element, Barrier):
            element, timestamp = self.sent[channel, element.checkpoint]
        self.emit(ElementTaken(channel, element))
        if isinstance(element, Barrier):
            await self.handler.barrier(channel, element, timestamp)
        elif isinstance(element, Announcement):
            _, timestamp = self.sent[channel, element.checkpoint]
            self.handler.announcement(channel, element.checkpoint, element.seq, timestamp)
        elif isinstance(element, CancelMarker):
            self.handler.cancel_marker(channel, element.checkpoint)
        elif isinstance(element, EndOfData):
            self.out_of_data[channel] = True
        elif isinstance(element, EndOfPartition):
            await self.handler.end_of_partition(channel)
        await self.obey()

    async def obey(self) -> None:
        """M11. Do what the handler has told, in its order, and pass it on."""
        told, self.handler.signals = self.handler.signals, []
        for one in told:
            if type(one) is ConsumptionResumed:
                await self.gate.resume(one.channel)
            elif type(one) is BarrierPrioritized:
                await self.gate.convert_to_priority(one.channel, one.seq)
            else:
                if type(one) is InputsCheckpointStopped:
                    await self.gate.checkpoint_stopped(one.checkpoint)
                self.emit(one)

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """M10. What the handler has told before is done first."""
        await self.obey()
        try:
            await self.gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        except PortError as refused:
            if refused.kind is not ErrorKind.CHECKPOINT:
                raise
            await self.gate.checkpoint_stopped(checkpoint)
            return refused.checkpoint_reason or CheckpointReason.DECLINED
        return None

    # ---- observers and release -------------------------------------------------------------------------------------
    def idle(self) -> bool:
        """M14."""
        return not self.mails.mails and (self.is_over or not self.gate.available())

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """M14."""
        return self.gate.persisted(checkpoint)

    async def release(self) -> None:
        """M15."""
        self.mails.close()
        self.handler.release()
        await self.gate.release()

    def resources(self) -> Resources:
        """M14. A timer is something that listens."""
        held, timer = self.gate.resources(), int(self.handler.due is not None)
        return Resources(held.segments, held.heap, held.files, (held.listeners or 0) + timer, held.futures)
