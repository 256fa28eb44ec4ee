"""The same check, with Hypothesis choosing the steps and shrinking what fails.

Much slower per step than the random search, and a better reader of structure; what it finds is a scenario like any
other.
"""

from __future__ import annotations

import hashlib

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.driver import ANSWERS, Broken, FailureClass, Program, Run, Violation, World
from conformance.engines.check import Check, Progress, reduce_failures
from conformance.engines.divergence import Differ
from conformance.engines.machine import state_machine
from conformance.engines.tally import Counter, Failure, Signature
from conformance.scenarios import Scenario, Step

STEPS = 50
"""Steps of one example at most."""


def machine_settings(examples: int) -> settings:
    """No deadline, no database, no health checks: verdicts depend on nothing but the seed."""
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,  # several at once would need one signature each, which the tally already has
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
        verbosity=Verbosity.quiet,
    )


def check_with_hypothesis(
    program: Program,
    scenarios: int,
    seed: int | str,
    progress: Progress | None = None,
    differ: Differ | None = None,
) -> Check:
    """At most one violation: Hypothesis stops at the first and shrinks it; what it leaves over is reduced as always."""
    counter = Counter(program)
    machine = state_machine(program)
    done = 0
    failed = False

    def count(world: World, steps: list[Step], closing_steps: int, violation: Violation | None) -> None:
        nonlocal done, failed
        if failed:
            return  # shrinking
        failed = violation is not None
        run = Run(world, closing_steps, None)
        scenario = Scenario(program.component.name, world.config, tuple(steps))
        counter.add(scenario, run)
        if differ is not None:
            differ.see(scenario, run)
        done += 1
        if progress is not None and not done % 16:
            progress(done)

    machine.observer = staticmethod(count)
    number = int.from_bytes(hashlib.sha256(f"{seed}/{program.component.name}".encode()).digest()[:8], "big")
    failure: tuple[Signature, Broken] | None = None
    try:
        run_state_machine_as_test(hypothesis.seed(number)(machine), settings=machine_settings(scenarios))
    except Violation as violation:
        failure = violation.signature, violation.broken
    except Flaky:
        owed = "the same steps must be answered alike every time"
        failure = (ANSWERS, FailureClass.PROTOCOL.value, "replay"), Broken(FailureClass.PROTOCOL, owed, "they were not")
    tally = counter.tally()
    if failure is not None:
        assert machine.last is not None
        signature, broken = failure
        tally.fail(signature, Failure(machine.last, broken.owed, broken.observed))
    found = reduce_failures(program, tally)
    return Check(program, tally, found, None if differ is None else differ.conclude())
