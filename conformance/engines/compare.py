"""Finds the first difference between two runs of the same scenario.

A difference is not a violation: one of the two results may be right, or both. Only what the interface promises is
compared, so the texts of errors are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import msgspec
from msgspec.structs import astuple

from conformance.driver import Component, Run
from conformance.ports import Resources
from conformance.scenarios import Entry

ENABLED = "enabled"
"""The field of a difference before any result: the ledger of one run enables the step, that of the other does not."""

_encoder = msgspec.json.Encoder(order="deterministic")


def outcomes(component: Component, left: Run, right: Run) -> tuple[Run, Run]:
    """Returns two runs of the same steps in which only those entries have outcomes on which both must agree, as the
    component says. They have no entries if there is nothing to compare."""
    if component.outcome is None:
        return left, right
    found = [component.outcome(run.entries) for run in (left, right)]
    agreed = [one.entries if found[0].given == found[1].given else () for one in found]
    return _shown(left, agreed[0]), _shown(right, agreed[1])


def _shown(run: Run, agreed: Sequence[Entry]) -> Run:
    shown = copy(run)
    steps = [Entry(one.step, None) for one in run.entries if not one.closing]
    shown.entries = (*steps, *agreed) if agreed else ()
    return shown


def first_difference(
    baseline: Run, other: Run, violations: bool = False, resources: bool = True
) -> tuple[int, str, str] | None:
    """Returns the first difference of two recorded runs of the same steps: index, operation of the baseline, field.

    The field is `value`, `signals`, `error` or `enabled`. Returns None if there is no difference. Nothing is compared
    from the first violation in either run on, because that difference is counted as a violation already; with
    `violations`, the step of the violation is compared too. Without `resources`, the counts of held resources are not
    compared, because each implementation may pool memory in its own way.
    """
    left, right = baseline.entries, other.entries
    if not left or not right:
        return None
    if violations:
        end_left, end_right = len(left), len(right)
    else:
        end_left, end_right = _judged(baseline), _judged(other)
    for index in range(min(end_left, end_right)):
        field = field_that_differs(left[index], right[index], resources)
        if field is not None:
            return index, left[index].step[0], field
    # A run that ended without a violation has finished its drain. If the other run went on, its ledger was still owed
    # something, so it enabled a step that the first ledger did not.
    if end_left < end_right and baseline.violation is None:
        return end_left, right[end_left].step[0], ENABLED
    if end_right < end_left and other.violation is None:
        return end_right, left[end_right].step[0], ENABLED
    return None


def _judged(run: Run) -> int:
    """Returns how many entries come before the violation; all entries if there is none."""
    return len(run.entries) if run.violation is None else max(0, len(run.entries) - 1)


def field_that_differs(left: Entry, right: Entry, resources: bool = True) -> str | None:
    """Returns the first field in which two entries differ, as `first_difference`; None if there is none."""
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
    """Returns whether two results are equal in everything that the interface promises."""
    if isinstance(left, Resources) and isinstance(right, Resources):  # an unknown count (None) equals any count
        pairs = zip(astuple(left), astuple(right), strict=True)
        return all(a is None or b is None or a == b for a, b in pairs)
    return _json(left) == _json(right)


def _json(value: Any) -> bytes:
    """Returns JSON, because `==` takes True for 1. A value that JSON cannot hold is represented by its type."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError):
        return type(value).__qualname__.encode()
