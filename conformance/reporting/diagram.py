"""Draws a history as a Mermaid sequence diagram, which issue trackers and editors show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance.engines import Replay
from conformance.ports import (
    CheckpointAbortNotified,
    CheckpointAcknowledged,
    CheckpointCompleteNotified,
    CheckpointDeclined,
    CheckpointRequested,
    ConsumptionResumed,
    CoordinatorCheckpointed,
    CoordinatorReset,
    CreditAnnounced,
    EventTransmitted,
    GlobalFailoverTriggered,
    ReportReceived,
    ReportTransmitted,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)
from conformance.reporting.story import Mark, Story, StoryStep, tell
from conformance.reporting.words import shortened, signal_in_words
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
            SubtaskFailed, SubtaskReset, CoordinatorReset, ReportReceived,
        ),
        "user",
    ),
}  # fmt: skip
"""The receivers of other signals."""
LONGEST_LABEL = 70
LONGEST_NOTE = 160

# Mermaid reads # as the beginning of an entity or a comment, ; as the end of a statement, % as the beginning of a
# directive, $$ as mathematics, and the rest as HTML.
_ESCAPES = str.maketrans({
    "#": "#35;", ";": "#59;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "%": "#37;", "$": "#36;",
    "{": "#123;", "}": "#125;", "`": "#96;", "\\": "#92;",
})  # fmt: skip


def escaped(text: str) -> str:
    """Escape a text, so that Mermaid shows it as it is, on one line."""
    return " ".join(text.split()).translate(_ESCAPES)


def sequence_diagram(replay: Replay, reference: Replay | None = None) -> str:
    """Return the text of a `sequenceDiagram` of a replay. A skipped step and its number are left out.

    If `reference` is its replay of the same scenario, the note at the divergent step contains its answer.
    """
    story = tell(replay, reference)
    lines = ["sequenceDiagram", *(f"    participant {one}" for one in _participants(replay, story))]
    drained = False
    for entry, step in zip(replay.history.entries, story.steps, strict=True):
        if step.mark is Mark.SKIPPED:
            continue
        if step.in_drain and not drained:
            drained = True
            over = "the scenario is over" if story.own_steps else "the scenario has no steps"
            lines.append(f"    Note over {_name(story.component)}: {over}, the run is drained")
        if step.mark is Mark.DIVERGENT:
            lines.append("    rect rgba(220, 50, 47, 0.18)")  # can be read on a light page and on a dark one
            lines += [f"    {line}" for line in _messages(story.component, entry, step)]
            lines += [f"        {_note(story)}", "    end"]
        else:
            lines += _messages(story.component, entry, step)
    return "\n".join(lines) + "\n"


def _participants(replay: Replay, story: Story) -> Iterator[str]:
    """Yield the participants that occur, from the producer's side to the consumer's."""
    kinds = replay.component.steps
    right = (LISTENER, CHECKPOINTS, "observer", "driver")
    known = dict.fromkeys((UPSTREAM, *ACTORS, *(kind.by for kind in kinds if kind.by not in right)))
    occurring = {step.actor for step in story.steps if step.mark is not Mark.SKIPPED}
    for entry in replay.history.entries:
        if entry.outcome is not None:
            occurring |= {_listener(signal) for signal in entry.outcome.signals}
    yield from (_declared(actor) for actor in known if actor in occurring)
    yield _declared(story.component)
    yield from (_declared(actor) for actor in right if actor in occurring)


def _messages(component: str, entry: Entry, step: StoryStep) -> Iterator[str]:
    """Yield the call or the turn, the signals, and the answer, with a dashed arrow if the operation is not over."""
    assert entry.outcome is not None
    actor, port = _name(step.actor), _name(component)
    yield f"    {actor}->>{port}: {escaped(f'{step.number}. {shortened(step.step, LONGEST_LABEL)}')}"
    for signal in entry.outcome.signals:
        yield f"    {port}--){_name(_listener(signal))}: {escaped(shortened(signal_in_words(signal), LONGEST_LABEL))}"
    if step.paused or step.turn or step.answer != "done":
        arrow = "-->>" if step.paused else "->>"
        yield f"    {port}{arrow}{actor}: {escaped(shortened(step.answer, LONGEST_LABEL))}"


def _listener(signal: Any) -> str:
    return LISTENERS.get(type(signal), LISTENER)


def _note(story: Story) -> str:
    parts = [("expected", story.expected), ("observed", story.observed), ("the reference", story.reference)]
    lines = [f"{name}: {escaped(shortened(text, LONGEST_NOTE))}" for name, text in parts if text]
    return f"Note over {_name(story.component)}: {'<br/>'.join(lines)}"


def _name(participant: str) -> str:
    """Return the Mermaid name of a participant, without hyphens, which Mermaid may read as an arrow."""
    return re.sub(r"\W", "_", participant)


def _declared(participant: str) -> str:
    name = _name(participant)
    return name if name == participant else f"{name} as {participant}"
