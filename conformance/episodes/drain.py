"""The fair drain of an episode: the last life begins if none does, reads everything to the end, and finishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.pipeline.steps import endable
from conformance.driver import Drain, Each, Once, While
from conformance.episodes import steps
from conformance.episodes.config import SINK
from conformance.episodes.ledger import EpisodeLedger
from conformance.ports import Until


def _begin(ledger: EpisodeLedger) -> Any:
    if ledger.phase != "failed" or ledger.again or ledger.finished or not ledger.can_start_again():
        return None
    ledger.again = True
    return steps.start_again(ledger.config.vertices[0].parallelism, 0)


def _leave(ledger: EpisodeLedger) -> Any:
    """A job that was stopped goes on in another life."""
    return steps.kill() if ledger.phase == "over" and ledger.is_left() else None


def _end(ledger: EpisodeLedger) -> Any:
    left = endable(ledger) if ledger.is_live() else ()
    return steps.end(*left[0]) if left else None


def _wait(ledger: EpisodeLedger) -> Any:
    return steps.settle(Until.OVER.value) if ledger.is_live() and not ledger.waited else None


def _read(ledger: EpisodeLedger) -> Sequence[Any]:
    return [steps.rows(SINK), steps.life()]


DRAIN = Drain[EpisodeLedger](
    While((_leave, _begin, _end, _wait)),
    Each(_read),
    Once((steps.kill(),), unless=lambda ledger: ledger.failed),
)
