"""Says which known failures still fail, and which do not."""

from __future__ import annotations

from conformance.engines import Standing
from conformance.reporting.counts import counted
from conformance.reporting.verdicts import Remark

_FEW = 2
"""How many of the known failures that still fail are shown, unless everything is asked for."""


def standing_remarks(name: str, standing: Standing) -> list[Remark]:
    """Return a sentence on the entries that still fail, one for each entry that no longer fails, which is a violation,
    and one for each entry that this implementation cannot show."""
    failing = sorted(standing.failing, key=lambda entry: (entry.property, entry.failure_class))
    remarks = []
    if failing:
        fails = "still fails as it is" if len(failing) == 1 else "still fail as they are"
        lines = tuple(f"{one.property} ({one.component}): {one.ticket}, {one.reason}" for one in failing)
        remarks.append(Remark(f"{name}: {counted(len(failing), 'known failure')} {fails} recorded:", lines, few=_FEW))
    remarks += [
        Remark(f"{name}: {one.property} no longer fails as {one.ticket} recorded it: remove it from the list.")
        for one in standing.fixed
    ]
    remarks += [
        Remark(
            f"{name}: {one.property}, as {one.ticket} recorded it, does not apply to it. If the entry is about another "
            'implementation, name that one in it (implementation = "...").'
        )
        for one in standing.inapplicable
    ]
    return remarks
