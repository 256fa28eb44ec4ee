"""Where two implementations that were given the same scenario part ways.

A difference is no violation: nobody says here who is right, or that only one answer is. Compared is what the interface
promises, so the texts of errors are not.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import astuple

from conformance.driver import Run
from conformance.ports import Resources
from conformance.scenarios import Entry

ENABLED = "enabled"
"""The field of a difference that shows before an answer: one ledger enables the step and the other does not."""

_encoder = msgspec.json.Encoder(order="deterministic")


def first_difference(
    baseline: Run, other: Run, violations: bool = False, resources: bool = True
) -> tuple[int, str, str] | None:
    """The first difference between two recorded runs of the same steps: index, operation of the baseline, field.

    The field is `value`, `signals`, `error` or `enabled`. From the first violation on, whichever run it is in, nothing
    is compared: what differs there is that violation, and is counted as such; with `violations` the step at which it
    showed is compared too. Without `resources`, counts of what is held are not: how memory is pooled is everybody's
    own. None: there is no difference.
    """
    left, right = baseline.entries, other.entries
    if violations:
        end_left, end_right = len(left), len(right)
    else:
        end_left, end_right = _judged(baseline), _judged(other)
    for index in range(min(end_left, end_right)):
        field = _field(left[index], right[index], resources)
        if field is not None:
            return index, left[index].step[0], field
    # What ended without a violation was over; if the other run went on, its ledger saw something else owed.
    if end_left < end_right and baseline.violation is None:
        return end_left, right[end_left].step[0], ENABLED
    if end_right < end_left and other.violation is None:
        return end_right, left[end_right].step[0], ENABLED
    return None


def _judged(run: Run) -> int:
    """How many entries come before a violation."""
    return len(run.entries) if run.violation is None else max(0, len(run.entries) - 1)


def _field(left: Entry, right: Entry, resources: bool) -> str | None:
    a, b = left.outcome, right.outcome
    if a is None or b is None or left.step != right.step:
        return None if a is b and left.step == right.step else ENABLED
    counts = isinstance(a.value, Resources) and isinstance(b.value, Resources)
    if a.value is not b.value and not alike(a.value, b.value) and (resources or not counts):
        return "value"
    if a.signals != b.signals:
        return "signals"
    if a.error is not b.error and (
        a.error is None
        or b.error is None
        or (a.error.kind, a.error.checkpoint_reason) != (b.error.kind, b.error.checkpoint_reason)
    ):
        return "error"
    return None


def alike(left: Any, right: Any) -> bool:
    """Whether two answers are the same, as far as the interface promises anything."""
    if isinstance(left, Resources) and isinstance(right, Resources):  # what one of them cannot tell does not differ
        pairs = zip(astuple(left), astuple(right), strict=True)
        return all(a is None or b is None or a == b for a, b in pairs)
    return _json(left) == _json(right)


def _json(value: Any) -> bytes:
    """As bytes, since `==` takes True for 1; a value that is nothing of the interface stands for its type."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError):
        return type(value).__qualname__.encode()
