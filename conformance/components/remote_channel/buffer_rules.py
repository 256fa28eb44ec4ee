"""The rules of the remote channel for credit, buffers and resources. Specification: remote-channel.md."""

from __future__ import annotations

from conformance.components.remote_channel import steps
from conformance.components.remote_channel.ledger import FLOWING, OPEN, Ledger
from conformance.components.remote_channel.rules import END_TAKEN, NO_CREDIT
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models import lifetime, taking
from conformance.models.designs import PUSHED, RESOURCES
from conformance.models.words import are, many
from conformance.ports import CreditAnnounced, Resources

RULES = Rules[Ledger]("remote-channel")
rule, adopt = RULES.rule, RULES.adopt


# ---- credit ----------------------------------------------------------------------------------------------------------
def _gives_its_credit_back(ledger: Ledger) -> bool:
    """Returns whether the producer is blocked and has no exclusive buffers: it then loses its credit when resumed."""
    return ledger.lane.held_back and not ledger.credit.exclusive


@rule(steps.free_for_live, invariant="I-96", needs=RESOURCES, quiet=True, never=(NO_CREDIT,))
def credit_is_what_is_set_aside(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The number of buffers that the channel has set aside for live data is the credit that it announced less the data
    buffers that it received."""
    if ledger.phase == "new" or not ledger.lane.consumed or _gives_its_credit_back(ledger):
        return False
    granted = ledger.credit.granted
    if seen.value == granted:
        return True
    owed = f"the producer has a credit of {granted}, so as many buffers must be set aside for live data"
    return Broken(FailureClass.PROTOCOL, owed, f"{are(seen.value, 'buffer')} set aside")


@rule(
    steps.free_for_live,
    invariant="I-96",
    tickets=("FLINK-39521",),
    needs=PUSHED | RESOURCES,
    quiet=True,
    never=(END_TAKEN,),
)
def recovered_data_takes_the_buffers_that_are_set_aside(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """During recovery, each pushed buffer takes one of the buffers that the channel has set aside, if there is one; an
    exclusive buffer is set aside again once it is recycled."""
    if ledger.phase == "new" or ledger.lane.consumed or _gives_its_credit_back(ledger):
        return False
    least, most = ledger.set_aside()
    if least <= seen.value <= most:
        return True
    waits, held = len(ledger.lane.waiting), ledger.credit.held
    waiting = "1 recovered buffer waits" if waits == 1 else f"{waits} recovered buffers wait"
    owed = f"{waiting} and the task holds {held}: {between(least, most)} must be set aside"
    return Broken(FailureClass.PROTOCOL, owed, f"{are(seen.value, 'buffer')} set aside")


@rule(
    steps.buffer, steps.event, steps.recycle, steps.take, steps.request_subpartition, invariant="I-96",
    after_learning=True,
)  # fmt: skip
def credit_is_covered_by_buffers(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Whenever credit is announced, the number of live data buffers in use plus the credit of the producer is at most
    the number of exclusive buffers of the channel plus the number of floating buffers of the pool. A credit is at least
    1."""
    if not seen.signals or ledger.releasing or _gives_its_credit_back(ledger):
        return False
    announced = [signal.credit for signal in seen.signals if type(signal) is CreditAnnounced]
    if not announced:
        return False
    if min(announced) < 1:
        return Broken(
            FailureClass.PROTOCOL,
            "an announcement must grant a credit of at least 1",
            f"the channel announced a credit of {min(announced)}",
        )
    missing = -ledger.covered()
    owed = f"the channel and the pool together have {many(ledger.credit.both(), 'buffer')}"
    return missing <= 0 or Broken(
        FailureClass.PROTOCOL, owed, f"{are(missing, 'buffer')} missing for what is in use or announced as credit"
    )


@rule(
    steps.free_for_live, steps.event, steps.recycle, invariant="I-96", tickets=("FLINK-39521",), needs=PUSHED,
    after_learning=True, never=(END_TAKEN,),
)  # fmt: skip
def no_credit_is_announced_during_recovery(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The channel announces no credit to the producer before its recovery is over."""
    if ledger.credit.early:
        owed = "the channel must announce no credit before its recovery is over"
        return Broken(FailureClass.PROTOCOL, owed, "it announced credit")
    return not ledger.lane.consumed and ledger.phase != "new"


@rule(steps.free_for_live, invariant="I-96", quiet=True, never=(NO_CREDIT,))
def exclusive_buffers_come_back(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The exclusive buffers of the channel are in use or announced: outside recovery, the credit of the producer plus
    the number of buffers in use is at least the number of exclusive buffers."""
    credit = ledger.credit
    if ledger.phase == "new" or not ledger.lane.consumed or not credit.exclusive:
        return False
    used = ledger.credit.both() - ledger.spare() - credit.granted
    if credit.granted + used >= credit.exclusive:
        return True
    owed = (
        f"the channel has {many(credit.exclusive, 'exclusive buffer')}, and {are(used, 'buffer')} in use, so the "
        f"producer must have a credit of at least {credit.exclusive - used}"
    )
    return Broken(FailureClass.STUCK, owed, f"the credit of the producer is {credit.granted}")


@rule(
    steps.recycle, steps.take, steps.free_for_live, invariant="I-96", tickets=("FLINK-23466",),
    quiet=True, needs=RESOURCES, never=(NO_CREDIT,),
)  # fmt: skip
def a_backlog_gets_the_buffers_that_come_back(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the producer's backlog requires more buffers than the channel has, the channel sets aside each floating buffer
    that is free or becomes free, and announces it as credit, until it has enough."""
    credit, lane = ledger.credit, ledger.lane
    if ledger.phase not in FLOWING or not lane.consumed or lane.held_back or ledger.connection.error_comes:
        return False
    if credit.granted >= credit.required:
        return credit.required > credit.exclusive
    spare = ledger.spare()
    if spare <= 0:
        return True
    owed = f"the producer's backlog requires a credit of {credit.required}, for which {are(spare, 'buffer')} free"
    return Broken(FailureClass.STUCK, owed, f"its credit is {credit.granted}")


@rule(steps.free_for_live, invariant="I-96", quiet=True, never=(NO_CREDIT,))
def no_more_is_borrowed_than_is_required(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The channel borrows no more floating buffers than the backlog requires. If an exclusive buffer comes back while
    more buffers are set aside than the backlog requires, a floating one returns to the pool."""
    credit = ledger.credit
    if ledger.phase == "new" or not ledger.lane.consumed or _gives_its_credit_back(ledger):
        return False
    if credit.granted <= credit.most:
        return credit.granted > 0
    owed = f"the producer's backlog requires at most {many(credit.most, 'buffer')}"
    return Broken(FailureClass.LEAKED, owed, f"its credit is {credit.granted}")


def between(least: int, most: int) -> str:
    """Returns the range in words."""
    return f"{least}" if least == most else f"{least} to {most}"


# ---- resources -------------------------------------------------------------------------------------------------------
adopt(taking.buffers_in_use_count_what_waits, steps.in_use, of=Ledger.counted, needs=RESOURCES)


@rule(steps.resources, invariant="I-93", needs=RESOURCES, quiet=True)
def a_channel_holds_what_waits_what_is_taken_and_what_is_set_aside(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before its release, the channel holds one segment for each data buffer that waits or that the task took and has
    not recycled, and one for each buffer that is set aside. It holds a future only during recovery, and at most one
    listener: its place in the line of the pool."""
    if ledger.phase not in OPEN or seen.value.segments is None:
        return False
    held, (least, most), used = seen.value.segments + (seen.value.heap or 0), ledger.set_aside(), ledger.in_use()
    if seen.value.heap is None:  # recovered data may be in memory that this implementation does not count
        least -= min(least + used, ledger.own_recovered())
    if not used + least <= held <= used + most:
        kind = FailureClass.LEAKED if held > used + most else FailureClass.LOST
        owed = f"{are(used, 'data buffer')} in use, and {between(least, most)} must be set aside"
        return Broken(kind, owed, f"the channel holds {many(held, 'segment')}")
    if seen.value.futures and ledger.lane.consumed and ledger.lane.arrived:
        owed = "the producer has sent something, and the channel is not in recovery"
        return Broken(FailureClass.LEAKED, owed, f"the channel holds {many(seen.value.futures, 'future')}")
    if seen.value.listeners and seen.value.listeners > 1:
        owed = "the channel may wait in the line of the pool once, so it may hold one listener"
        return Broken(FailureClass.LEAKED, owed, f"it holds {many(seen.value.listeners, 'listener')}")
    return True


adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("a-released-channel-holds-nothing",),
)  # fmt: skip
