"""What a sequence diagram shows of a history: who sends which message to whom. The diagrams are drawn from this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.driver import Component
from conformance.engines import Replay
from conformance.ports import (
    CheckpointAbortNotified,
    CheckpointAcknowledged,
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointCompleteNotified,
    CheckpointDeclined,
    CheckpointFailed,
    CheckpointRequested,
    Committed,
    ConsumptionResumed,
    CoordinatorCheckpointed,
    CoordinatorReset,
    CreditAnnounced,
    EventTransmitted,
    FailureStruck,
    GlobalFailoverTriggered,
    JobOver,
    JobRestarted,
    JobTaskChanged,
    ReportReceived,
    ReportTransmitted,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TaskReady,
    TicketEnded,
    TurnQueued,
)
from conformance.reporting.story import Mark, Story, StoryStep, tell
from conformance.reporting.words import signal_in_words
from conformance.scenarios import Entry

ACTORS = ("producer", "recovery", "checkpointing")
"""The participants left of the component. The consumer and the observer are right of it."""
LISTENER = "consumer"
"""The receiver of all signals that are not in `LISTENERS`."""
UPSTREAM, CHECKPOINTS, JOB_MASTER, NETWORK = "upstream", "checkpoint-coordinator", "job-master", "network"
LISTENERS: dict[type[Any], str] = {
    CreditAnnounced: UPSTREAM,
    ConsumptionResumed: UPSTREAM,
    CheckpointAcknowledged: CHECKPOINTS,
    CheckpointDeclined: CHECKPOINTS,
    CoordinatorCheckpointed: CHECKPOINTS,
    TurnQueued: JOB_MASTER,
    TaskFailoverTriggered: JOB_MASTER,
    GlobalFailoverTriggered: JOB_MASTER,
    EventTransmitted: NETWORK,
    ReportTransmitted: NETWORK,
    **dict.fromkeys(
        (
            TicketEnded, CheckpointRequested, CheckpointCompleteNotified, CheckpointAbortNotified, SubtaskReady,
            SubtaskFailed, SubtaskReset, CoordinatorReset, ReportReceived, CheckpointBegun, CheckpointCompleted,
            CheckpointFailed, Committed, JobRestarted, JobTaskChanged, TaskReady, FailureStruck, JobOver,
        ),
        "user",
    ),
}  # fmt: skip
"""The receivers of other signals."""


class Line(Enum):
    """What a message is, and so how its arrow is drawn."""

    CALL = "call"
    SIGNAL = "signal"
    ANSWER = "answer"
    PAUSE = "pause"
    """The operation is not over: it has paused."""


@dataclass(frozen=True, slots=True)
class Message:
    """An arrow from one participant to another."""

    sender: str
    receiver: str
    text: str
    line: Line


@dataclass(frozen=True, slots=True)
class Happening:
    """A step that was performed: its call or turn, its signals, and its result."""

    number: int
    """That of the step in the story, from 1 on."""
    messages: tuple[Message, ...]
    begins_drain: bool
    """Whether it is the first step of the fair drain."""
    divergent: bool
    """Whether the property broke here."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """A history as a sequence diagram. A step that was skipped is left out; the others keep their numbers."""

    participants: tuple[str, ...]
    """From the producer's side to the consumer's."""
    component: str
    happenings: tuple[Happening, ...]
    note: tuple[tuple[str, str], ...]
    """What is said where the property broke: what each text is, and the text."""
    drain: str
    """What is said where the fair drain begins."""


def sequence_of(replay: Replay, reference: Replay | None = None) -> Sequence:
    """Return what a diagram of a replay shows.

    If `reference` is its replay of the same scenario, the note at the divergent step contains its result.
    """
    story = tell(replay, reference)
    happenings = []
    drained = False
    for entry, step in zip(replay.history.entries, story.steps, strict=True):
        if step.mark is Mark.SKIPPED:
            continue
        begins = step.in_drain and not drained
        drained = drained or step.in_drain
        messages = tuple(_messages(replay.component, entry, step))
        happenings.append(Happening(step.number, messages, begins, step.mark is Mark.DIVERGENT))
    parts = [("expected", story.expected), ("observed", story.observed), ("the reference", story.reference)]
    over = "the scenario is over" if story.own_steps else "the scenario has no steps"
    return Sequence(
        tuple(_participants(replay, story)), story.component, tuple(happenings),
        tuple((name, text) for name, text in parts if text), f"{over}, the run is drained",
    )  # fmt: skip


def _participants(replay: Replay, story: Story) -> Iterator[str]:
    kinds = replay.component.steps
    right = (LISTENER, CHECKPOINTS, "observer", "driver")
    known = dict.fromkeys((UPSTREAM, *ACTORS, *(kind.by for kind in kinds if kind.by not in right)))
    occurring = {step.actor for step in story.steps if step.mark is not Mark.SKIPPED}
    for entry in replay.history.entries:
        if entry.outcome is not None:
            occurring |= {_listener(signal) for signal in replay.component.shown(entry.outcome.signals)}
    yield from (actor for actor in known if actor in occurring)
    yield story.component
    yield from (actor for actor in right if actor in occurring)


def _messages(component: Component, entry: Entry, step: StoryStep) -> Iterator[Message]:
    assert entry.outcome is not None
    yield Message(step.actor, component.name, f"{step.number}. {step.step}", Line.CALL)
    for signal in component.shown(entry.outcome.signals):
        yield Message(component.name, _listener(signal), signal_in_words(signal), Line.SIGNAL)
    if step.paused or step.turn or step.answer != "done":
        yield Message(component.name, step.actor, step.answer, Line.PAUSE if step.paused else Line.ANSWER)


def _listener(signal: Any) -> str:
    return LISTENERS.get(type(signal), LISTENER)
