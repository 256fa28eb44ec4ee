"""Where a failing scenario first differs from the reference.

A property may fail long after the defect has shown. So the scenario is run on the reference, too, and nothing is
judged. Each of its beginnings is followed by the drain, or by one step from which the ledger learns nothing, such as
`resources`. The shortest beginning that differs ends with the operation that made the difference: from there on, the
implementation is not in the state that the reference is in. What differs already when there are no steps at all is left
out if anything else differs, because another defect may be the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from conformance.driver import Program, Run, World, run_scenario
from conformance.driver.step import Operands
from conformance.engines.compare import ENABLED, field_that_differs
from conformance.ports import Outcome
from conformance.scenarios import Scenario, Step

MOST_OPERANDS = 4
"""With how many operands an observing step is tried."""
LONGEST = 40
"""The beginnings of a longer scenario are not tried. Few minimal scenarios have more than twenty steps."""


class Difference(NamedTuple):
    """How the outcome of one operation differs from that of the reference."""

    operation: str
    field: str
    """`value`, `signals`, `error` or `enabled`, as in a comparison."""
    detail: str
    """What in the field, without numbers that depend on the rest of the scenario."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The step of a scenario that first made a difference."""

    steps: int = 0
    """How many steps the shortest beginning has that differs; it ends with that step."""
    operation: Step = ()
    """The operation of that step, with those of its operands that are names, as the place of a fault; empty: the
    scenario differs without any steps."""
    differences: frozenset[Difference] = frozenset()
    """What differs after that beginning."""
    always: bool = False
    """Whether there are differences without any steps, too."""
    first: Difference | None = None
    """The first difference in the run of the whole scenario, if there is any."""

    @property
    def is_known(self) -> bool:
        """Whether there was a difference, and a reference to differ from."""
        return bool(self.differences)


NOWHERE = Origin()
"""The scenario does not differ from the reference, or there is no reference for it."""


def origin(program: Program, reference: Program, scenario: Scenario) -> Origin:
    """Returns where a run on `program` first differs from one on `reference`. Neither program judges anything."""
    config, steps = scenario.config, scenario.steps
    if len(steps) > LONGEST or not reference.understands(config):
        return NOWHERE
    first = next((found for _, found in _differences(program, reference, config, steps)), None)
    at_once = frozenset(_after(program, reference, config, ()))
    for count in range(1, len(steps) + 1):
        new = frozenset(_after(program, reference, config, steps[:count])) - at_once
        if new:
            return Origin(count, _operation(program, steps, count), new, bool(at_once), first)
    return Origin(0, (), at_once, bool(at_once), first)


def _after(program: Program, reference: Program, config: Any, steps: tuple[Step, ...]) -> Iterator[Difference]:
    """Yields the differences after some steps: in the drain, and in what one observing step returns."""
    for _, found in _differences(program, reference, config, steps):
        yield found
    for probe in _observing(reference, config, steps):
        for at, found in _differences(program, reference, config, (*steps, probe)):
            if at == len(steps):
                yield found


def _observing(reference: Program, config: Any, steps: tuple[Step, ...]) -> list[Step]:
    """Returns the steps that are enabled now, and from which the ledger learns nothing."""
    observing = [
        move
        for move in reference.all_cases()
        if move.kind.learn is move.kind.begin is move.kind.end is move.kind.struck is None
        and not (move.fresh_port or move.crashes or move.fails)
    ]
    world = World(reference, config)
    try:
        for step in steps:
            if world.enabled(step):
                world.perform(step)
        return [(one.kind.name, *operands) for one in observing for operands in _some(world.choices_of(one))]
    finally:
        world.close()


def _some(choices: Sequence[Operands]) -> Sequence[Operands]:
    return list(choices)[:MOST_OPERANDS]


def _differences(
    program: Program, reference: Program, config: Any, steps: tuple[Step, ...]
) -> Iterator[tuple[int, Difference]]:
    """Yields every difference, with the place of its entry, until the two runs perform different steps."""
    ours, theirs = _recorded(program, config, steps), _recorded(reference, config, steps)
    if ours is None or theirs is None:
        yield 0, Difference("", ENABLED, "the ledger cannot follow")
        return
    for at, (mine, other) in enumerate(zip(theirs.entries, ours.entries, strict=False)):
        field = field_that_differs(mine, other)
        if field == ENABLED:
            yield at, Difference(mine.step[0], ENABLED, "")
            return
        if field is not None:
            yield at, Difference(mine.step[0], field, _detail(mine.outcome, other.outcome, field))
    least = min(len(ours.entries), len(theirs.entries))
    for run in (ours, theirs):
        if len(run.entries) > least:
            yield least, Difference(run.entries[least].step[0], ENABLED, "")


def _recorded(program: Program, config: Any, steps: tuple[Step, ...]) -> Run | None:
    try:
        return run_scenario(program, config, steps, record=True)
    except Exception:  # the ledger cannot follow an implementation that nothing judges
        return None


def _detail(mine: Outcome | None, other: Outcome | None, field: str) -> str:
    """Returns what in a field differs: names of fields, of signals or of errors, and no numbers."""
    if mine is None or other is None:
        return ""
    if field == "error":
        return f"{mine.error and mine.error.kind} {other.error and other.error.kind}"
    if field == "signals":
        left = [type(one).__name__ for one in mine.signals]
        right = [type(one).__name__ for one in other.signals]
        missing, more = [one for one in left if one not in right], [one for one in right if one not in left]
        return (
            f"-{','.join(missing)} +{','.join(more)}" if missing or more else ("fields" if left == right else "count")
        )
    if mine.value is None or other.value is None:
        return "nothing" if other.value is None else "something"
    left_value, right_value = msgspec.to_builtins(mine.value), msgspec.to_builtins(other.value)
    if isinstance(left_value, dict) and isinstance(right_value, dict):
        names = left_value.keys() | right_value.keys()
        return ",".join(sorted(name for name in names if left_value.get(name) != right_value.get(name)))
    return ""


def _operation(program: Program, steps: tuple[Step, ...], count: int) -> Step:
    """Returns the operation of a step. For a turn, it is the operation that the thread began last."""
    step = steps[count - 1]
    if program.component.step(step[0]) is not None:
        return (step[0], *(operand for operand in step[1:] if isinstance(operand, str)))
    for before in reversed(steps[: count - 1]):
        kind = program.component.step(before[0])
        if kind is not None and kind.by == step[1]:
            return before[:1]
    return step[:1]
