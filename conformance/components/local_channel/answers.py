"""What a take of a local channel may return besides the element: the next type and the backlog."""

from __future__ import annotations

from conformance.components.local_channel.ledger import Ledger
from conformance.ports import Buffer, BufferAndBacklog, Next

_NONE, _DATA, _EVENT, _PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
_NOTHING = (_NONE,)


def next_types(ledger: Ledger, taken: BufferAndBacklog) -> tuple[Next, ...]:
    """Returns the next types that a take may return, given the ledger before it learns of the take. If operations of
    other threads overlapped the take, what they sent may be named or not."""
    lane, element = ledger.lane, taken.element
    has_priority = element.data_type.has_priority
    recovered = lane.is_hiding() and not has_priority
    hidden = not lane.consumed or len(lane.waiting) > recovered
    blocked = lane.blocked or (not recovered and element.data_type.blocks_upstream)
    owed = lane.following(recovered, not (recovered or has_priority), shut=blocked or not ledger.view.attached)
    found: tuple[Next, ...] = (owed,)
    last = recovered and not hidden
    if ledger.view.attached and len(lane.urgent) > has_priority and (ledger.lane.passes or not blocked):
        found = (_PRIORITY,) if ledger.alone and (last or not recovered) else (_PRIORITY, owed)
    if last and found != _NOTHING:
        found += (_DATA,)  # 2.3.0 does not look what the view has behind the last recovered buffer
    if ledger.lane.end_left and not hidden:
        found += (_EVENT,)  # 2.3.0 hands over the end of recovered data, too
    return found if ledger.alone else (*found, _NONE)


def backlogs(ledger: Ledger, taken: BufferAndBacklog) -> tuple[int, int]:
    """Returns the smallest and the largest backlog that a take may return: the number of live buffers that wait, of
    which the last one need not be counted. What another thread is adding may count or not."""
    lane, element = ledger.lane, taken.element
    has_priority = element.data_type.has_priority
    if ledger.lane.is_hiding() and not has_priority:
        return 0, 0
    most = ledger.lane.buffers() - (type(element) is Buffer)
    if not (lane.blocked or element.data_type.blocks_upstream):
        return (max(0, most - 1) if ledger.alone else 0), most
    return 0, most if ledger.lane.passes and len(lane.urgent) > has_priority else 0
