"""When the steps of a remote channel are enabled, and with which operands."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.remote_channel.ledger import Ledger
from conformance.components.remote_channel.state import NOTHING
from conformance.driver import DISABLED, NO_OPERANDS
from conformance.parts.lifetime import alive
from conformance.ports import CHANNEL_STATE_WRITER, PRODUCER, SUBPARTITION_REQUEST

MOST_QUEUED = 6
MOST_RECOVERED = 3
MOST_URGENT = 2
MOST_CHECKPOINTS = 30
MOST_ERRORS = 3

_EARLY = SUBPARTITION_REQUEST, PRODUCER
_LATE = (SUBPARTITION_REQUEST,)
_UNWRITTEN = SUBPARTITION_REQUEST, CHANNEL_STATE_WRITER
_BACKLOGS = ((0,), (1,), (2,), (NOTHING,))


def _if(wanted: bool) -> Sequence[tuple[()]]:
    return NO_OPERANDS if wanted else DISABLED


def _goes_on(ledger: Ledger) -> bool:
    return not ledger.over and not ledger.releasing


def _flows(ledger: Ledger) -> bool:
    lane = ledger.lane
    return not lane.blocked and len(lane.live) < MOST_QUEUED and not ledger.over and not ledger.releasing


def _lets_priority_in(ledger: Ledger) -> bool:
    return len(ledger.lane.urgent) < MOST_URGENT and not ledger.moving


def sends(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an element without priority while the producer is neither blocked, back-pressured nor finished."""
    return _if(_flows(ledger))


def sends_data(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables live data if the producer has credit and the recovery is over. The operand is the backlog, or
    `NOTHING`."""
    return _BACKLOGS if ledger.credit.granted > 0 and ledger.lane.consumed and _flows(ledger) else DISABLED


def sends_event(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an event, which needs no credit. The operand is the backlog, or `NOTHING`."""
    return _BACKLOGS if _flows(ledger) else DISABLED


def _barriers(ledger: Ledger) -> Sequence[tuple[int]]:
    newest = ledger.newest
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if ledger.last_barrier < newest else ((newest + 1,),)


def sends_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the barrier of the newest checkpoint or of the next one."""
    return _barriers(ledger) if _flows(ledger) else DISABLED


def sends_announced_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a timeoutable barrier, which the channel announces, unless too many priority events are queued or one
    is being made."""
    return _barriers(ledger) if _lets_priority_in(ledger) and _flows(ledger) else DISABLED


def sends_unaligned_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an unaligned barrier, also if the producer is blocked, unless too many priority events are queued or one
    is being made."""
    return _barriers(ledger) if _lets_priority_in(ledger) and _goes_on(ledger) else DISABLED


def connected(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step until the end of partition was sent."""
    return _if(_goes_on(ledger))


def may_come_late(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an element for a released channel, which the network thread has read before the release, a few times."""
    return alive(ledger) if ledger.lane.arrived and not ledger.over else DISABLED


def in_recovery_surely(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step in recovery if no other thread can end the recovery during it."""
    return _if(not ledger.lane.finishing and not ledger.lane.consumed and _goes_on(ledger))


def may_push(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a push until the end of recovered data is pushed, or `MOST_RECOVERED` buffers are."""
    return _if(not ledger.lane.finishing and ledger.lane.pushed < MOST_RECOVERED)


def may_finish(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the end of recovered data once, and not while live data arrives that must not come during recovery."""
    return _if(not ledger.lane.finishing and not ledger.trespassing)


def all_was_pushed(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step after the end of recovered data was pushed."""
    return _if(ledger.recovery == "pushed" and ledger.lane.finished and not ledger.releasing)


def pushes(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step with the recovery design `pushed`."""
    return _if(ledger.recovery == "pushed")


def held(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the recycling of one buffer that the task holds, or of all of them."""
    count = ledger.credit.held
    if not count:
        return DISABLED
    return ((1,), (count,)) if count > 1 else ((1,),)


def blocked(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the resumption of a blocked producer after the task has taken everything that it sent."""
    return _if(ledger.lane.blocked and not ledger.lane.live)


def markable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the insertion of a recovery barrier for the newest checkpoint, if its start was not tried, or the
    next."""
    newest = ledger.newest
    if ledger.recovery != "pushed" or newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if newest > max(ledger.tried, ledger.input.last) else ((newest + 1,),)


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of the checkpoint whose recovery barrier was inserted; without one, the start of the newest
    checkpoint, if it was not tried, of the next one, or of one that was left out."""
    if ledger.lane.marks:
        return [(checkpoint,) for checkpoint in ledger.lane.marks]
    newest, tried, state = ledger.newest, ledger.tried, ledger.input
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if newest > tried and (state.received or state.last < newest):
        return ((newest,), (newest + 1,), (newest - 1,)) if newest - 1 > tried else ((newest,), (newest + 1,))
    return ((newest + 1,),)


def last_started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that started."""
    states = ledger.input.states
    return [(checkpoint,) for checkpoint in list(states)[-2:]] if states else DISABLED


def inspectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that started, and one whose start has failed."""
    failed = ledger.input.failed
    return [*last_started(ledger), *[(checkpoint,) for checkpoint in failed]] if failed else last_started(ledger)


def error_arrives(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the arrival of the producer's error, up to `MOST_ERRORS` times."""
    return _if(ledger.producer_failed and ledger.errors < MOST_ERRORS)


def without_error(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step unless an error has come after which credit need not be announced."""
    return _if(not ledger.error_comes)


def strikeable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: the request can fail until it succeeds, and nothing but the producer before that; the
    channel state writer is called if a checkpoint waits for its barrier, or starts while data is queued."""
    if ledger.phase == "new":
        return [(place, kind) for place, kind in ledger.faults.possible() if place in _EARLY]
    lane = ledger.lane
    written = lane.input.pending is not None or bool(lane.live) or bool(lane.waiting)
    never = _LATE if written else _UNWRITTEN
    return [(place, kind) for place, kind in ledger.faults.possible() if place not in never]


def announced(ledger: Ledger) -> Sequence[tuple[int]]:
    """Announced barriers that, as far as the ledger knows, are queued and the last one of the channel."""
    if not ledger.times_out:
        return DISABLED
    state, last = ledger.input, ledger.last_barrier
    if ledger.forgotten or ledger.arriving is not None or not state.received or state.last != last:
        return DISABLED
    return [
        (seq,)
        for seq, checkpoint in ledger.announced.items()
        if checkpoint == last
        and state.barrier_at.get(checkpoint) == ledger.position(seq)
        and any(sent.number == ledger.position(seq) for sent in ledger.lane.live)
    ]


def times_out(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an attempt to convert what is not queued, if the alignment of barriers can time out."""
    return NO_OPERANDS if ledger.times_out else DISABLED


def outdated(ledger: Ledger) -> Sequence[tuple[int]]:
    """Announced barriers that are queued and certainly not the last one of the channel: a newer one came, or the
    checkpoint was stopped."""
    if not ledger.times_out:
        return DISABLED
    state, last = ledger.input, ledger.last_barrier
    if ledger.arriving is not None or ledger.moving or ledger.checkpointing or not ledger.announced:
        return DISABLED
    stopped = state.last == last and not state.received and state.pending is None
    return [
        (seq,)
        for seq, checkpoint in ledger.announced.items()
        if (last in state.barrier_at if checkpoint < last else stopped)
        and any(sent.number == ledger.position(seq) for sent in ledger.lane.live)
    ]
