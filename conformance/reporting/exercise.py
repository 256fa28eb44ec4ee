"""Shows in which settings properties were judged: lines for the terminal, a table for each component, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.driver import Property, Setting
from conformance.driver.setting import LOCAL, REMOTE
from conformance.engines import Check
from conformance.engines.exercise import (
    Cell,
    Gap,
    Hole,
    Judging,
    can,
    cells,
    comparable,
    exercise_of,
    gaps,
    holes,
    shown,
)
from conformance.engines.tally import Tally
from conformance.ports import Recovery
from conformance.reporting.conformance_report import Call
from conformance.reporting.markdown import cell, table
from conformance.reporting.verdicts import Remark
from conformance.system.text import markdown_block, markdown_code, neutral_line
from conformance.system.writing import write_text

Document = dict[str, Any]
NO_RECOVERY = "no recovery"
"""What a table calls the design of a scenario in which nothing is recovered."""
_WHAT = (
    "A number says in how many cases a property was judged in a setting: a case is a step after which it was judged. "
    "**0** of a number of steps: the steps after which it is judged were performed there so often, and it was never "
    "judged. *cannot*: the component says that it cannot be judged there. A dash: they were not performed there."
)
_SETTINGS = (
    "The first columns are the recovery designs, with the stage of the component; *one local* and *one remote* are "
    "steps that concern one channel of that kind; *whole* and *fine* are the interleavings. Each group of columns adds "
    "up over the others. A property is shown where most of its cases are: at steps that concern one channel, or at the "
    "other steps. *Unsure* are the cases in which there was something to judge, but more than one result may have "
    "been right, mostly since operations overlapped."
)


# ---- lines -----------------------------------------------------------------------------------------------------------
def exercise_lines(checks: Iterable[Check]) -> list[str]:
    """Return a line for each property that was never judged in some setting, and for each hole."""
    lines = []
    for check in checks:
        who = f"{check.program.component.name} of {check.program.implementation.name}"
        for slug, mine in _by_slug(gaps(check.program, check.tally)).items():
            where = "; ".join(f"{gap.where} ({gap.steps:,} steps)" for gap in mine)
            lines.append(f"{who}: {slug} was never judged in: {where}")
        for hole in holes(check.program, check.tally):
            lines.append(f"{who}: {hole.slug} is a hole: {_share(hole)}")
    return lines


def exercise_remarks(checks: Sequence[Check]) -> list[Remark]:
    """Return one remark on all gaps and holes, if there are any."""
    unjudged = sum(len(_by_slug(gaps(one.program, one.tally))) for one in checks)
    unsure = sum(len(holes(one.program, one.tally)) for one in checks)
    if not unjudged and not unsure:
        return []
    said = []
    if unjudged:
        said.append(f"never judged in some setting: {unjudged:,}")
    if unsure:
        said.append(f"mostly unsure: {unsure:,}")
    return [Remark(f"Properties {', '.join(said)} (--exercise FILE).", tuple(exercise_lines(checks)))]


def _share(hole: Hole) -> str:
    return f"unsure in {hole.unsure:,} of {hole.unsure + hole.judged:,} cases"


def _by_slug(every: Iterable[Gap]) -> dict[str, list[Gap]]:
    found: dict[str, list[Gap]] = {}
    for gap in every:
        found.setdefault(gap.slug, []).append(gap)
    return found


# ---- JSON ------------------------------------------------------------------------------------------------------------
def gaps_document(check: Check) -> list[Document]:
    """Return the settings in which properties were never judged."""
    return [
        {
            "property": gap.slug,
            "component": check.program.component.name,
            "setting": gap.where._asdict(),
            "steps": gap.steps,
        }
        for gap in gaps(check.program, check.tally)
    ]


def holes_document(check: Check) -> list[Document]:
    """Return the properties that were unsure in most of their cases."""
    return [
        {
            "property": hole.slug,
            "component": check.program.component.name,
            "unsure": hole.unsure,
            "judged": hole.judged,
        }
        for hole in holes(check.program, check.tally)
    ]


def exercise_document(call: Call, checks: Sequence[tuple[str, Check]]) -> Document:
    """Return all counts of checks, each with the name of its implementation."""
    return {
        "schema": 1,
        "seed": call.seed,
        "scenarios": call.scenarios,
        "fields": list(Setting._fields),
        "checks": [
            {
                "implementation": name,
                "component": check.program.component.name,
                **msgspec.to_builtins(exercise_of(check.tally)),
                "gaps": gaps_document(check),
                "holes": holes_document(check),
            }
            for name, check in checks
        ],
    }


def write_exercise(page: Path, call: Call, checks: Sequence[tuple[str, Check]]) -> None:
    """Write the page, and beside it all counts as JSON. Raises: OSError."""
    write_text(page.with_suffix(".json"), _by_line(exercise_document(call, checks)) + "\n")
    write_text(page, exercise_page(checks, call.command(page.name, "--exercise")))


def _by_line(value: Any, depth: int = 0) -> str:
    """Return a value as JSON, with lists of numbers and texts in one line each."""
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {_by_line(value[key], depth + 1)}" for key in sorted(value)]
        marks = "{}"
    elif isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
        inside, marks = [_by_line(one, depth + 1) for one in value], "[]"
    else:
        return json.dumps(value)
    if not inside:
        return marks
    line = f"\n{' ' * (depth + 1)}"
    return f"{marks[0]}{line}{f',{line}'.join(inside)}\n{' ' * depth}{marks[1]}"


# ---- Markdown --------------------------------------------------------------------------------------------------------
def gaps_markdown(checks: Sequence[tuple[str, Check]]) -> str:
    """Return a table of the gaps and holes of checks, each with the name of its implementation."""
    rows = [
        (
            cell(name),
            one.program.component.name,
            markdown_code(gap.slug),
            cell(str(gap.where)),
            f"never, after {gap.steps:,} steps",
        )
        for name, one in checks
        for gap in gaps(one.program, one.tally)
    ]
    rows += [
        (cell(name), one.program.component.name, markdown_code(hole.slug), "any", _share(hole))
        for name, one in checks
        for hole in holes(one.program, one.tally)
    ]
    if not rows:
        return "Every property was judged in every setting in which it was to be expected, and none was mostly unsure."
    return table(("implementation", "component", "property", "setting", "judged"), rows)


def exercise_page(checks: Sequence[tuple[str, Check]], command: str) -> str:
    """Return a page with a table for each component. The counts of all implementations are added up in it."""
    names = list(dict.fromkeys(name for name, _ in checks))
    by_component: dict[str, list[Check]] = {}
    for _, check in checks:
        by_component.setdefault(check.program.component.name, []).append(check)
    parts = [
        f"# Where properties were put to the test, on {', '.join(map(cell, names))}",
        f"This command writes the page again:\n\n{markdown_block(neutral_line(command), 'sh')}",
        "## Gaps and holes",
        "A *gap* is a setting in which the steps of a property were performed and the property was never judged, "
        "although it would have been judged there at least ten times, had it been judged as often as elsewhere. A "
        "*hole* is a property that was unsure in more than half of its cases. Neither is a failure of the "
        "implementation.",
        gaps_markdown(checks),
        "## By setting",
        _WHAT,
        _SETTINGS,
    ]
    for component, mine in by_component.items():
        parts += [f"### {component}", _component_table(mine)]
    return "\n\n".join(parts) + "\n"


_Column = tuple[str, Callable[[Setting], bool]]


def _component_table(checks: Sequence[Check]) -> str:
    tally = Tally()
    for check in checks:
        tally.merge(check.tally)
    program = max((check.program for check in checks), key=lambda one: len(one.properties))
    columns = _columns(program, tally)
    rows = [(f"`{one.slug}`", *_row(one, program, tally, columns), _unsure(one, tally)) for one in shown(program)]
    note = f"{tally.scenarios:,} scenarios, {tally.steps:,} steps."
    return f"{note}\n\n{table(('property', *(name for name, _ in columns), 'unsure'), rows)}"


def exercise_table(program: Judging, tally: Tally) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the names of the columns, and for each property its slug and what is said of it in each column."""
    columns = _columns(program, tally)
    rows = [(one.slug, _row(one, program, tally, columns)) for one in shown(program)]
    return [name for name, _ in columns], rows


def _columns(program: Judging, tally: Tally) -> list[_Column]:
    """The columns: recovery designs with stages, kinds of channels, interleavings. One alone would show nothing."""
    stages = list(dict.fromkeys(program.component.settings.stages.values()))
    order = [(recovery, stage) for recovery in ("", *(one.value for one in Recovery)) for stage in ("", *stages)]
    there = {(one.recovery, one.stage) for one in tally.settings}
    names = {"none": NO_RECOVERY}
    found = [
        (", ".join(filter(None, (names.get(recovery, recovery), stage))) or "all", _is_design(recovery, stage))
        for recovery, stage in order
        if (recovery, stage) in there
    ]
    if any(one.channel for one in tally.settings):
        found += [("one local", _is_channel(LOCAL)), ("one remote", _is_channel(REMOTE))]
    interleavings = {one.interleaving for one in tally.settings}
    if len(interleavings) > 1:
        found += [(one, _is_interleaving(one)) for one in sorted(interleavings, reverse=True)]
    return found


def _is_design(recovery: str, stage: str) -> Callable[[Setting], bool]:
    return lambda one: (one.recovery, one.stage) == (recovery, stage)


def _is_channel(channel: str) -> Callable[[Setting], bool]:
    return lambda one: one.channel == channel


def _is_interleaving(interleaving: str) -> Callable[[Setting], bool]:
    return lambda one: one.interleaving == interleaving


def _row(judged: Property, program: Judging, tally: Tally, columns: Sequence[_Column]) -> list[str]:
    every = comparable(cells(judged, tally))
    return [
        _cell(judged, program, {setting: one for setting, one in every.items() if means(setting)})
        for _, means in columns
    ]


def _cell(judged: Property, program: Judging, every: dict[Setting, Cell]) -> str:
    count, steps = sum(one.judged for one in every.values()), sum(one.steps for one in every.values())
    if count:
        return f"{count:,}"
    if not steps:
        return "-"
    if not any(can(judged, program, setting) for setting in every):
        return "*cannot*"
    return f"**0** of {steps:,}" if judged.on else "0"


def _unsure(judged: Property, tally: Tally) -> str:
    return f"{tally.unsure[judged.slug]:,}" if tally.unsure.get(judged.slug) else ""
