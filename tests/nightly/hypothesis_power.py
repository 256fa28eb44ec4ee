"""How well Hypothesis finds and shrinks known bugs: writes `reports/hypothesis.md`. Run by `make hypothesis`.

Twenty known bugs are drawn by a seed from those of the kill matrix on which nobody has worked: ten that the random
search finds within 10 scenarios and ten that it finds in 11 to 200. Each gets five seeds of 200 examples. What
Hypothesis reports is then shortened as `conformance shrink` does it. `DEVELOPMENT` in place of a seed measures the bugs
on which the machine was developed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

import hypothesis
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from conformance.components import COMPONENTS
from conformance.driver import Program, Violation, World
from conformance.engines import reduce, state_machine
from conformance.engines.hypothesis_check import reproducible_settings
from conformance.ports import find_implementation, find_known_bug
from conformance.reporting import write_text
from conformance.scenarios import Step

MATRIX = Path(__file__).parents[2] / "reports" / "kill-matrix.json"
DRAW = "published"
"""The seed of the draw. Another text draws other bugs. Who looks at one of them to improve the machine adds all of
them to `DEVELOPED_ON`, so that what is published next is again measured on bugs that nobody has worked on."""
DEVELOPMENT = "development"
DEVELOPED_ON = (
    "B-63r", "B-C22", "B-G31", "B-U16", "B-01", "B-58-chain", "B-06", "B-U13", "B-S25", "B-V22",
    "B-R14", "B-C18", "B-36bg", "B-42d", "B-76r", "B-S21", "B-V18", "B-G60", "B-P11", "B-L41",
)  # fmt: skip
"""The first twenty that were published. B-L41 was among those that the machine was developed on before, and B-06 has
shown why the drain must be a step."""
SEEDS = 5
EXAMPLES = 200


@dataclass(frozen=True, slots=True)
class Found:
    """The example that failed first, the steps that Hypothesis reports, and those of the shortest scenario."""

    example: int
    steps: int
    shortest: int


def drawn(seed: str) -> dict[str, int]:
    """Ten bugs of each kind, with the number of scenarios that the random search needs."""
    known = {one["id"]: one["scenarios"] for one in json.loads(MATRIX.read_text())["bugs"] if one["killed"]}
    if seed == DEVELOPMENT:
        return {name: known[name] for name in DEVELOPED_ON}
    known = {name: needed for name, needed in known.items() if name not in DEVELOPED_ON}
    draw = Random(seed)
    easy = draw.sample(sorted(name for name, needed in known.items() if needed <= 10), 10)
    hard = draw.sample(sorted(name for name, needed in known.items() if 11 <= needed <= 200), 10)
    return {name: known[name] for name in (*easy, *hard)}


def hunt(program: Program, seed: int) -> Found | None:
    """One test with this seed; None if all of its examples passed."""
    machine = state_machine(program)
    done: list[bool] = []

    def count(world: World | None, steps: list[Step], closing: int, violation: Violation | None) -> None:
        done.append(violation is not None)

    machine.observer = staticmethod(count)
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=settings(reproducible_settings(EXAMPLES)))
    except Violation:
        assert machine.last is not None
        shortest = reduce(program, machine.last).scenario
        return Found(done.index(True) + 1, len(machine.last.steps), len(shortest.steps))
    return None


def rows(seed: str) -> list[tuple[str, str, int, list[Found | None]]]:
    """Id, component, scenarios of the random search, and what each seed found, of each bug that is drawn."""
    table = []
    for name, needed in drawn(seed).items():
        component = find_known_bug(name).component
        program = Program(COMPONENTS[component], find_implementation(f"known-bug:{name}"))
        found = [hunt(program, number) for number in range(SEEDS)]
        print(name, component, needed, found, flush=True)
        table.append((name, component, needed, found))
    return table


def _choice(seed: str) -> str:
    if seed == DEVELOPMENT:
        return "those on which the machine was developed"
    return f"drawn with the seed `{seed}` from those on which the machine was not developed"


def report(seed: str) -> str:
    """The report in Markdown."""
    table = rows(seed)
    every = [one for *_, found in table for one in found]
    hits = [one for one in every if one is not None]
    longer = [one.steps - one.shortest for one in hits]
    worst = max(hits, key=lambda one: (one.steps - one.shortest, one.steps))
    lines = [
        "# How well Hypothesis finds known bugs",
        "",
        f"`make hypothesis` wrote this page. Twenty known bugs, {_choice(seed)}, "
        f"{SEEDS} seeds of {EXAMPLES} examples "
        "each. *Scenarios* is what the random search needs for the median of its seeds "
        "([kill matrix](kill-matrix.md)). *Steps* is the length that Hypothesis reports, *shortest* that of the same "
        "scenario after `conformance shrink`; both are given for each seed, `-` where all examples passed.",
        "",
        f"Found: {len(hits)} of {len(every)}. Longer than the shortest: {median(longer):g} steps in the median; the "
        f"worst has {worst.steps} steps where {worst.shortest} suffice.",
        "",
        "| bug | component | scenarios | found | first failing example | steps | shortest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, component, needed, found in table:
        cells = [
            ", ".join("-" if one is None else str(getattr(one, field)) for one in found)
            for field in ("example", "steps", "shortest")
        ]
        count = f"{sum(one is not None for one in found)} of {len(found)}"
        lines.append(f"| `{name}` | {component} | {needed} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), report(sys.argv[2] if len(sys.argv) > 2 else DRAW))
