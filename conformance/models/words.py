"""Descriptions of elements and results for messages, and comparisons that many rules end with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.driver import Broken, FailureClass, Judgement
from conformance.models.records import compare_ids, in_words
from conformance.ports import (
    Announcement,
    Barrier,
    Buffer,
    CancelMarker,
    CheckpointReason,
    Element,
    EndOfData,
    EndOfPartition,
    Error,
    ErrorKind,
    Event,
    RecoveryCompletion,
    RecoveryMetadata,
)

Description = Callable[[], str]
"""Describes something when a message needs it."""


def name(element: Element) -> str:
    """Describes an element as a noun of a sentence: `the end of data`."""
    words = short_name(element)
    return words if isinstance(element, (Buffer, Event)) else f"the {words}"


def taken(element: Element) -> str:
    """Describes an element as `name` does, and says of a buffer that is unfinished."""
    return name(element) + (" (unfinished)" if isinstance(element, Buffer) and not element.finished else "")


def short_name(element: Element) -> str:
    """Describes an element without an article: `end of data`. Stories and rules use the same words."""
    match element:
        case Buffer(ids=ids):
            return in_words(ids) if ids else "an empty buffer"
        case Barrier(checkpoint=checkpoint, alignment=alignment):
            return f"{alignment} barrier {checkpoint}"
        case Announcement(checkpoint=checkpoint):
            return f"announcement of barrier {checkpoint}"
        case CancelMarker(checkpoint=checkpoint):
            return f"cancel marker of checkpoint {checkpoint}"
        case Event(label=label):
            return f"event {label}"
        case RecoveryMetadata(old_subtask=subtask, old_channel=channel):
            return f"recovery metadata of subtask {subtask}, channel {channel}"
        case RecoveryCompletion():
            return "end of output state"
        case EndOfData():
            return "end of data"
        case EndOfPartition():
            return "end of partition"
    return f"element of type {element.data_type.label}"


def channels(numbers: Sequence[int]) -> str:
    """Describes channels: `channel 1` or `channels 1, 2`; without a number, `no channel`."""
    if not numbers:
        return "no channel"
    return f"channel{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def many(number: int, noun: str) -> str:
    """Describes things by their number: `1 buffer` or `2 buffers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def are(number: int, noun: str) -> str:
    """Describes things by their number as the subject of a sentence: `1 buffer is` or `2 buffers are`."""
    return f"{many(number, noun)} {'is' if number == 1 else 'are'}"


def counted(number: int, kind: str) -> str:
    """Describes resources by their number and the field that counts them: `no segment`, `2 open files`."""
    noun = "heap segment" if kind == "heap" else kind[:-1].replace("_", " ")
    return many(number, noun) if number else f"no {noun}"


def truth(value: bool) -> str:
    """Describes a truth value as the reports do: `true` or `false`."""
    return "true" if value else "false"


def got(error: Error | None) -> str:
    """Describes whether an operation succeeded, or with which error it failed."""
    if error is None:
        return "the operation succeeded"
    reason = f" ({error.checkpoint_reason})" if error.checkpoint_reason else ""
    return f"the operation failed with an error of kind {error.kind}{reason}"


def refusal(error: Error | None) -> CheckpointReason | None:
    """Returns the reason with which a checkpoint was refused; None: there was no error, or one of another kind."""
    return error.checkpoint_reason if error is not None and error.kind is ErrorKind.CHECKPOINT else None


def must_fail(error: Error | None, kind: ErrorKind, why: str) -> Judgement:
    """Judges whether the operation failed with an error of this kind. `why` is a clause that gives the reason."""
    if error is not None and error.kind is kind:
        return True
    return Broken(FailureClass.PROTOCOL, f"{why}: the operation must fail with an error of kind {kind}", got(error))


def must_succeed(error: Error | None, why: str, kind: FailureClass = FailureClass.PROTOCOL) -> Judgement:
    """Judges whether the operation did not fail. `why` says what must have happened instead."""
    return True if error is None else Broken(kind, why, got(error))


def must_be(owed: Element, element: Element, owing: str = "", observed: str = "") -> Judgement:
    """Judges whether the element that came is the one that had to come."""
    if element == owed:
        return True
    kind = FailureClass.REORDERED
    if type(element) is Buffer and type(owed) is Buffer:
        kind = compare_ids(owed.ids, element.ids, owed.ids[0])
    elif type(element) is type(owed):
        kind = FailureClass.CORRUPTED
    return Broken(kind, owing or f"{name(owed)} must come next", observed or f"the take returned {name(element)}")
