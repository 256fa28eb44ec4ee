"""Goals of the recovered channel: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.recovered_channel import steps
from conformance.components.recovered_channel.ledger import DESTROYED, REFUSED, WAITING, Ledger
from conformance.driver import Rules, Seen
from conformance.models import faults
from conformance.models.designs import FAULTS, IN_MEMORY, PUSHED, RECOVER_FIRST, STEPPING
from conformance.ports import RecoveredChannelPort, Resources

RULES = Rules[Ledger]("recovered-channel")
goal = RULES.goal
faults.see_strikes(RULES, RecoveredChannelPort.can_fail, steps.push_recovered, steps.convert)
Converted = Seen[tuple[int, ...]]


@goal(steps.convert, needs=IN_MEMORY)
def converted_with_several_buffers_queued(ledger: Ledger, seen: Converted) -> bool:
    """A conversion handed over several buffers of a channel."""
    return seen.error is None and len(seen.value) > 1


@goal(steps.convert, needs=IN_MEMORY)
def converted_after_some_buffers_were_taken(ledger: Ledger, seen: Converted) -> bool:
    """A conversion handed over the buffers that the consumer had not taken."""
    return seen.error is None and ledger.recovered.taken > 0 and bool(seen.value)


@goal(steps.convert, needs=RECOVER_FIRST)
def converted_when_all_was_consumed(ledger: Ledger, seen: Converted) -> bool:
    """A channel was converted after its buffers and the end of recovered data were taken."""
    return seen.error is None and ledger.recovered.consumed and ledger.recovered.taken > 0


@goal(steps.convert)
def conversion_was_refused_while_state_was_read(ledger: Ledger, seen: Converted) -> bool:
    """A conversion was refused because state was still being read."""
    return seen.error is not None and not ledger.recovered.finishing


@goal(steps.convert, needs=RECOVER_FIRST)
def conversion_was_refused_before_consumption(ledger: Ledger, seen: Converted) -> bool:
    """A conversion was refused because all state was read but not consumed."""
    return seen.error is not None and ledger.conversion.was_finished and ledger.config.recovery == "recover-first"


@goal(steps.convert, needs=PUSHED)
def conversion_was_refused_with_a_stored_buffer(ledger: Ledger, seen: Converted) -> bool:
    """A conversion with the design `pushed` was refused because a recovered buffer was queued."""
    return seen.error is not None and ledger.config.recovery == "pushed" and ledger.due.count > 0


@goal(steps.convert, needs=PUSHED | STEPPING)
def converted_during_a_push(ledger: Ledger, seen: Converted) -> bool:
    """A conversion and a push overlapped."""
    return seen.error is None and ledger.push.in_flight


@goal(steps.release, needs=STEPPING)
def released_during_a_push(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release ended while a push was in flight."""
    return ledger.push.in_flight and not ledger.released


@goal(steps.release)
def released_while_state_was_read(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while buffers were queued and before all state was read."""
    return not ledger.released and not ledger.recovered.finishing and ledger.recovered.there() > 0


@goal(steps.release)
def released_when_all_was_read(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after all state was read and before it was consumed."""
    return not ledger.released and ledger.recovered.finished and not ledger.recovered.consumed


@goal(steps.release)
def released_when_all_was_consumed(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after all state was consumed."""
    return not ledger.released and ledger.recovered.consumed


@goal(steps.release)
def released_after_conversion(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after the conversion."""
    return ledger.conversion.done


@goal(steps.release)
def released_a_second_time(ledger: Ledger, seen: Seen[None]) -> bool:
    """A component that was released was released again."""
    return ledger.released and not ledger.conversion.done


@goal(steps.checkpoint_started)
def a_checkpoint_was_declined_with_buffers_queued(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was declined while several buffers were queued."""
    return seen.error is not None and ledger.recovered.there() > 1


@goal(steps.checkpoint_stopped)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An older checkpoint was stopped while a newer one was pending or over."""
    return seen.operands[0] < ledger.checkpoints.stopped


@goal(steps.fail, needs=STEPPING)
def failed_during_a_push(ledger: Ledger, seen: Seen[None]) -> bool:
    """The channel failed while a push was in flight."""
    return ledger.push.in_flight and not ledger.failed


@goal(steps.restore)
def a_fresh_channel_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh channel replaced one that had failed."""
    return True


# ---- what it calls fails ---------------------------------------------------------------------------------------------
@goal(steps.push_recovered, needs=FAULTS, struck=True)
def a_push_got_the_buffer_it_waited_for(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A push waited for a buffer, and got one."""
    return seen.error is None and ledger.push.offered and not ledger.releasing


@goal(steps.push_recovered, needs=FAULTS, struck=True)
def a_push_waited_until_the_release(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A push waited for a buffer until the channel was released."""
    return ledger.released and not ledger.conversion.done


@goal(steps.push_recovered, needs=FAULTS | PUSHED, struck=True)
def a_push_waited_until_the_conversion(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A push waited for a buffer until the channel was converted, which releases it."""
    return ledger.conversion.done


@goal(steps.push_recovered, needs=FAULTS, struck=True)
def the_pool_was_destroyed_while_a_push_waited(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The buffer pool was destroyed while a push was waiting for a buffer."""
    return REFUSED in seen.signals and DESTROYED in seen.signals


@goal(steps.release, steps.convert, needs=FAULTS | STEPPING)
def released_between_an_offer_and_the_push(ledger: Ledger, seen: Seen[object]) -> bool:
    """The channel was released or converted after it was offered a buffer, before the push that waited for it went
    on."""
    return seen.error is None and not ledger.released and ledger.phase == WAITING and ledger.push.offered


@goal(steps.convert, needs=FAULTS | RECOVER_FIRST, struck=True)
def a_conversion_failed_after_all_was_consumed(ledger: Ledger, seen: Converted) -> bool:
    """A conversion found no exclusive buffers after the task had consumed all recovered data."""
    return ledger.config.recovery == "recover-first" and ledger.recovered.taken > 0


@goal(steps.convert, needs=FAULTS | IN_MEMORY, struck=True)
def a_conversion_failed_with_buffers_queued(ledger: Ledger, seen: Converted) -> bool:
    """A conversion found no exclusive buffers while recovered buffers were queued, which the next one hands over."""
    return ledger.config.recovery == "in-memory" and ledger.recovered.there() > 1


@goal(steps.convert, needs=FAULTS | PUSHED, struck=True)
def a_conversion_failed_while_state_was_read(ledger: Ledger, seen: Converted) -> bool:
    """A conversion with the design `pushed` found no exclusive buffers before all state was read."""
    return ledger.config.recovery == "pushed" and not ledger.recovered.finishing
