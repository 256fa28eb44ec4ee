"""Checks a component of any implementation: in this process, or in a worker if it runs apart from it."""

from __future__ import annotations

from conformance.driver import Program
from conformance.engines.apart import Apart
from conformance.engines.check import Check, Progress, check_part
from conformance.engines.check_apart import ApartCheck
from conformance.engines.divergence import Differ
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.reduce import BUDGET


def check_any(
    program: Program,
    seed: int | str,
    numbers: range,
    progress: Progress | None = None,
    differ: Differ | None = None,
    corpus: bool = True,
    interruption: Interruption = NEVER,
) -> Check:
    """Search at random, in the scenarios with these numbers. With `corpus`, replay the corpus before."""
    implementation = program.implementation
    if isinstance(implementation, Apart):
        apart = ApartCheck(program, implementation, BUDGET, differ, interruption=interruption)
        return apart.at_random(str(seed), numbers, corpus, progress)
    return check_part(program, seed, numbers, progress, differ=differ, corpus=corpus, interruption=interruption)


def check_any_with_hypothesis(
    program: Program,
    scenarios: int,
    seed: int | str,
    progress: Progress | None = None,
    differ: Differ | None = None,
    interruption: Interruption = NEVER,
) -> Check:
    """Let Hypothesis choose the steps."""
    implementation = program.implementation
    if isinstance(implementation, Apart):
        apart = ApartCheck(program, implementation, BUDGET, differ, interruption=interruption)
        return apart.with_hypothesis(scenarios, str(seed), progress)
    from conformance.engines.hypothesis_check import check_with_hypothesis  # takes a while to load

    return check_with_hypothesis(program, scenarios, seed, progress, differ, interruption)
