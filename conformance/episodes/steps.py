"""The steps of an episode: the world around a job, where user code dies, kills, and the lives that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conformance.components.pipeline.steps import endable, supplied
from conformance.driver import DISABLED, NO_OPERANDS, Steps, always
from conformance.episodes.config import SINK
from conformance.episodes.ledger import EpisodeLedger
from conformance.models.answers import whether
from conformance.models.lifetime import fail_step
from conformance.ports import Answer, FaultKind, Until
from conformance.ports.episodes import Asked, EpisodePort, Life, Promises, Row, UserPlace

LIVE, DEPLOYED, FAILED = ("live",), ("live", "over"), ("failed",)
ALWAYS = (*DEPLOYED, *FAILED)
MOST_RECORDS = 5_000
"""A scenario supplies records of a split until there are so many."""
NTH = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)
"""At which call of a place user code dies. A reduction takes smaller ones."""
MILLISECONDS = (1, 2, 5, 10, 20, 50, 100, 200, 400)
"""After how long a process may be killed."""

STEPS = Steps[EpisodePort, EpisodeLedger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def places(ledger: EpisodeLedger) -> Sequence[tuple[str, str, int]]:
    """Each place in user code, each way to die, each call."""
    return [(place.value, kind.value, nth) for place in UserPlace for kind in _KINDS for nth in NTH]


_KINDS = (FaultKind.ENDS, FaultKind.THROWS)


def waits(ledger: EpisodeLedger) -> Sequence[tuple[str]]:
    """What can be waited for: that all that was supplied comes out, that a further checkpoint completes, or, once the
    sources have ended, that the job is over."""
    return _UNTIL if ledger.has_all_ended() else _UNTIL[:-1]


_UNTIL = [(one.value,) for one in (Until.IDLE, Until.NO_CHECKPOINT, Until.OVER)]


def again(ledger: EpisodeLedger) -> Sequence[tuple[int, int]]:
    """With each parallelism, from what is left or from an image."""
    if not ledger.can_start_again():
        return DISABLED
    now = ledger.config.vertices[0].parallelism
    many = range(1, _MOST_PARALLELISM + 1) if ledger.promises.rescales else (now,)
    images = range(len(ledger.images) + 1) if ledger.promises.images else (0,)
    return [(parallelism, image) for parallelism in many for image in images]


_MOST_PARALLELISM = 64


# ---- the world -------------------------------------------------------------------------------------------------------
@step("world", LIVE, when=partial(supplied, most=MOST_RECORDS), begin=EpisodeLedger.supply, weight=10)
def supply(port: EpisodePort, ledger: EpisodeLedger, split: int, count: int) -> Answer[None]:
    return port.supply(split, count)


@step("world", LIVE, when=endable, begin=EpisodeLedger.end_source, weight=1)
def end(port: EpisodePort, ledger: EpisodeLedger, source: int) -> Answer[None]:
    return port.end(source)


@step("driver", LIVE, when=places, weight=4, in_words=whether("armed", "cannot be armed"))
def fault(port: EpisodePort, ledger: EpisodeLedger, place: str, kind: str, nth: int) -> Answer[bool]:
    return port.fault(place, FaultKind(kind), nth)


@step("clock", LIVE, when=lambda ledger: [(one,) for one in MILLISECONDS], begin=EpisodeLedger.advance, weight=4)
def advance(port: EpisodePort, ledger: EpisodeLedger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


@step("threads", LIVE, when=waits, begin=EpisodeLedger.act, learn=EpisodeLedger.settled, weight=4,
      in_words=whether("that has happened", "no progress any more"))  # fmt: skip
def settle(port: EpisodePort, ledger: EpisodeLedger, until: str) -> Answer[bool]:
    return port.settle(Until(until))


@step("driver", LIVE, when=lambda ledger: NO_OPERANDS if ledger.promises.chosen else DISABLED,
      begin=EpisodeLedger.act, learn=EpisodeLedger.asked, weight=2)  # fmt: skip
def checkpoint(port: EpisodePort, ledger: EpisodeLedger) -> Answer[Asked]:
    return port.checkpoint()


def _before_the_end(promised: Callable[[Promises], bool]) -> Callable[[EpisodeLedger], Sequence[tuple[()]]]:
    """A job that has read everything may finish before it hears that it is to stop."""
    return lambda ledger: NO_OPERANDS if promised(ledger.promises) and not ledger.ended else DISABLED


@step("driver", LIVE, when=_before_the_end(lambda promises: promises.savepoint), begin=EpisodeLedger.save,
      learn=EpisodeLedger.asked, weight=1)  # fmt: skip
def savepoint(port: EpisodePort, ledger: EpisodeLedger) -> Answer[Asked]:
    return port.savepoint()


@step("driver", LIVE, when=_before_the_end(lambda promises: promises.stops), begin=EpisodeLedger.stop, weight=1,
      in_words=whether("it has ended", "it has not"))  # fmt: skip
def stop(port: EpisodePort, ledger: EpisodeLedger) -> Answer[bool]:
    return port.stop()


# ---- what is observed ------------------------------------------------------------------------------------------------
@step("observer", ALWAYS, when=lambda ledger: ((SINK,),), learn=EpisodeLedger.read, weight=2)
def rows(port: EpisodePort, ledger: EpisodeLedger, sink: int) -> Answer[tuple[Row, ...]]:
    return port.rows(sink)


@step("observer", ALWAYS, when=always, learn=EpisodeLedger.tell, weight=1)
def life(port: EpisodePort, ledger: EpisodeLedger) -> Answer[Life]:
    return port.life()


# ---- lives -----------------------------------------------------------------------------------------------------------
kill = fail_step(STEPS, DEPLOYED, weight=2, name="kill")


@step("driver", LIVE, when=lambda ledger: NO_OPERANDS if ledger.promises.images else DISABLED,
      learn=EpisodeLedger.take_image, weight=1)  # fmt: skip
def image(port: EpisodePort, ledger: EpisodeLedger) -> Answer[str]:
    return port.image()


@step("driver", FAILED, when=again, learn=EpisodeLedger.start_again, weight=16, fresh_port=True)
def start_again(port: EpisodePort, ledger: EpisodeLedger, parallelism: int, image: int) -> Answer[str]:
    return ledger.images[image - 1].location if image else port.image()


HEARS: tuple[Any, ...] = (supply, end, advance, settle, checkpoint, savepoint, stop, rows, life, kill, image)
"""The steps in which the job may say something."""
