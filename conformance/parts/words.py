"""Elements, answers and refusals in words, and the comparisons that many rules end with."""

from __future__ import annotations

from conformance.driver import Broken, FailureClass, Judgement
from conformance.parts.records import compare_ids
from conformance.ports import Barrier, Buffer, CheckpointReason, Element, Error, ErrorKind


def name(element: Element) -> str:
    """An element in words."""
    if type(element) is Buffer:
        return f"records {element.ids}"
    if type(element) is Barrier:
        return f"the {element.alignment} barrier {element.checkpoint}"
    return element.data_type.label


def got(error: Error | None) -> str:
    """What an operation came to that answers nothing, in words."""
    if error is None:
        return "it was accepted"
    reason = f" ({error.checkpoint_reason})" if error.checkpoint_reason else ""
    return f"it answered the error {error.kind}{reason}"


def refusal(error: Error | None) -> CheckpointReason | None:
    """For which reason a checkpoint was refused; None: it was not, or something else went wrong."""
    return error.checkpoint_reason if error is not None and error.kind is ErrorKind.CHECKPOINT else None


def must_fail(error: Error | None, kind: ErrorKind, why: str) -> Judgement:
    """An error of this kind, and nothing else, is the right answer."""
    if error is not None and error.kind is kind:
        return True
    return Broken(FailureClass.PROTOCOL, f"{why}: an error of kind {kind}", got(error))


def must_succeed(error: Error | None, why: str, kind: FailureClass = FailureClass.PROTOCOL) -> Judgement:
    """Any error is wrong."""
    return True if error is None else Broken(kind, why, got(error))


def must_be(owed: Element, element: Element, owing: str = "", observed: str = "") -> Judgement:
    """The element that came must be the one that was owed."""
    if element == owed:
        return True
    kind = FailureClass.REORDERED
    if type(element) is Buffer and type(owed) is Buffer:
        kind = compare_ids(owed.ids, element.ids, owed.ids[0])
    elif type(element) is type(owed):
        kind = FailureClass.CORRUPTED
    return Broken(kind, owing or f"{name(owed)} comes next", observed or f"{name(element)} came")
