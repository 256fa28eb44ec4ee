"""Random jobs of the reference, from a seed. As a command: many of them, with what they cost.

python -m tests.reference_impl.job_runs --runs 500 --recovery pushed
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import NamedTuple

from conformance.ports import JobConfig, JobSettings, JobStatus, PipelinePort, Recovery
from conformance.scheduling import FreeLock, Lock
from reference_impl import PUSHED
from reference_impl.job.pipeline import Pipeline
from tests.reference_impl.job_driver import Outside, Run
from tests.reference_impl.job_topologies import TOPOLOGIES

RECOVERIES = (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)


class Cost(NamedTuple):
    """What a random job has come to."""

    steps: int
    counts: Counter[str]


def reference(config: JobConfig, fine: bool = False) -> PipelinePort:
    """A job of the reference. `fine`: its threads can be interrupted in the middle of a turn."""
    return Pipeline(config, PUSHED, Lock if fine else FreeLock)


def drawn_config(draw: Random, recovery: Recovery, topology: str = "", parallelism: int = 0) -> JobConfig:
    """A job with drawn settings."""
    unaligned = draw.random() < 0.85
    settings = JobSettings(
        workers=draw.choice((1, 2, 3)),
        recovery=recovery,
        unaligned=unaligned,
        during_recovery=draw.random() < 0.85,
        output_on_downstream=draw.random() < 0.7,
        concurrent=1 if unaligned else 2,
        tolerable=draw.choice((0, 1, 2)) if draw.random() < 0.2 else 1_000_000,
        regions=draw.random() < 0.7,
        room=draw.choice((1, 3)),
        records_in_buffer=draw.choice((1, 1, 3)),
        exclusive_buffers=draw.choice((0, 1, 2)),
        recovery_buffers=draw.choice((1, 2, 64)),
        sharing=draw.choice((1, 1, 2)),
    )
    size = parallelism or draw.choice((1, 2, 3))
    return TOPOLOGIES[topology or draw.choice(sorted(TOPOLOGIES))]([size], size, settings)


def random_job(
    seed: int, recovery: Recovery, fine: bool = False, topology: str = "", parallelism: int = 0, steps: int = 800
) -> Cost:
    """Run a drawn job to its end, and check what it has committed. Half begin with a chain of restores."""
    draw = Random(seed)
    config = drawn_config(draw, recovery, topology, parallelism)
    splits = sum(one.splits for one in config.vertices)
    outside = Outside([draw.randrange(4, 20) for _ in range(splits)])
    run = Run(partial(reference, fine=fine), config, outside, seed, fine)
    taken = 0
    if seed % 2 == 0:
        run.restore_chain(3)
    run.random_stretch(steps)
    then = draw.choice(("drain", "drain", "restart", "restart", "finish", "stop", "cancel"))
    if then == "cancel":
        run.cancel()
    elif then == "stop":
        run.stop()
    links = draw.choice((1, 1, 2, 3)) if run.over is not None or then == "restart" else 0
    for link in range(links):
        if link:
            run.restore_chain(1)
        taken += run.steps
        run = run.restart_with(partial(reference, fine=fine), seed + link)
        run.random_stretch(steps // 4)
    if then == "finish" or draw.random() < 0.3:
        run.finish()
    else:
        run.drain()
    if run.over is None or run.over.status is JobStatus.FINISHED:
        outside.check(run.config)
    run.close()
    return Cost(taken + run.steps, outside.counts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run many, and print what they cost."""
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--runs", type=int, default=100)
    parse.add_argument("--seed", type=int, default=0)
    parse.add_argument("--recovery", choices=[one.value for one in RECOVERIES], default="")
    parse.add_argument("--topology", choices=sorted(TOPOLOGIES), default="")
    parse.add_argument("--parallelism", type=int, default=0)
    parse.add_argument("--fine", action="store_true")
    chosen = parse.parse_args(arguments)
    counts: Counter[str] = Counter()
    steps = failed = 0
    began = time.process_time()
    for seed in range(chosen.seed, chosen.seed + chosen.runs):
        recovery = Recovery(chosen.recovery) if chosen.recovery else RECOVERIES[seed % 3]
        try:
            cost = random_job(seed, recovery, chosen.fine, chosen.topology, chosen.parallelism)
        except Exception as error:
            failed += 1
            print(f"seed {seed}, {recovery}: {type(error).__name__}: {error}")
            continue
        steps += cost.steps
        counts += cost.counts
    spent = time.process_time() - began
    print(f"{chosen.runs} jobs, {failed} failed, {steps:,} steps in {spent:.1f} s: {steps / spent:,.0f} a second")
    print(", ".join(f"{what}: {count:,}" for what, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
