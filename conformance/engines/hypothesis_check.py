"""Checks a component with Hypothesis, which chooses the steps and shrinks a scenario that fails.

It is much slower per step than the random search, but makes more use of the structure of a scenario. What it finds is a
scenario like any other.
"""

from __future__ import annotations

import hashlib

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.driver import ANSWERS, Broken, FailureClass, Interrupt, Program, Run, Violation, World
from conformance.engines.audit import OPERATION, OWED
from conformance.engines.check import Check, Progress, reduce_failures
from conformance.engines.divergence import Differ
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.machine import state_machine
from conformance.engines.search import LENGTH
from conformance.engines.tally import Counter, Failure, Signature, Tally
from conformance.scenarios import Scenario, Step


class _Interrupted(Interrupt):
    """Ends Hypothesis, which takes no other way out between two examples."""


def reproducible_settings(examples: int) -> settings:
    """Returns settings for a state machine or another test of Hypothesis, without deadline, database and health checks,
    so that a verdict depends on nothing but the seed and the modules that are loaded.

    Hypothesis takes one value in twenty from the constants in the source of those modules that are not installed. So
    the same seed draws other values where other modules are loaded, such as those of other tests, or of a user.
    """
    return settings(
        max_examples=examples,
        stateful_step_count=LENGTH,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,  # only one exception can be caught below
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
        verbosity=Verbosity.quiet,
    )


def seed_of(text: str) -> int:
    """Returns a seed for Hypothesis: the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def check_with_hypothesis(
    program: Program,
    scenarios: int,
    seed: int | str,
    progress: Progress | None = None,
    differ: Differ | None = None,
    interruption: Interruption = NEVER,
) -> Check:
    """Check a component. The result has at most one violation: Hypothesis stops at the first one and shrinks it.

    The shrunk scenario is then reduced like any other. An interruption ends Hypothesis after the example that it runs.
    Nothing is run if the implementation understands no configuration of the component.
    """
    if not program.configs:
        return Check(program, Tally(), (), None if differ is None else differ.conclude(interruption))
    counter = Counter(program)
    machine = state_machine(program)
    done = 0
    failing: tuple[Scenario, Violation] | None = None

    def count(world: World | None, steps: list[Step], closing_steps: int, violation: Violation | None) -> None:
        nonlocal done, failing
        shrinking = failing is not None  # these runs do not count
        scenario = machine.last
        assert scenario is not None
        if violation is not None:
            failing = scenario, violation
        if not shrinking:
            run = Run(world, closing_steps, None)
            counter.add(scenario, run, done)
            if differ is not None:
                differ.see(scenario, run)
            done += 1
            if progress is not None:  # each time: a driver counts by it what was run before its worker ended
                progress(done)
        if interruption.requested:
            raise _Interrupted

    machine.observer = staticmethod(count)
    number = seed_of(f"{seed}/{program.component.name}")
    failure: tuple[Signature, Broken] | None = None
    try:
        run_state_machine_as_test(hypothesis.seed(number)(machine), settings=reproducible_settings(scenarios))
    except Violation as violation:
        failure = violation.signature, violation.broken
    except _Interrupted:
        if failing is not None:
            machine.last, seen = failing
            failure = seen.signature, seen.broken
    except Flaky:
        broken = Broken(FailureClass.PROTOCOL, OWED, "they had different outcomes")
        failure = (ANSWERS, FailureClass.PROTOCOL.value, OPERATION), broken
    tally = counter.tally()
    if failure is not None:
        assert machine.last is not None
        signature, broken = failure
        tally.fail(signature, Failure(machine.last, broken.owed, broken.observed))
    found = reduce_failures(program, tally, interruption=interruption)
    comparison = None if differ is None else differ.conclude(interruption)
    return Check(program, tally, found, comparison, interruption.requested)
