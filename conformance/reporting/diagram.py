"""Draws a history as a Mermaid sequence diagram, which issue trackers and editors show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.engines import Replay
from conformance.reporting.sequence import Line, Message, Sequence, sequence_of
from conformance.reporting.words import shortened
from conformance.system.text import mermaid

LONGEST_LABEL = 70
LONGEST_NOTE = 160

_ARROWS = {Line.CALL: "->>", Line.SIGNAL: "--)", Line.ANSWER: "->>", Line.PAUSE: "-->>"}


def sequence_diagram(replay: Replay, reference: Replay | None = None) -> str:
    """Return the text of a `sequenceDiagram` of a replay. A skipped step and its number are left out.

    If `reference` is its replay of the same scenario, the note at the divergent step contains its result.
    """
    return "\n".join(_lines(sequence_of(replay, reference))) + "\n"


def _lines(sequence: Sequence) -> Iterator[str]:
    yield "sequenceDiagram"
    for participant in sequence.participants:
        yield f"    participant {_declared(participant)}"
    for one in sequence.happenings:
        if one.begins_drain:
            yield f"    Note over {_name(sequence.component)}: {sequence.drain}"
        messages = map(_message, one.messages)
        if one.divergent:
            yield "    rect rgba(220, 50, 47, 0.18)"  # can be read on a light page and on a dark one
            yield from (f"        {message}" for message in messages)
            yield f"        {_note(sequence)}"
            yield "    end"
        else:
            yield from (f"    {message}" for message in messages)


def _message(one: Message) -> str:
    text = mermaid(shortened(one.text, LONGEST_LABEL))
    return f"{_name(one.sender)}{_ARROWS[one.line]}{_name(one.receiver)}: {text}"


def _note(sequence: Sequence) -> str:
    lines = [f"{name}: {mermaid(shortened(text, LONGEST_NOTE))}" for name, text in sequence.note]
    return f"Note over {_name(sequence.component)}: {'<br/>'.join(lines)}"


def _name(participant: str) -> str:
    """Return the Mermaid name of a participant, without hyphens, which Mermaid may read as an arrow."""
    return re.sub(r"\W", "_", participant)


def _declared(participant: str) -> str:
    name = _name(participant)
    return name if name == participant else f"{name} as {mermaid(participant)}"
