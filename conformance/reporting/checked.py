"""What `conformance check` found out about one implementation, and what an interruption has left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.engines import Check, Standing
from conformance.engines.causes import Cause
from conformance.models.words import many
from conformance.ports import Implementation
from conformance.reporting.claims import claims_remarks, idle_remarks
from conformance.reporting.counts import first_of
from conformance.reporting.divergences import divergence_remarks
from conformance.reporting.exercise import exercise_remarks
from conformance.reporting.known import standing_remarks
from conformance.reporting.verdicts import Remark, Verdicts, tried_in_check


@dataclass(frozen=True, slots=True)
class Checked:
    """One implementation with its checks."""

    name: str
    """The name in the call."""
    implementation: Implementation
    checks: tuple[Check, ...]
    """One per component that was begun."""
    standing: Standing
    causes: tuple[Cause, ...] = ()
    """The findings of the checks, grouped by likely cause."""
    not_begun: tuple[str, ...] = ()
    """The components that an interruption has left out."""

    @property
    def interrupted(self) -> bool:
        """Whether an interruption has left out anything."""
        return bool(self.not_begun) or any(check.interrupted for check in self.checks)


def checks_of(everybody: Iterable[Checked]) -> list[Check]:
    """Return all checks in their order."""
    return [check for one in everybody for check in one.checks]


def verdicts_of_check(everybody: Sequence[Checked], asked: int, reports: Path | None = None) -> Verdicts:
    """Return what a person is shown. `asked`: as for `interruption_lines`. `reports`: the folder of bug reports."""
    every = checks_of(everybody)
    tried = tuple(tried_in_check(one.name, one.checks, one.causes, one.standing) for one in everybody)
    remarks = [*exercise_remarks(every), *divergence_remarks(every)]
    remarks += claims_remarks(tried)
    remarks += [remark for one in everybody for remark in idle_remarks(one.name, one.checks)]
    remarks += [Remark(line) for line in interruption_lines(everybody, asked)]
    for one in tried:
        remarks += standing_remarks(one.label, one.standing)
    return Verdicts(tried, tuple(remarks), reports)


def interruption_lines(everybody: Sequence[Checked], asked: int) -> list[str]:
    """Return sentences that say what an interruption has left out; none if nothing was interrupted.

    `asked`: how many scenarios were asked for, per implementation, component, and shape of it.
    """
    if not any(one.interrupted for one in everybody):
        return []
    lines = ["Interrupted: this is a partial result."]
    for one in everybody:
        for check in one.checks:
            where = f"{one.name}, {check.program.component.name}"
            if check.interrupted and check.tally.scenarios < (all_asked := asked * check.program.shares()):
                lines.append(f"{where}: {check.tally.scenarios:,} of {all_asked:,} scenarios were run.")
            lines += [
                f"{where}: {found.slug} at {found.signature[2]}: its scenario was not reduced to the end; conformance "
                "shrink goes on."
                for found in check.found
                if not found.reduced
            ]
        if one.not_begun:
            lines.append(f"{one.name}: nothing was run of {', '.join(one.not_begun)}.")
    return lines


def untried_lines(kind: str, names: Sequence[str], interrupted: bool) -> list[str]:
    """Return sentences that say of which known bugs, or others of this `kind`, nothing is known.

    `interrupted`: whether an interruption is the reason.
    """
    if not names:
        return []
    partial = "Interrupted: this is a partial result." if interrupted else "This is a partial result."
    return [partial, f"{many(len(names), kind)} not tried: {first_of(names)}."]


def interruption_document(everybody: Sequence[Checked]) -> dict[str, Any]:
    """Return the fields of the JSON document of a check that say what an interruption has left out."""
    return {
        "interrupted": any(one.interrupted for one in everybody),
        "not_begun": [
            {"implementation": one.name, "component": component} for one in everybody for component in one.not_begun
        ],
    }
