"""Shows the result of an exploration."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.table import Table

from conformance.engines import replay
from conformance.engines.explore import Exploration
from conformance.engines.recognition import HASH_BITS, Recognition, collision_odds
from conformance.models.words import many
from conformance.reporting.console import CarefulConsole
from conformance.reporting.documents import DOCUMENT_SCHEMA
from conformance.reporting.looks import simple_table
from conformance.reporting.story import tell
from conformance.scenarios import encode_scenario


def exploration_table(result: Exploration) -> Table:
    """Return a table of the scope, and of how far it was explored."""
    table = simple_table(f"{result.program.component.name} on {result.program.implementation.name}")
    table.add_column("scope")
    for name in ("states", "transitions", "depth"):
        table.add_column(name, justify="right")
    table.add_column("complete")
    scope = ", ".join(f"{key}={_text(value)}" for key, value in result.scope.as_text().items())
    counts = (result.states, result.transitions, result.depth)
    table.add_row(scope, *(f"{count:,}" for count in counts), "yes" if result.complete else "no")
    return table


def print_findings(console: CarefulConsole, result: Exploration) -> None:
    """Print each finding in a sentence, and its steps as a replay prints them.

    A contradiction of lock orders that no single run has has no steps.
    """
    implementation = result.program.implementation
    components = {result.program.component.name: result.program.component}
    for found in result.found:
        steps = many(len(found.scenario.steps), "step")
        console.print(
            f"{found.slug} ({found.failure_class}) after {steps}: {found.owed}; {found.observed}",
            soft_wrap=True,
        )  # fmt: skip
        seen = replay(found.scenario, implementation, components=components)
        if seen.violation is not None:
            console.print(tell(seen).table())


def exploration_lines(result: Exploration) -> list[str]:
    """Return sentences that say what the result means."""
    lines = []
    if result.interrupted:
        lines.append("Interrupted: this is a partial result.")
    if result.found:
        if not (result.scope.at_once or result.undrained):
            lines.append(
                "The exploration is breadth first: no run in this scope shows the same failure in fewer steps."
            )
    elif result.complete:
        lines.append("Every run within the scope was judged, and no property failed.")
    else:
        what = "No step" if result.undrained else "Nothing"
        more = " and those that happen at once" if result.scope.at_once else ""
        lines.append(f"{what} failed in any run of at most {many(result.depth, 'step')}{more}. Longer ones are left.")
    if result.undrained:
        lines.append(f"The fair drain was not judged from {result.undrained:,} of {result.states:,} states.")
    if result.recognition is Recognition.HASH:
        odds = _odds(result)
        lines.append(
            f"States were recognised by a hash of {HASH_BITS} bits. The odds that two different states were taken for "
            f"the same, so that runs are missing, are at most {odds:.0e}."
        )
    return lines


def exploration_document(result: Exploration) -> dict[str, Any]:
    """Return the result as a JSON document. Its names do not change."""
    return {
        "schema": DOCUMENT_SCHEMA,
        "component": result.program.component.name,
        "implementation": result.program.implementation.name,
        "scope": result.scope.as_text(),
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete,
        "interrupted": result.interrupted,
        "undrained": result.undrained,
        "recognition": str(result.recognition),
        "collision_odds": _odds(result),
        "findings": [
            {
                "property": found.slug,
                "class": found.failure_class,
                "steps": len(found.scenario.steps),
                "owed": found.owed,
                "observed": found.observed,
                "scenario": _as_data(encode_scenario(found.scenario)),
            }
            for found in result.found
        ],
    }


def _odds(result: Exploration) -> float:
    """Return the odds that two states were taken for the same. With values exchanged, a state has several hashes."""
    hashes = 1 + len(result.scope.exchanges(result.program.component))
    return collision_odds(result.recognition, hashes * result.states)


def _as_data(text: str) -> Any:
    return msgspec.json.decode(text)


def _text(value: Any) -> str:
    """Return a value of a scope as `--scope` takes it."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
