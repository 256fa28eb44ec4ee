"""One task: its mailbox loop in front of its part in checkpoints. Specification: consumer-loop.md.

One thread, the task's own, takes elements from the gates. What other threads want of it is put into its mailbox.
Components that test a part of a task are cuts of this one: each gives it what lies around that part.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from conformance.ports import Buffer, Element, EndOfData, InputStatus, Resources
from conformance.scheduling import Mailbox

from ..network.channel_info import ChannelInfo
from ..network.gate import Gate
from ..network.producers import Upstream
from ..network.union_gate import Union
from ..state.drainer.buffers import RecoveryBuffers
from ..state.drainer.recovered_inputs import RecoveredInputs
from .checkpointed_inputs import CheckpointedInputs
from .inputs import Inputs
from .operators import Operators


class Mail(Enum):
    """What is to be done on the thread of the task."""

    PRIORITY = "take priority events of a gate"
    TIMER = "act on an alignment that is overdue"
    CONVERT = "convert a gate"
    INSTALL = "convert all gates, and let the executor hand on what it has fetched"
    SUSPEND = "end the restore loop"
    TRIGGER = "take part in a checkpoint that the job master triggers"
    COMPLETE = "a checkpoint is complete"
    ABORT = "a checkpoint was aborted"
    SPLIT = "read a split that was assigned"
    NO_MORE_SPLITS = "no split will be assigned any more"


PRIORITY, TIMER = Mail.PRIORITY, Mail.TIMER
END_OF_DATA, END_OF_INPUT = InputStatus.END_OF_DATA, InputStatus.END_OF_INPUT
MORE_AVAILABLE, NOTHING_AVAILABLE = InputStatus.MORE_AVAILABLE, InputStatus.NOTHING_AVAILABLE
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class TaskListener(RecoveredInputs):
    """Notifications of the gates of a task, to it or through it to their producers."""

    def __init__(
        self,
        upstream: Upstream,
        channels: Iterable[int],
        buffers: RecoveryBuffers | None = None,
        mails: Mailbox[tuple[Mail, int]] | None = None,
    ) -> None:
        """`channels`: by gate, how many it has. `buffers`: for recovered data, if it needs any. `mails`: its mailbox,
        if what wakes the task must know of its mails."""
        super().__init__(channels, buffers or RecoveryBuffers(0))
        self.upstream = upstream
        self.mails = mails or Mailbox("mailbox")
        """Mailbox: what other threads want of the task, in order, each with the number of a gate; a union has
        that of its first."""

    async def gate_available(self, gate: Gate | Union, data: bool, priority: bool) -> None:
        """M3. That data is available is asked for (M14); priority events become a mail."""
        if priority:
            self.mails.put((PRIORITY, gate.index))

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """M11. The producer may go on."""
        self.upstream.resume(channel)

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """chain.md C8. The producer gets credit."""
        self.upstream.add_credit(channel, credit)


class Task:
    """Gates, mailbox, checkpoints and operators have states of their own (Flink: `StreamTask`)."""

    def __init__(
        self, inputs: Inputs, listener: TaskListener, checkpoints: CheckpointedInputs, operators: Operators
    ) -> None:
        self.inputs = inputs
        self.listener = listener
        self.mails = listener.mails
        self.checkpoints = checkpoints
        self.operators = operators
        self.turn_of = 0
        """Turn of: the input that the default action asks first."""
        self.out_of_data = [False] * len(inputs.numbers.infos)
        """Out of data: by channel through all gates, whether its end of data was taken."""
        self.input_has_ended = False
        """Over: whether the default action has ended."""

    # ---- other threads -----------------------------------------------------------------------------------------------
    def advance(self, milliseconds: int) -> None:
        """M4. Time passes; an alignment that is overdue becomes a mail (Flink: `ProcessingTimeService`,
        `BarrierAlignmentUtil.createRegisterTimerCallback`)."""
        self.checkpoints.clock.advance(milliseconds)
        if self.checkpoints.is_overdue() and (TIMER, 0) not in self.mails.mails:
            self.mails.put((TIMER, 0))

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def run_mail(self) -> bool:
        """M5, M6, M17, task-restore.md E11 (Flink: `MailboxProcessor.processMail`)."""
        mail = self.mails.take()
        if mail is not None:
            await self.run(*mail)
        return mail is not None

    async def run(self, mail: Mail, gate: int) -> None:
        """M5, M6. A mail: take priority events, or act on a timer."""
        if mail is PRIORITY:
            await self.take_priority_events(next(one for one in self.inputs.read if one.index == gate))
        elif mail is TIMER:
            await self.checkpoints.act_on_timer()

    async def take_priority_events(self, gate: Gate | Union) -> None:
        """M5. There may be none: the default action takes them as well (Flink: `processPriorityEvents`)."""
        while gate.has_priority():
            if await self.take(gate) is None:
                return

    async def process_input(self) -> InputStatus:
        """M7, M12, M13, task-restore.md E12, E13. One element; the gates have their turns (Flink: `processInput`)."""
        for gate in self.readable():
            element = await self.take(gate)
            if element is not None:
                self.turn_of = (self.inputs.read.index(gate) + 1) % len(self.inputs.read)
                all_out = type(element) is EndOfData and all(self.out_of_data)
                return END_OF_DATA if all_out else MORE_AVAILABLE
        self.input_has_ended = self.inputs.finished()
        return END_OF_INPUT if self.input_has_ended else NOTHING_AVAILABLE

    def readable(self) -> list[Gate | Union]:
        """M7, task-restore.md E12. The gates and unions that the operators read, in their turn."""
        read = self.inputs.read
        return read[self.turn_of :] + read[: self.turn_of]

    async def take(self, gate: Gate | Union) -> Element | None:
        """M8, drainer.md N6. Take an element and deal with it; None if the gate has none."""
        taken = await gate.poll()
        if taken is None:
            return None
        channel = gate.polled(taken.channel)
        self.listener.was_taken(channel, taken.element)
        await self.deal_with(channel, taken.element)
        return taken.element

    def as_sent(self, info: ChannelInfo, element: Element) -> tuple[Element, int]:
        """M8. An element as its producer sent it; of a barrier and its announcement also when it was triggered."""
        return element, 0

    async def deal_with(self, info: ChannelInfo, element: Element) -> None:
        """M8, M9, chain.md C16 to C19. Records are for the operators, most events for the handler."""
        element, timestamp = self.as_sent(info, element)
        self.operators.process(info, element)
        if type(element) is EndOfData:
            self.out_of_data[self.inputs.numbers.number(info)] = True
        elif type(element) is not Buffer:
            await self.checkpoints.take(info, element, timestamp)

    # ---- observers and release ---------------------------------------------------------------------------------------
    def idle(self) -> bool:
        """M14. Whether there is neither a mail nor input to process."""
        return not self.mails.mails and (self.input_has_ended or not self.inputs.available())

    async def release(self) -> None:
        """M15, chain.md C29, task-restore.md E20. Mailbox, gates and handler are released (Flink:
        `StreamTask.cleanUp`)."""
        self.mails.close()
        await self.inputs.release()
        self.checkpoints.release()

    def resources(self) -> list[Resources]:
        """M14. What gates and handler hold."""
        return [*self.inputs.resources(), *self.checkpoints.resources()]
