"""Shows what became of known bugs and legal variants: what went wrong first, then one line a component.

As with verdicts, a terminal shows a screenful, and a pipe gets lines: the first word says what became of one, the
second is the component, the third the property, the fourth the id. All of them are shown if all are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from conformance.reporting.console import CarefulConsole
from conformance.reporting.counts import counted
from conformance.reporting.documents import BugRow
from conformance.reporting.legal_variants import VariantRow, variants_table
from conformance.reporting.looks import BAD, FAINT, simple_table
from conformance.reporting.tables import kill_matrix, steps_of
from conformance.reporting.words import plain

MOST = 6
"""How many of those that went wrong are shown on a terminal, unless all are asked for."""
R = TypeVar("R", BugRow, VariantRow)


# ---- known bugs ------------------------------------------------------------------------------------------------------
def print_bugs(console: CarefulConsole, rows: Sequence[BugRow], everything: bool) -> None:
    """Print the bugs that survived, then counts for each component; with `everything`, all bugs."""
    if not console.is_terminal:
        _print_lines(console, (_bug_line(row) for row in rows if everything or not row.killed))
    elif everything:
        console.print(kill_matrix(rows))
        return
    else:
        _print_first(console, [row for row in rows if not row.killed], _survivor)
        console.print(_bugs_by_component(rows))
    found = sum(row.killed for row in rows)
    scenarios = [row.scenarios for row in rows if row.killed]
    effort = f" Scenarios until then: median {median(scenarios):,g}, at most {max(scenarios):,}." if found else ""
    console.print(f"Known bugs: {found:,} of {len(rows):,} found.{effort}")


def _bug_line(row: BugRow) -> str:
    if not row.killed:
        return f"SURVIVED {row.component} {row.property} {row.id} ({counted(row.scenarios, 'scenario')}): {row.summary}"
    effort = f"{counted(row.scenarios, 'scenario')}, {steps_of(row) or 'no'} steps, {row.cpu_seconds:.2f} cpu s"
    return f"found {row.component} {row.found_property or row.property} {row.id} ({effort}): {row.summary}"


def _survivor(row: BugRow) -> Text:
    words = f" in {counted(row.scenarios, 'scenario')} of {row.component}; {row.property} must notice it. "
    return Text.assemble((row.id, "bold"), " ", ("SURVIVED", BAD), words, (plain(row.summary), FAINT))


def _bugs_by_component(rows: Sequence[BugRow]) -> Table:
    table = simple_table(None, "scenarios: until a bug was found. steps: of the shortest scenario, without the drain.")
    table.add_column("component", no_wrap=True)
    for name in ("bugs", "found", "scenarios, median", "at most", "steps, median", "at most", "cpu s"):
        table.add_column(name, justify="right")
    for component, mine in _by_component(rows).items():
        found = [row for row in mine if row.killed]
        scenarios = [row.scenarios for row in found]
        steps = [row.minimal_steps for row in found if row.minimal_steps is not None]
        survived = len(found) < len(mine)
        table.add_row(
            component, f"{len(mine):,}", Text(f"{len(found):,}", style=BAD if survived else ""),
            *_middle_and_most(scenarios), *_middle_and_most(steps), f"{sum(row.cpu_seconds for row in mine):,.0f}",
        )  # fmt: skip
    return table


def _middle_and_most(numbers: Sequence[int]) -> tuple[str, str]:
    return (f"{median(numbers):,g}", f"{max(numbers):,}") if numbers else ("", "")


# ---- legal variants --------------------------------------------------------------------------------------------------
def print_variants(console: CarefulConsole, rows: Sequence[VariantRow], everything: bool) -> None:
    """Print the variants that were accused or differ nowhere, then counts for each component; or all variants."""
    wrong = [row for row in rows if row.accused or not row.differs]
    if not console.is_terminal:
        _print_lines(console, (_variant_line(row) for row in (rows if everything else wrong)))
    elif everything:
        console.print(variants_table(rows))
        for row in rows:
            if row.accused:
                console.print(_accused(row))
        return
    else:
        _print_first(console, wrong, _accused)
        console.print(_variants_by_component(rows))
    nowhere = sum(not row.differs for row in rows)
    differs = f", {nowhere:,} differ NOWHERE" if nowhere else ""
    console.print(f"Legal variants: {sum(row.accused for row in rows):,} of {len(rows):,} accused{differs}.")


def _variant_line(row: VariantRow) -> str:
    what = "ACCUSED" if row.accused else "differs" if row.differs else "NOWHERE"
    words = f"{row.property or '-'} {row.id} ({counted(row.scenarios, 'scenario')}, {row.freedom}): {row.summary}"
    return f"{what} {row.component} {words}" + (f" It is accused: {row.observed}" if row.accused else "")


def _accused(row: VariantRow) -> Text:
    if not row.accused:
        words = f" from its original in {counted(row.scenarios, 'scenario')} of {row.component}. "
        return Text.assemble((row.id, "bold"), " differs ", ("NOWHERE", BAD), words, (plain(row.summary), FAINT))
    words = f" by {row.property} of {row.component}: "
    return Text.assemble((row.id, "bold"), " is ", ("ACCUSED", BAD), words, (plain(row.observed or ""), FAINT))


def _variants_by_component(rows: Sequence[VariantRow]) -> Table:
    table = simple_table(
        None, "differ: of how many some scenario shows that their history is not that of the original."
    )
    table.add_column("component", no_wrap=True)
    for name in ("variants", "accused", "differ", "scenarios"):
        table.add_column(name, justify="right")
    for component, mine in _by_component(rows).items():
        accused, differ = sum(row.accused for row in mine), sum(row.differs for row in mine)
        table.add_row(
            component, f"{len(mine):,}", Text(f"{accused:,}", style=BAD if accused else ""),
            Text(f"{differ:,}", style=BAD if differ < len(mine) else ""), f"{sum(row.scenarios for row in mine):,}",
        )  # fmt: skip
    return table


# ---- both ------------------------------------------------------------------------------------------------------------
def _print_lines(console: CarefulConsole, lines: Iterator[str]) -> None:
    for line in lines:
        console.print(plain(line), soft_wrap=True)


def _print_first(console: CarefulConsole, rows: Sequence[R], shown: Callable[[R], Text]) -> None:
    for row in rows[:MOST]:
        console.print(shown(row))
    if len(rows) > MOST:
        console.print(f"and {len(rows) - MOST:,} more: --all shows them")


def _by_component(rows: Sequence[R]) -> dict[str, list[R]]:
    found: dict[str, list[R]] = {}
    for row in rows:
        found.setdefault(row.component, []).append(row)
    return found
