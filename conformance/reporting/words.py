"""Describes steps, results and signals in words.

Every result has a description, also an invalid one, so that a report never fails because of a result. Memory addresses
and folders are left out, so that the same finding gives the same text on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import zip_longest
from typing import Any

import msgspec

from conformance.driver import AnyStep, Component, FailureClass, with_article
from conformance.models.answers import records_by_channel
from conformance.models.fault_words import call_at
from conformance.models.records import in_words
from conformance.models.recovered_words import recovered_in_words
from conformance.models.signal_words import SIGNALS
from conformance.models.words import many, short_name
from conformance.ports import (
    AlignmentTimes,
    Announcement,
    Availability,
    Buffer,
    BufferAndBacklog,
    BufferOrEvent,
    ChainCheckpoint,
    ChannelState,
    Consumed,
    Drained,
    Element,
    Error,
    Message,
    Outcome,
    OutputState,
    PartialRecord,
    Piece,
    Request,
    RequestKind,
    Resources,
    SegmentBeforeFilter,
    StateStatus,
    Taken,
)
from conformance.scenarios import Step

LONGEST = 100
"""The maximum number of characters that are shown of an error text or of an unknown type of result."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PATH = re.compile(r"(?:(?<![\w/.:])|(?<=file:))(?:[A-Za-z]:[\\/]|/)(?:[\w.+@~-]+[\\/])+")

FAILURE_CLASSES: dict[FailureClass, str] = {
    FailureClass.LOST: "something that is owed never arrived",
    FailureClass.DUPLICATED: "something arrived more than once",
    FailureClass.REORDERED: "something arrived in the wrong order",
    FailureClass.CORRUPTED: "something arrived that differs from what was sent",
    FailureClass.STUCK: "something is owed, and no step that is still possible would deliver it",
    FailureClass.LEAKED: "the implementation did not release something that it had to release",
    FailureClass.ORPHANED: "the implementation never completes a result that the caller waits for",
    FailureClass.PROTOCOL: "a result, an error or a signal is not the one that the interface calls for",
    FailureClass.CRASHED: "the implementation raised an unexpected error, returned a wrong type, or ended its process",
    FailureClass.HUNG: "the implementation did not return in time",
    FailureClass.DEADLOCKED: "threads are deadlocked, or the way they use locks makes that possible",
}


def failure_class_in_words(failure_class: str) -> str:
    """Return what a failure class means, or the name of an unknown class."""
    return next((text for known, text in FAILURE_CLASSES.items() if known == failure_class), failure_class)


def plain(text: str) -> str:
    """Return a text of an implementation on one line, without memory addresses and without the folders of files."""
    return " ".join(_PATH.sub("", _ADDRESS.sub("", text)).split())


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the text, cut off if it is too long."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


_OPERANDS = {"seq": "sequence number"}
"""The operands whose names are no words."""


def step_in_words(step: Step, component: Component) -> str:
    """Describe a step by its name, as it stands in a scenario, and its operands: `barrier (channel 0, checkpoint 1)`.

    An operand whose name the component does not know has none: a scenario may be read that another version has written.
    """
    name, *operands = step
    names = component.operands_of(str(name))
    said = [
        " ".join((*([_OPERANDS.get(operand, operand.replace("_", " "))] if operand else []), _scalar(value) or "none"))
        for operand, value in zip_longest(names[: len(operands)], operands, fillvalue="")
    ]
    return f"{name} ({', '.join(said)})" if said else str(name)


def outcome_in_words(outcome: Outcome, kind: AnyStep | None = None) -> str:
    """Describe the result without the signals. `kind` says whether None means "no result" or "nothing was found"."""
    if outcome.paused_at is not None:
        return pause_in_words(outcome.paused_at)
    if outcome.error is not None:
        return error_in_words(outcome.error)
    if outcome.value is None:
        return "done" if kind is None or kind.answers in (None, type(None)) else "nothing"
    if kind is not None and kind.in_words is not None and _has_type(outcome.value, kind.answers):
        return shortened(plain(kind.in_words(outcome.value)), 10 * LONGEST)
    return value_in_words(outcome.value)


def _has_type(value: Any, hint: Any) -> bool:
    try:
        msgspec.convert(value, hint)
    except Exception:  # an object of the implementation may raise anything
        return False
    return True


_LOCK = re.compile(r"\block\b")
_AT_A_TIME = re.compile(r"(?:after|at|before|between|during|in|inside|outside|until|when|while|without) ")
_SLOW = re.compile(r"(\S+) is slow")


def pause_in_words(place: str) -> str:
    """Describe where a thread pauses. The name of the place is that of the implementation: a lock, a moment (`while the
    disk is read`), a call that is slow, or something that the thread waits for."""
    name = shortened(plain(place))
    if _AT_A_TIME.match(name):
        return f"pauses {name}"
    if found := _SLOW.fullmatch(name):
        return f"pauses because {call_at(found[1])} is slow"
    return (
        f"pauses before it takes {with_article(name)}"
        if _LOCK.search(name)
        else f"pauses where it waits for {with_article(name)}"
    )


def error_in_words(error: Error) -> str:
    """Describe an error: its kind, the reason why a checkpoint failed, and the text of the implementation."""
    words = f"error of kind {_scalar(error.kind)}"
    if error.checkpoint_reason is not None:
        words += f", reason {_scalar(error.checkpoint_reason)}"
    return f"{words}: {shortened(plain(error.reason))}" if error.reason else words


def signal_in_words(signal: Any) -> str:
    """Describe one signal. One that carries what it must not carry is described by the names of its fields."""
    said = SIGNALS.get(type(signal))
    if said is None:
        return value_in_words(signal)
    try:
        return shortened(plain(said(signal)), 2 * LONGEST)
    except Exception:  # an implementation may put anything into a signal
        return value_in_words(signal)


def signals_in_words(signals: Iterable[Any]) -> tuple[str, ...]:
    """Describe the signals in the order in which they were emitted."""
    return tuple(map(signal_in_words, signals))


_FOLLOWS: Mapping[tuple[bool, bool], str] = {
    (True, True): "more follows with priority", (True, False): "more follows", (False, False): "nothing follows",
    (False, True): "nothing follows, but more with priority",
}  # fmt: skip
"""What a gate says of its other elements: whether there are any, and whether there are any with priority."""


def value_in_words(value: Any) -> str:
    """Describe a result. A type without a case below, and an object whose fields hold what they must not hold, are
    described by the names and values of their fields."""
    try:
        return _known_value(value)
    except Exception:  # an implementation may put anything into a field
        return _anything(value)


def _known_value(value: Any) -> str:
    match value:
        case BufferAndBacklog(element=element, seq=seq, next=following, backlog=backlog):
            return (
                f"{element_in_words(element)}, sequence number {seq}, next type {_scalar(following)}, backlog {backlog}"
            )
        case BufferOrEvent(channel=channel, element=element, more=more, more_priority=more_priority):
            return f"{element_in_words(element)} from channel {channel}, {_FOLLOWS[more, more_priority]}"
        case Consumed(channel=channel, element=element, more=more):
            return f"{element_in_words(element)} from channel {channel}, {_FOLLOWS[more, False]}"
        case ChainCheckpoint(status=status, counted=counted, input_state=before, output_state=after):
            parts = ("counted", counted), ("input state", before), ("output state", after)
            return ", ".join((_scalar(status), *(f"{name} ({records_by_channel(ids)})" for name, ids in parts if ids)))
        case Availability(available=available, backlog=backlog):
            return f"{'' if available else 'not '}available, backlog {backlog}"
        case AlignmentTimes(duration=duration, start_delay=delay):
            return f"duration {_milliseconds(duration)}, start delay {_milliseconds(delay)}"
        case Taken():
            return _taken(value)
        case SegmentBeforeFilter(number=number, in_use=in_use):
            return f"segment {number}, {'in use' if in_use else 'free'}"
        case PartialRecord(virtual=virtual, size=size, in_file=in_file):
            return f"{many(size, 'byte')} of virtual channel {virtual} in {'a file' if in_file else 'memory'}"
        case Piece(gate=gate, channel=channel, records=ids):
            return f"{in_words(ids)} of channel {channel} of gate {gate}"
        case Drained(gate=gate, channel=channel, element=element):
            return f"{element_in_words(element)} from channel {channel} of gate {gate}"
        case Request(subtask=subtask, kind=kind, checkpoint=checkpoint):
            what = f"{_scalar(kind)} request of subtask {subtask}"
            return what if kind is RequestKind.CLOSE and not checkpoint else f"{what} for checkpoint {checkpoint}"
        case ChannelState(output=output, channel=channel, records=ids):
            return f"{'output' if output else 'input'} channel {channel}: {in_words(ids)}"
        case Message(subtask=subtask, attempt=attempt, number=number):
            return f"message {number} of subtask {subtask} (attempt {attempt})"
        case OutputState(status=StateStatus.WRITTEN, ids=ids):
            return f"written: {in_words(ids)}"
        case OutputState(status=status, ids=ids):
            return _scalar(status) + (f": {in_words(ids)}" if ids else "")
        case Resources():
            return _resources(value)
    return element_in_words(value)


def element_in_words(element: Any) -> str:
    """Describe an element: a buffer or an event."""
    match element:
        case Buffer(finished=finished):
            return short_name(element) + ("" if finished else " (unfinished)")
        case Announcement(seq=seq):
            return f"{short_name(element)} with sequence number {seq}"
        case _ if isinstance(element, Element):
            return short_name(element)
    return _anything(element)


def _taken(taken: Taken) -> str:
    parts = [recovered_in_words(one) for one in taken.elements]
    parts += [f"{many(taken.open, 'byte')} of the next element"] if taken.open else []
    parts += ["the end of the channel"] if taken.last else []
    return f"{', '.join(parts) or 'no element'}{'' if taken.buffer is None else f' in buffer {taken.buffer}'}"


def _milliseconds(time: Any) -> str:
    return "not measured" if time is None else f"{_scalar(time)} ms"


_ONLY_SOME_HAVE = ("open_files", "grants")
"""The resources that most components do not have, so that nothing is said of them if they are not counted."""


def _resources(held: Resources) -> str:
    counts = []
    for field in held.__struct_fields__:
        count, name = getattr(held, field), field.replace("_", " ")
        name = "heap segments" if name == "heap" else name
        if count is None:
            if field not in _ONLY_SOME_HAVE:
                counts.append(f"{name} unknown")
        elif count:
            counts.append(f"{count} {name[:-1] if count == 1 else name}")
    return ", ".join(counts) if counts else "nothing is held"


def _scalar(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    return str(value) if isinstance(value, int) else _anything(value)


def _listed(values: Any) -> str:
    """Describe a list, as `1, 2`; a list of lists with the place of each, as `0: 1, 2 | 1: none`; one of objects, as
    `input channel 0: record 1; input channel 1: no record`."""
    if values and all(isinstance(one, msgspec.Struct) for one in values):
        return "; ".join(map(value_in_words, values))
    if any(isinstance(one, (list, tuple)) for one in values):
        return " | ".join(f"{place}: {_anything(one)}" for place, one in enumerate(values))
    return ", ".join(map(_anything, values)) or "none"


def _anything(value: Any) -> str:
    if isinstance(value, (bool, int, Enum)) or value is None:
        return _scalar(value)
    if isinstance(value, str):
        return shortened(plain(value))
    if isinstance(value, (list, tuple)):
        return shortened(_listed(value))
    if isinstance(value, msgspec.Struct):
        fields = ", ".join(f"{name.replace('_', ' ')} {value_in_words(getattr(value, name))}"
                           for name in value.__struct_fields__)  # fmt: skip
        return shortened(fields or type(value).__name__)
    try:
        return shortened(plain(repr(value)))
    except Exception:  # an object whose repr fails is still a result
        return f"an object of type {type(value).__name__}"
