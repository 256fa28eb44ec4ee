"""The loop of a task in front of its barrier handler: a gate, a mailbox, and what the task does with both."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from conformance.ports.elements import Element
from conformance.ports.faults import CONNECTION, OPERATORS_PROCESS, PRODUCER, WRITER_THROWS, FaultKind, Places
from conformance.ports.port import Answer, Port
from conformance.ports.word import Word


class InputStatus(Word):
    """What the default action of a task returns about its input (Flink: `DataInputStatus`)."""

    MORE_AVAILABLE = "more-available"
    """An element was taken, or another may be there: the task does not wait."""
    NOTHING_AVAILABLE = "nothing-available"
    """Nothing can be taken until the input is available again."""
    END_OF_DATA = "end-of-data"
    """The end of data of the last channel was taken: no records follow, events may follow."""
    END_OF_INPUT = "end-of-input"
    """The end of partition of every channel was taken: nothing follows any more."""


class ConsumerLoopPort(Port):
    """The loop of one task with remote channels (Flink: `CheckpointedInputGate`, `StreamTaskNetworkInput`, and the
    mailbox of the task). Specification: consumer-loop.md. Its configuration is that of its barrier handler.

    The subpartitions are requested, and nothing is to be recovered. Sequence numbers of a channel begin at 0. Behind an
    aligned or timeoutable barrier, the producer of a channel sends nothing until the channel is resumed; with the
    capability `aligns-at-receiver` it sends records and ends, and `ConsumptionResumed` says that the task reads the
    channel again. At most `MOST_QUEUED` data buffers wait in one channel.

    The task's thread runs mails and the default action; nobody else acts on what the channels contain. Signals:
    `ElementTaken` for every element that the task takes, in this order; a barrier as it was sent, also if it overtakes.
    In between, what follows from each element: `InputsCheckpointStarted`, `CheckpointTriggered`,
    `InputsCheckpointStopped`, `CheckpointDeclined`, `ConsumptionResumed`.
    """

    can_fail: ClassVar[Places] = {
        OPERATORS_PROCESS: (FaultKind.THROWS,),
        **WRITER_THROWS,
        CONNECTION: (FaultKind.THROWS,),
        PRODUCER: (FaultKind.ENDS,),
    }

    # ---- network thread
    @abstractmethod
    def arrive(self, channel: int, element: Element, timestamp: int) -> Answer[None]:
        """An element arrives with the next sequence number of its channel.

        `timestamp`: when its checkpoint was triggered, in milliseconds of the clock that `advance` moves, if it is a
        barrier, also later than now; otherwise 0.
        """

    # ---- timer thread
    @abstractmethod
    def advance(self, milliseconds: int) -> Answer[None]:
        """Time passes. A timer that is due now hands its action to the task as a mail."""

    # ---- task thread
    @abstractmethod
    def run_mail(self) -> Answer[bool]:
        """Run the oldest mail; False if there is none (Flink: `MailboxProcessor.processMail`). Allowed at any moment,
        also after the end of the input."""

    @abstractmethod
    def process(self) -> Answer[InputStatus]:
        """Run the default action: take one element and deal with it (Flink: `PushingAsyncDataInput.emitNext`).

        Allowed at any moment, also while nothing is available, while mails wait, and after the end of the input. The
        operators have processed a record as soon as the buffer that holds it was taken.
        """

    # ---- observer
    @abstractmethod
    def idle(self) -> Answer[bool]:
        """Whether the task waits: no mail is there, and the default action has ended or its input is unavailable."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
        """The record ids written as in-flight data of `checkpoint`, by channel, each in the order written."""


MOST_QUEUED = 4
"""How many data buffers may wait in one channel: the initial credit of its producer."""
