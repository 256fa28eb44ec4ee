"""The fair drain of a job: operators go on, who is not idle works until all are, and a last checkpoint completes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from conformance.components.pipeline import steps
from conformance.components.pipeline.ledger import MOST_TRIES, Ledger
from conformance.driver import Drain, Each, Once, Outcomes, While
from conformance.ports import (
    Capability,
    CheckpointKind,
    FailurePoint,
    FailureTarget,
    JobCheckpoint,
    Runs,
    Until,
)
from conformance.scenarios import Entry

MOST_WAITS = 3
"""How often in a row the drain waits for an engine that does not come to an end and says so."""
_FEW = 400
"""From more records on, the engine lets its threads work on its own."""
_IDLE = steps.settle(Until.IDLE.value)
_OVER = steps.settle(Until.OVER.value)
_NO_CHECKPOINT = steps.settle(Until.NO_CHECKPOINT.value)
_FAILS = steps.fail(FailureTarget.JOB.value, 0, FailurePoint.NOW.value)
_LAST = steps.trigger(CheckpointKind.ALIGNED.value)
"""The checkpoint in which tasks take part that have read everything. Some engines trigger it by themselves."""
_KINDS = tuple(one.value for one in (CheckpointKind.ALIGNED, CheckpointKind.UNALIGNED, CheckpointKind.TIMEOUTABLE))

NOTHING = frozenset[object]()
"""What a job has that is started anew."""


def _go_on(ledger: Ledger) -> Any:
    return steps.throttle(min(ledger.throttled), False) if ledger.throttled and ledger.is_live() else None


def _restores(ledger: Ledger) -> bool:
    """Returns whether a job goes on, and has to restore a checkpoint before anything can be said of what that holds."""
    shows = Capability.CHECKPOINT_READBACK in ledger.capabilities
    return not shows and ledger.is_live() and not (ledger.stopping or ledger.stopped or ledger.cancelled)


def _is_judged(ledger: Ledger) -> bool:
    """Returns whether nothing is left to learn of the newest checkpoint, or nothing can be learned here. If an engine
    does not show it, the job must restore it: what was stored wrong is lost then, or is committed twice. Some jobs are
    spared in which nothing has failed, since other rules judge these."""
    spared = not ledger.failures.count and ledger.checkpoints.newest % 4 == 3
    return spared or not _restores(ledger) or ledger.checkpoints.point == ledger.origin


def _work(ledger: Ledger) -> Any:
    if not ledger.is_live() or not ledger.threads.awake:
        return None
    if not ledger.threads.steps and ledger.threads.waited > MOST_WAITS:
        return None
    return (
        steps.work(*next(iter(ledger.threads.awake))) if ledger.threads.steps and ledger.supplied_here < _FEW else _IDLE
    )


def _read(ledger: Ledger) -> Any:
    unread = ledger.checkpoints.unread()
    return steps.snapshot(unread[0]) if unread else None


def _expire(ledger: Ledger) -> Any:
    late = ledger.config.settings.checkpoint_timeout
    waiting = [one for one in ledger.checkpoints.pending.values() if ledger.now - one.at < late]
    return steps.advance(late) if waiting and ledger.is_live() and ledger.threads.steps else None


def _last(ledger: Ledger) -> Any:
    if not ledger.is_live() or ledger.tries >= MOST_TRIES or ledger.stopped or ledger.cancelled or not _rests(ledger):
        return None
    covered = ledger.is_covered() and not ledger.has_all_ended() and not ledger.failures.lost_trigger
    for sink in ledger.sinks if covered else ():  # some engines commit with the next checkpoint
        covered = covered and (not ledger.not_committed(sink) or ledger.is_due(sink))
    return None if covered else steps.trigger(_kind(ledger))


def _kind(ledger: Ledger) -> str:
    """Of one kind are all checkpoints that one drain triggers: what an engine does not do for it, as to notify a sink,
    the next checkpoint would do for the one before if it were of another kind. The number of records says of which."""
    kind = _KINDS[sum(ledger.supplied.values()) % len(_KINDS)]
    return kind if ledger.config.settings.unaligned and kind not in ledger.disabled else _KINDS[0]


def _rests(ledger: Ledger) -> bool:
    """Returns whether a job has come to rest, or need not. A job whose threads work on their own has not if the drain
    has given up waiting for that.

    It may be slow, or may have lost what it waits for, as a split that nobody reads. Nobody can tell before its sources
    end: a job that has lost something finishes without it (I-88), and one that is slow has not finished yet."""
    is_given_up = not ledger.threads.steps and ledger.threads.waited > MOST_WAITS
    return not is_given_up or not ledger.is_live() or bool(ledger.stopped or ledger.cancelled)


def _end(ledger: Ledger) -> Any:
    left = [vertex for vertex in ledger.graph.sources if vertex not in ledger.ended]
    return steps.end(left[0]) if left and not _rests(ledger) else None


def _rest(ledger: Ledger) -> Sequence[Any]:
    if ledger.failed:
        return ()
    rests = ledger.is_live() and _rests(ledger)
    verified = [_IDLE, *(steps.state(*one) for one in steps.with_state(ledger))] if rests else []
    return [*verified, *(steps.output(sink) for sink in ledger.graph.sinks)]


def outcome(entries: Sequence[Entry]) -> Outcomes:
    """Returns what a run comes to, however threads work and whatever fails: what each sink has committed in the end, if
    the job is not over then, so that the drain has cancelled it.

    A job that was restored by the user has nothing but what is in the checkpoint. What that is depends on how far each
    thread had come when it was triggered."""
    ended = [one for one in entries if one.closing and one.outcome is not None]
    if steps.cancel() not in [one.step for one in ended]:
        return Outcomes(())
    cuts = []
    for one in entries:
        if one.step[0] == steps.restore.name and one.outcome is not None:
            cut = _cut(one.outcome.value) if one.step[1] else NOTHING
            if cut is None:
                return Outcomes(())
            cuts.append(cut)
    return Outcomes([one for one in ended if one.step[0] == steps.output.name], tuple(cuts))


def _cut(checkpoint: Any) -> Hashable | None:
    """Returns how far each split was read in a checkpoint, and where the records are that it holds; None if the engine
    does not show that, or shows only its sources."""
    if not isinstance(checkpoint, JobCheckpoint) or not checkpoint.states or not all(checkpoint.states):
        return None
    offsets = {(split.split, split.offset) for some in checkpoint.states for one in some for split in one.splits}
    places: dict[tuple[str, int], set[int]] = {}
    for flight in checkpoint.in_flight:
        places.setdefault(("edge", flight.edge), set()).update(_numbers(flight.records))
    for vertex, some in enumerate(checkpoint.states):
        for one in some:
            places.setdefault(("state", vertex), set()).update(_numbers(one.records))
            for prepared in one.prepared:
                places.setdefault(("prepared", vertex), set()).update(_numbers(prepared.records))
    return frozenset(offsets), frozenset((*place, frozenset(records)) for place, records in places.items() if records)


def _numbers(runs: Runs) -> Iterator[int]:
    return (number for run in runs for number in range(run.first, run.last + 1, run.step))


DRAIN = Drain[Ledger](
    While((_go_on,)),
    Once((_NO_CHECKPOINT,), unless=lambda ledger: not (_restores(ledger) and ledger.checkpoints.pending)),
    Once((_FAILS,), unless=_is_judged),
    While((_go_on, _work, _read, _expire, _last)),
    While((_end,)),
    Once((_OVER,), unless=_rests),
    *(Once((_LAST, _OVER), unless=_rests) for _ in range(MOST_WAITS)),  # a failure that waits for one lets it fail
    Each(_rest),
    Once((steps.cancel(),), unless=lambda ledger: not ledger.is_live()),
    While((_work,)),
    Once((steps.resources(), steps.kill()), unless=lambda ledger: ledger.failed),
    Once((steps.resources(),)),
)
"""Let a job restore the checkpoint that its engine does not show. Let everybody work until nothing is left to do, let
checkpoints expire that still wait, trigger one that covers all, and read what there is. Then cancel the job, and
release it."""
