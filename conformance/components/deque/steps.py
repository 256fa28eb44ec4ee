"""The steps of the prioritised deque."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.components.deque.ledger import Ledger
from conformance.driver import DISABLED, Drain, Once, Steps, While, always
from conformance.models.answers import listed, whether
from conformance.models.lifetime import fail_step, resources_step
from conformance.models.words import many
from conformance.ports import Answer, DequePort, Item

LIVE = ("live",)
ALWAYS = ("live", "failed")
MOST_QUEUED = 20
"""Enough items for a deque that has to grow; few scenarios come so far."""

STEPS = Steps[DequePort, Ledger]()
step = STEPS.step

_LABELS = ((0,), (1,))
"""Two labels, so that equal items are common."""


def room(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an add with either label, unless the deque contains `MOST_QUEUED` items."""
    return _LABELS if len(ledger.handles) < MOST_QUEUED else DISABLED


def contained(ledger: Ledger) -> Sequence[tuple[int]]:
    """The items that are in the deque."""
    return [(handle,) for handle in ledger.handles]


@step("producer", LIVE, when=room, end=Ledger.add, weight=12)
def add(port: DequePort, ledger: Ledger, label: int) -> Answer[None]:
    return port.add(Item(ledger.next_handle(), label))


@step("producer", LIVE, when=room, end=Ledger.add_priority, weight=6)
def add_priority(port: DequePort, ledger: Ledger, label: int) -> Answer[None]:
    return port.add_priority(Item(ledger.next_handle(), label))


@step("checkpointing", LIVE, when=contained, end=Ledger.prioritize)
def prioritize(port: DequePort, ledger: Ledger, handle: int) -> Answer[None]:
    return port.prioritize(handle)


@step("checkpointing", LIVE, when=contained, end=Ledger.remove, weight=4)
def remove(port: DequePort, ledger: Ledger, handle: int) -> Answer[None]:
    return port.remove(handle)


@step("consumer", LIVE, when=always, learn=Ledger.poll, in_words="item {}".format)
def poll(port: DequePort, ledger: Ledger) -> Answer[int | None]:
    return port.poll()


@step("observer", LIVE, when=contained, weight=2, in_words=whether("it has priority", "it has no priority"))
def contains_priority(port: DequePort, ledger: Ledger, handle: int) -> Answer[bool]:
    return port.contains_priority(handle)


@step("observer", ALWAYS, when=always, weight=4, in_words=partial(many, noun="priority element"))
def count_priority(port: DequePort, ledger: Ledger) -> Answer[int]:
    return port.count_priority()


@step("observer", ALWAYS, when=always, end=Ledger.look, weight=6, in_words=listed("item"))
def items(port: DequePort, ledger: Ledger) -> Answer[tuple[int, ...]]:
    return port.items()


resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)


def _failed(ledger: Ledger) -> bool:
    return ledger.failed


DRAIN = Drain[Ledger](
    Once((items(), count_priority()), unless=_failed),
    While((lambda ledger: poll() if ledger.handles else None,)),
    Once((fail(),), unless=_failed),
    Once((items(), count_priority(), resources())),
)
"""Read the content, poll all of it, release, and read the content again."""
