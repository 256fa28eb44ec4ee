"""Measures which goals others imply: whenever a run of a reference has reached the one, it has reached the other.

`python -m tests.components.implied_goals [COMPONENT ...] --scenarios 3000` prints them. A measured implication is a
hint: a goal is superfluous only if the sentence of the other says more, and applies wherever it applies.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from conformance.components import COMPONENTS
from conformance.driver import Component, Kind, Program
from conformance.engines.search import Search, seeds
from conformance.ports import find_implementation

REFERENCES = ("reference", "reference-in-memory", "reference-recover-first")
FEWEST = 20
"""In how many runs a goal must have been reached before anything is said of it."""


def implied(component: Component, scenarios: int, by_rules: bool) -> list[tuple[str, str, int, int]]:
    """Returns pairs of goals with the numbers of runs that reached them: no run reached the first without the second,
    and the first needs no capability that the second does not need. `by_rules`: the first may be a rule that was
    exercised."""
    goals = [one for one in component.properties if one.kind is Kind.SOMETIMES]
    causes = [one for one in component.properties if by_rules or one.kind is Kind.SOMETIMES]
    together: dict[str, dict[str, int]] = {one.slug: dict.fromkeys((it.slug for it in causes), 0) for one in causes}
    for name in REFERENCES:
        implementation = find_implementation(name)
        if component.name not in implementation.components():
            continue
        program = Program(component, implementation)
        search = Search(program)
        slugs = {one.slug for one in causes}
        for seed in seeds("implied", component.name, range(scenarios)):
            _, run = search.run(seed)
            reached = [slug for slug in program.exercised(run.exercised) if slug in slugs]
            for slug in reached:
                counts = together[slug]
                for other in reached:
                    counts[other] += 1
    return [
        (one.slug, other.slug, together[one.slug][one.slug], together[other.slug][other.slug])
        for other in goals
        for one in causes
        if one is not other
        and one.needs <= other.needs
        and FEWEST <= together[one.slug][one.slug] == together[one.slug][other.slug]
    ]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--scenarios", default=3000, show_default=True, help="Of each reference.")
@click.option("--rules", is_flag=True, help="Also which goals are reached whenever a rule was exercised.")
def main(names: Sequence[str], scenarios: int, rules: bool) -> None:
    """Print which goals are implied by others."""
    for name in names or COMPONENTS:
        found = implied(COMPONENTS[name], scenarios, rules)
        click.echo(f"{name}: {sum(one.kind is Kind.SOMETIMES for one in COMPONENTS[name].properties)} goals")
        for slug, other, count, of in found:
            click.echo(f"  {other} ({of:,}) is reached whenever {slug} ({count:,}) is")


if __name__ == "__main__":
    main()
