"""The configurations that are run on each release."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from conformance.bridges.flink.job.config import JobConfig, Where, planned
from conformance.bridges.flink.job.judge import Verdict


@dataclass(frozen=True)
class Plan:
    """A configuration with a name. The failures that it plans are drawn from the seed of each run."""

    name: str
    about: str
    config: JobConfig
    wheres: tuple[Where, ...] = ()
    """The kinds of failures, in turn; none for a control."""
    failures: int = 8
    apart: tuple[int, int] = (5, 40)
    """So many checkpoints at least and at most complete between two failures."""

    def configured(self, seed: int) -> JobConfig:
        """The configuration of the run with this seed."""
        failing = tuple(one for one in range(self.config.parallelism) if one not in self.config.finish_early)
        faults = planned(seed, self.wheres, failing, self.failures, self.apart) if self.wheres else ()
        return msgspec.structs.replace(self.config, seed=seed, faults=faults)


_READER, _ENUMERATOR, _BETWEEN, _SNAPSHOT = Where.READER, Where.ENUMERATOR, Where.BETWEEN_CUTS, Where.SNAPSHOT
_ALL = (_READER, _BETWEEN, _ENUMERATOR, _SNAPSHOT)


def _job(
    *,
    parallelism: int = 2,
    unaligned: bool = False,
    unaligned_after_ms: int = 0,
    tolerable: int = 1_000_000,
    concurrent: int = 1,
    savepoint_ms: int = 0,
    on_request: bool = False,
    in_snapshot: int = 0,
    busy_ms: int = 0,
    notice_ms: int = 0,
    alignment_ms: int = 0,
    shuffled: bool = True,
    finish_early: tuple[int, ...] = (),
) -> JobConfig:
    """A run of 400 checkpoints or 20 s. Splits are sent directly after each cut, unless readers request them."""
    return JobConfig(
        parallelism=parallelism,
        unaligned=unaligned,
        unaligned_after_ms=unaligned_after_ms,
        tolerable=tolerable,
        concurrent=concurrent,
        savepoint_ms=savepoint_ms,
        on_request=on_request,
        in_snapshot=in_snapshot,
        after_snapshot=0 if on_request else 4,
        busy_ms=busy_ms,
        notice_ms=notice_ms,
        alignment_ms=alignment_ms,
        shuffled=shuffled,
        finish_early=finish_early,
        finish_after=40 if finish_early else 0,
        checkpoints=400,
        seconds=20,
    )


PLANS = (
    Plan("aligned", "control: splits in bursts, idle readers", _job()),
    Plan("requested", "control: each split on request, 1 ms of work", _job(on_request=True, busy_ms=1)),
    Plan("busy", "control: 2 ms of work for each split", _job(busy_ms=2)),
    Plan("unaligned", "control: unaligned checkpoints, idle readers", _job(unaligned=True)),
    Plan("unaligned-busy", "unaligned checkpoints, 2 ms of work for each split", _job(unaligned=True, busy_ms=2)),
    Plan(
        "unaligned-calm",
        "unaligned checkpoints each 100 ms, parallelism 1, 2 ms of work for each split",
        JobConfig(parallelism=1, unaligned=True, interval_ms=100, busy_ms=2, checkpoints=150, seconds=20),
    ),
    Plan("concurrent", "two checkpoints at once, 3 ms of work", _job(concurrent=2, busy_ms=3)),
    Plan("savepoints", "savepoints during checkpoints", _job(savepoint_ms=20)),
    Plan("reader-fails", "a reader fails, all tasks restart, the enumerator does not", _job(), (_READER,)),
    Plan(
        "reader-alone",
        "a reader of three fails and restarts alone",
        _job(parallelism=3, shuffled=False, busy_ms=2),
        (_READER,),
    ),
    Plan(
        "reader-alone-often",
        "as before, 60 times, with 5 checkpoints in between",
        msgspec.structs.replace(_job(parallelism=3, shuffled=False, busy_ms=2), checkpoints=2000, seconds=25),
        (_READER,),
        failures=60,
        apart=(5, 5),
    ),
    Plan(
        "requested-alone",
        "a reader of three fails and restarts alone; each split on request",
        _job(parallelism=3, shuffled=False, on_request=True, busy_ms=1),
        (_READER,),
    ),
    Plan("enumerator-fails", "the enumerator fails, everything restarts", _job(), (_ENUMERATOR,)),
    Plan("between-cuts", "a reader fails between the enumerator's cut and its own", _job(busy_ms=3), (_BETWEEN,)),
    Plan("snapshot-fails", "a reader fails in its snapshot", _job(), (_SNAPSHOT,)),
    Plan(
        "unaligned-fails",
        "as `unaligned-busy`, and a reader fails",
        _job(unaligned=True, busy_ms=2),
        (_READER, _BETWEEN),
    ),
    Plan(
        "unaligned-late-fails",
        "as before, and unaligned checkpoints begin aligned",
        _job(unaligned=True, unaligned_after_ms=1000, busy_ms=2),
        (_READER, _BETWEEN),
    ),
    Plan("all", "two at once, savepoints, failures of all kinds", _job(concurrent=2, savepoint_ms=50, busy_ms=2), _ALL),
    Plan("finished", "one of two readers finishes; notices go on", _job(finish_early=(1,), notice_ms=20)),
    Plan("finished-fails", "one of three readers finishes, others fail", _job(parallelism=3, finish_early=(1,)), _ALL),
    Plan(
        "finished-savepoints",
        "one of two readers finishes; notices and savepoints go on",
        _job(finish_early=(1,), notice_ms=20, savepoint_ms=500),
    ),
    Plan("alignment", "control: watermark alignment and savepoints", _job(alignment_ms=50, savepoint_ms=500)),
    Plan(
        "finished-alignment",
        "control: one of two readers finishes; watermark alignment goes on",
        _job(finish_early=(1,), alignment_ms=50),
    ),
    Plan(
        "finished-alignment-savepoints",
        "one of two readers finishes; watermark alignment and savepoints go on",
        _job(finish_early=(1,), alignment_ms=50, savepoint_ms=500),
    ),
    Plan(
        "finished-alignment-default",
        "as before, and no checkpoint may fail, which is Flink's default",
        _job(finish_early=(1,), alignment_ms=50, savepoint_ms=500, tolerable=0),
    ),
    Plan("in-snapshot", "control: splits are assigned in the enumerator's snapshot", _job(in_snapshot=2)),
    Plan("in-snapshot-fails", "as before, and a reader fails", _job(in_snapshot=2), (_READER,)),
)


def not_exercised(config: JobConfig, verdict: Verdict) -> list[str]:
    """What this run was for and did not do. Without it, that nothing was found means nothing."""
    missing = {
        "no ledgers were compared": verdict.moving == 0,
        "no checkpoint was unaligned": config.unaligned and verdict.unaligned == 0,
        "no checkpoints overlapped": (config.concurrent > 1 or config.savepoint_ms > 0) and verdict.overlapping == 0,
        "no savepoint completed": config.savepoint_ms > 0 and verdict.savepoints == 0,
        "no reader had finished in a checkpoint": bool(config.finish_early) and verdict.with_finished == 0,
        f"{verdict.failures} of {len(config.faults)} failures happened": verdict.failures < len(config.faults),
        "no reader was restored": bool(config.faults) and verdict.restored == 0,
    }
    return [told for told, holds in missing.items() if holds]
