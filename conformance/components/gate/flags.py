"""What a gate may say of the next poll: `more` and `more_priority` of its answers. Specification: gate.md."""

from __future__ import annotations

from conformance.components.gate.ledger import Ledger
from conformance.ports import BufferOrEvent


def follows(ledger: Ledger, taken: BufferOrEvent, certainly: bool) -> int:
    """Returns the first channel, counted from 1, in which a further poll certainly finds something after this one,
    or, unless `certainly`, perhaps; 0: there is none. No other operation may be in flight."""
    for number, side in enumerate(ledger.sides):
        if number == taken.channel:
            there = side.follows(taken.element) if certainly else side.holds_more_than(taken.element)
        else:
            there = ledger.ready(side, end=False) if certainly else side.holds_more_than(None)
        if there:
            return number + 1
    return 0


def priority_follows(ledger: Ledger, taken: BufferOrEvent, certainly: bool) -> int:
    """Returns the first channel, counted from 1, that certainly has a priority event after this poll, of which the
    gate knows, or, unless `certainly`, perhaps has one; 0: there is none."""
    for number, side in enumerate(ledger.sides):
        urgent = side.urgent[number == taken.channel and taken.element.data_type.has_priority :]
        if not urgent:
            continue
        blocked = side.blocked or (number == taken.channel and taken.element.data_type.blocks_upstream)
        if not certainly or (urgent[0].sure and not urgent[0].silent and (side.passes or not blocked)):
            return number + 1
    return 0
