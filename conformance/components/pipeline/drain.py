"""The fair drain of a job: operators go on, who is not idle works until all are, and a last checkpoint completes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.steps import (
    advance,
    cancel,
    kill,
    output,
    resources,
    settle,
    snapshot,
    state,
    throttle,
    trigger,
    with_state,
    work,
)
from conformance.driver import Drain, Each, Once, While
from conformance.ports import CheckpointKind, Until

MOST_TRIES = 24
"""How many checkpoints the drain triggers: a fault may let one fail, and a source that ends waits for one."""
_FEW = 400
"""From more records on, the engine lets its threads work on its own."""
_IDLE = settle(Until.IDLE.value)


def _go_on(ledger: Ledger) -> Any:
    return throttle(min(ledger.throttled), False) if ledger.throttled and ledger.is_live() else None


def _work(ledger: Ledger) -> Any:
    if not ledger.is_live():
        return None
    if not ledger.threads.known:
        return _IDLE
    first = ledger.threads.first()
    if first is None:
        return None
    return work(*first) if ledger.supplied_here < _FEW else _IDLE


def _read(ledger: Ledger) -> Any:
    unread = next(ledger.checkpoints.unread(), None)
    return None if unread is None else snapshot(unread)


def _expire(ledger: Ledger) -> Any:
    late = ledger.config.settings.checkpoint_timeout
    waiting = [one for one in ledger.checkpoints.pending.values() if ledger.now - one.at < late]
    return advance(late) if waiting and ledger.is_live() and ledger.threads.steps else None


def _last(ledger: Ledger) -> Any:
    if not ledger.is_live() or ledger.tries >= MOST_TRIES or ledger.stopped or ledger.cancelled:
        return None
    if ledger.covering() is not None and not ledger.has_all_ended():
        return None
    return trigger(CheckpointKind.ALIGNED.value)


def _rest(ledger: Ledger) -> Sequence[Any]:
    if ledger.failed:
        return ()
    states = [state(*one) for one in with_state(ledger)] if ledger.is_live() else []
    verified = [_IDLE] if ledger.is_live() else []
    return [*verified, *states, *(output(sink) for sink in ledger.graph.sinks)]


def _was_killed(ledger: Ledger) -> bool:
    return ledger.failed


def _is_over(ledger: Ledger) -> bool:
    return not ledger.is_live()


DRAIN = Drain[Ledger](
    While((_go_on, _work, _read, _expire, _last)),
    Each(_rest),
    Once((cancel(),), unless=_is_over),
    While((_work,)),
    Once((resources(), kill()), unless=_was_killed),
    Once((resources(),)),
)
"""Let everybody work until nothing is left to do, let checkpoints expire that still wait, trigger one that covers all,
and read what there is. Then cancel the job, and release it."""
