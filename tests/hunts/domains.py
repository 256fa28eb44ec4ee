"""Which values a search draws, and which two of them it never draws together.

    python -m tests.hunts.domains reports/domains.md --into build/domains

A rule that compares two numbers says little where one of them is never equal to the other, or never smaller. So each
component is searched, and of each field of its configuration and each operand of its steps the values are noted, with
those of every other field of the same configuration and every other operand of the same step, and with the value that
the operand had in the step of this kind before. Of lists, their lengths and the order of their elements are noted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.interruption import Interruption, Unfinished
from conformance.engines.position import Follow
from conformance.engines.search import Search, seeds
from conformance.ports import find_implementation
from conformance.reporting.markdown import cell, table
from conformance.scenarios import Scenario, read_toml
from conformance.system.writing import write_text
from tests.hunts.keeping import kept_over

SEED = "domains"
SCENARIOS = 20_000
FEW = 12
"""A field or an operand with more values is known by its relations alone."""
SHOWN = 40
"""So many rows of a table are shown of a component."""
REASONS = Path(__file__).parent / "domains.toml"
SMALLER, EQUAL, LARGER = "<", "=", ">"
BEFORE = "before"
NEXT = "the next"


class Drawn(Struct, frozen=True):
    """What the scenarios of a component had."""

    scenarios: int
    values: dict[str, list[str]]
    """By name (`configuration: buffers`, `poll: channel`), the values, or the first ones."""
    together: dict[str, list[str]]
    """By two names (`a and b`), the pairs of values that a scenario or a step had, as `1, 2`."""
    relations: dict[str, list[str]]
    """By two names of numbers, which of <, =, > held. The other may be the value `before`, or `the next`
    one of a list."""


class Drawing(Struct, frozen=True):
    """The scenarios of one component."""

    component: str
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return (self.component,)

    def do(self, interruption: Interruption, follow: Follow) -> Drawn:
        """See `Work`. Raises: Unfinished."""
        component = COMPONENTS[self.component]
        operands = {step.name: tuple(step.operands) for step in component.steps}
        noted = Noted()
        with closing(find_implementation("reference")) as implementation:
            search = Search(Program(component, implementation))
            for text in seeds(SEED, self.component, range(self.scenarios)):
                if interruption.requested:
                    raise Unfinished
                noted.note(search.run(text)[0], operands)
        return noted.drawn(self.scenarios)


class Noted:
    """What was drawn so far."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = defaultdict(set)
        self._together: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        self._relations: dict[tuple[str, str], set[str]] = defaultdict(set)

    def note(self, scenario: Scenario, operands: Mapping[str, Sequence[str]]) -> None:
        """Note one scenario. `operands`: their names, by step."""
        self._all_of([(f"configuration: {name}", value) for name, value in fields(scenario.config)])
        for name, values in lists(scenario.config):
            self._relations[f"configuration: {name}", NEXT].update(relation(a, b) for a, b in pairwise(values))
        last: dict[str, Any] = {}
        for step in scenario.steps:
            named = [
                (f"{step[0]}: {name}", value) for name, value in zip(operands.get(step[0], ()), step[1:], strict=False)
            ]
            self._all_of(named)
            for name, value in named:
                if name in last and is_number(value):
                    self._relations[name, BEFORE].add(relation(value, last[name]))
                last[name] = value

    def _all_of(self, named: Sequence[tuple[str, Any]]) -> None:
        for name, value in named:
            self._values[name].add(repr(value))
        for (one, its), (two, other) in combinations(named, 2):
            self._together[one, two].add((repr(its), repr(other)))
            if is_number(its) and is_number(other):
                self._relations[one, two].add(relation(its, other))

    def drawn(self, scenarios: int) -> Drawn:
        """Return it as data, in an order that depends on nothing else."""
        few = {name for name, values in self._values.items() if len(values) <= FEW}
        return Drawn(
            scenarios,
            {name: sorted(values)[:FEW] for name, values in sorted(self._values.items())},
            {
                f"{one} and {two}": sorted(f"{its}, {other}" for its, other in pairs)
                for (one, two), pairs in sorted(self._together.items())
                if {one, two} <= few
            },
            {f"{one} and {two}": sorted(found) for (one, two), found in sorted(self._relations.items())},
        )


def fields(config: Struct) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a configuration; of a list its length."""
    for name in config.__struct_fields__:
        value = getattr(config, name)
        if isinstance(value, tuple | list):
            yield f"{name}, length", len(value)
        elif isinstance(value, Struct):
            yield from ((f"{name}.{inner}", its) for inner, its in fields(value))
        else:
            yield name, value


def lists(config: Struct) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the fields of a configuration that are lists of numbers."""
    for name in config.__struct_fields__:
        value = getattr(config, name)
        if isinstance(value, tuple | list) and all(map(is_number, value)):
            yield name, value


def is_number(value: Any) -> bool:
    """Whether two of these have an order that means something."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def relation(one: Any, two: Any) -> str:
    """Return how a number compares with another one."""
    return SMALLER if one < two else LARGER if one > two else EQUAL


def never_together(drawn: Drawn) -> list[tuple[str, str]]:
    """Return the pairs of values that were drawn, but never together: the two names, and the values."""
    found = []
    for names, pairs in drawn.together.items():
        one, two = names.split(" and ", 1)
        seen = set(pairs)
        missing = [
            f"{its}, {other}"
            for its, other in product(drawn.values[one], drawn.values[two])
            if f"{its}, {other}" not in seen
        ]
        found += [(names, pair) for pair in missing]
    return found


def never_held(drawn: Drawn) -> list[tuple[str, str]]:
    """Return the relations of numbers that never held: the two names, and what the first one never was."""
    words = {SMALLER: "smaller", EQUAL: "equal", LARGER: "larger"}
    return [
        (names, " or ".join(words[one] for one in (SMALLER, EQUAL, LARGER) if one not in held))
        for names, held in drawn.relations.items()
        if len(held) < 3
    ]


def only_one_value(drawn: Drawn) -> list[str]:
    """Return the names that never varied."""
    return [f"{name} = {values[0]}" for name, values in drawn.values.items() if len(values) == 1]


# ---- the page --------------------------------------------------------------------------------------------------------
def report(drawn: Mapping[str, Drawn], reasons: Mapping[str, str]) -> str:
    """Return the page. `reasons`: by component, why what is missing cannot be, or tells nothing."""
    rows, parts = [], []
    for component, its in drawn.items():
        pairs, relations, fixed = never_together(its), never_held(its), only_one_value(its)
        rows.append([
            component, f"{its.scenarios:,}", str(len(its.values)), str(len(fixed)),
            str(sum(map(len, its.together.values()))), str(len(pairs)), str(len(its.relations)), str(len(relations)),
        ])  # fmt: skip
        parts += [f"## {component}", "", reasons.get(component, "Nobody has said yet why these are missing."), ""]
        if fixed:
            parts += ["Always the same: " + ", ".join(f"`{one}`" for one in fixed) + ".", ""]
        parts += _first_of(["numbers", "the first is never"], relations)
        parts += _first_of(["never together", "values"], pairs)
    head = ["component", "scenarios", "fields and operands", "never vary", "pairs drawn", "pairs never", "relations",
            "one never holds"]  # fmt: skip
    return "\n".join([
        "# What is drawn",
        "",
        "Of each component, the values of the fields of its configuration and of the operands of its steps. Which two "
        "values of different fields, or of operands of one step, were never drawn together, of names with at most "
        f"{FEW} values. Of two numbers, which of smaller, equal and larger never held: *before* is the value that an "
        "operand had in the step of the same kind before, *the next* the next one of a list. Written by "
        f"`python -m tests.hunts.domains`, with the seed `{SEED}`.",
        "",
        table(head, rows),
        "",
        *parts,
    ])  # fmt: skip


def _first_of(head: list[str], found: Sequence[tuple[str, str]]) -> list[str]:
    if not found:
        return []
    shown = table(head, [[cell(one), cell(two)] for one, two in found[:SHOWN]])
    return [shown, "", *([f"And {len(found) - SHOWN} more.", ""] if len(found) > SHOWN else [])]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--component", "components", multiple=True, help="Only these; all.")
@click.option("--scenarios", type=int, default=SCENARIOS, show_default=True, help="Of each.")
@click.option("--draw", "others", type=(str, int), multiple=True, help="A component, and how many scenarios of it.")
@click.option("--into", "folder", type=click.Path(path_type=Path), help="Keep each result there, and go on from it.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(
    file: Path,
    components: tuple[str, ...],
    scenarios: int,
    others: tuple[tuple[str, int], ...],
    folder: Path | None,
    processes: int,
) -> None:
    """Draw scenarios of each component, and write the file."""
    names = components or tuple(COMPONENTS)
    with kept_over(folder, "domains", processes) as over:
        drawings = [Drawing(name, dict(others).get(name, scenarios)) for name in names]
        found = dict(zip(names, over(drawings), strict=True))
    reasons = read_toml(REASONS, dict[str, str], 'an entry must be a text: component = "why these are missing"')
    write_text(file, report({name: its for name, its in found.items() if its is not None}, reasons))


if __name__ == "__main__":
    main()
