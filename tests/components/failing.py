"""Lists what the specification says of failures, what reaches each of it, and how often; writes the report.

    python -m tests.components.failing reports/faults.md

A sentence counts if it stands in a transition or a promise and speaks of something that fails. One that only says that
an operation is refused, with an error of another kind than io, does not: the table of operations of its chapter says
which step must fail so. `failing.toml` says by rule which fault or step reaches its sentences, or why nothing has to.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Component, Program
from conformance.engines import tally
from conformance.engines.search import Search, seeds
from conformance.ports import FaultStruck, find_implementation
from conformance.reporting import rules
from conformance.reporting.markdown import cell, table
from conformance.system.packaged import chapter
from conformance.system.writing import write_text

SEED = "faults"
SCENARIOS = 3000
"""So many scenarios of each component are searched."""
JOBS = {"pipeline": 400}
"""And so many of whole jobs, which take twenty times as long."""
LISTED = Path(__file__).with_name("failing.toml")

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_SOURCE = re.compile(r"\s*\((?:Flink|executed|Executed|Source|read|FLINK|Java)[^()]*(?:\([^()]*\)[^()]*)*\)")
"""What stands in brackets about Flink. It is no promise."""
_END = re.compile(r"(?<=[.)])\s+(?=[*A-Z(])")
_FAILS = re.compile(r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|refus\w+|throws?|cannot)\b")
_REFUSED = re.compile(r"of kind \*?(?:state|argument|config|checkpoint|released)\b")
_IO = re.compile(r"\bio\b")


class Reached(Struct, frozen=True, forbid_unknown_fields=True):
    """What reaches the sentences of one rule."""

    sentences: int
    """How many of its sentences speak of a failure."""
    faults: tuple[str, ...] = ()
    """The faults that reach them, each as place and kind: `buffer-pool ends`."""
    steps: tuple[str, ...] = ()
    """The steps that do, or cases of steps."""
    reason: str = ""
    """Why nothing has to, or what of it is not reached."""


class Struck(Struct, frozen=True):
    """What a search of one component has reached."""

    scenarios: int
    faults: Mapping[str, int]
    """By place and kind, in how many scenarios the fault struck, or was armed if nothing signals that it strikes."""
    steps: Mapping[str, int]
    """By step, or case of a step, how often it was performed."""


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a rule that speak of a failure."""
    plain = _SOURCE.sub("", _LINK.sub(r"\1", text))
    for one in _END.split(plain):
        if _FAILS.search(one) and not one.startswith("(") and (_IO.search(one) or not _REFUSED.search(one)):
            yield one


@cache
def failing(component: str) -> Mapping[str, Sequence[str]]:
    """Returns the rules of a chapter that speak of failures, with the sentences that do. Freedoms are no promises."""
    text = chapter(component)
    assert text is not None
    by_rule = {number: list(sentences(rule)) for number, rule in rules(text).items() if not number.startswith("F")}
    return {number: found for number, found in by_rule.items() if found}


def listed() -> Mapping[str, Mapping[str, Reached]]:
    """Returns what reaches the sentences, by chapter and rule."""
    return msgspec.toml.decode(LISTED.read_bytes(), type=dict[str, dict[str, Reached]])


def places(component: Component) -> list[str]:
    """Returns the faults of a component, each as place and kind."""
    return [f"{place} {kind.value}" for place, kinds in component.port.can_fail.items() for kind in kinds]


def armed_in(component: Component) -> str:
    """Says in how many configurations of a component faults are armed."""
    armed = sum(bool(getattr(config, "faults", False)) for config in component.configs)
    return f"{armed} of {len(component.configs)}"


def search(component: str, scenarios: int = SCENARIOS) -> Struck:
    """Searches a component, and counts which faults struck and which steps were performed."""
    program = Program(COMPONENTS[component], find_implementation("reference"))
    searching, counts = Search(program), tally.Counter(program)
    faults: Counter[str] = Counter()
    for text in seeds(SEED, component, range(scenarios)):
        scenario, run = searching.run(text, record=True)
        assert run.violation is None, run.violation
        counts.add(scenario, run)
        faults.update(set(_strikes(run.entries)))
    steps: Counter[str] = Counter()
    for cases in counts.tally().settings.values():
        steps.update(cases.steps)
    return Struck(scenarios, faults, steps)


def _strikes(entries: Sequence[Any]) -> Iterator[str]:
    for entry in entries:
        if entry.outcome is None:
            continue
        if entry.step[0] == "fault" and entry.outcome.value is True and entry.step[2] in ("slow", "short"):
            yield f"{entry.step[1]} {entry.step[2]}"
        for signal in entry.outcome.signals:
            if type(signal) is FaultStruck:
                yield f"{signal.place} {signal.kind.value}"


def never(struck: Mapping[str, Struck]) -> list[str]:
    """Returns the faults and steps that are said to reach a sentence, and that the search never saw."""
    return [
        f"{component} {rule}: {one}"
        for component, by_rule in listed().items()
        for rule, reached in by_rule.items()
        for one in (*reached.faults, *reached.steps)
        if not (struck[component].faults.get(one) or struck[component].steps.get(one))
    ]


def report(struck: Mapping[str, Struck]) -> str:
    """Returns the page."""
    entries, rows = listed(), []
    for component, by_rule in entries.items():
        seen = struck[component]
        for rule, one in by_rule.items():
            reached = [f"{fault} ({seen.faults.get(fault, 0)})" for fault in one.faults]
            reached += [f"step {step} ({seen.steps.get(step, 0)})" for step in one.steps]
            what = "; ".join([*reached, *([one.reason] if one.reason else [])])
            rows.append([component, rule, str(one.sentences), cell(what)])
    armed = [
        [name, armed_in(component), cell(", ".join(dict.fromkeys(component.port.can_fail)) or "nothing that it calls")]
        for name, component in COMPONENTS.items()
    ]
    every = [one for by_rule in entries.values() for one in by_rule.values()]
    total, without = sum(one.sentences for one in every), [one for one in every if not (one.faults or one.steps)]
    scenarios = max(one.scenarios for one in struck.values())
    jobs = ", ".join(f"of {name} {number:,}" for name, number in JOBS.items())
    return f"""# What fails, and which fault shows it

Each rule of the specification with sentences about a failure, and what reaches them: a fault, with the number of
scenarios of {scenarios:,} ({jobs}) in which it struck, or a step, with the number of times that it was performed. A
call that is slow or comes short signals nothing; the number is that of the scenarios in which it was armed. Written by
`python -m tests.components.failing`, with the default search of the reference and the seed `{SEED}`.

{total} sentences in {len(every)} rules; {len(without)} of the rules are reached by nothing and say why. What is only
refused, with an error of another kind than io, is not here: the tables of operations say which step must fail so.

{table(["chapter", "rule", "sentences", "reached by"], rows)}

## Where faults are armed

In how many configurations of each component something that it calls can fail, and what that is.

{table(["component", "configurations", "places"], armed)}
"""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--scenarios", default=SCENARIOS, show_default=True)
def main(path: Path, scenarios: int) -> None:
    """Search all components, and write the report to PATH."""
    struck = {name: search(name, min(scenarios, JOBS.get(name, scenarios))) for name in listed()}
    if missed := never(struck):
        raise click.ClickException(f"these were not seen in {scenarios} scenarios: {'; '.join(missed)}")
    write_text(path, report(struck))


if __name__ == "__main__":
    sys.exit(main())
