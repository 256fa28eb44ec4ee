"""Rules of the chain about credit and buffers: what producers may send, and what is held while a chain lives."""

from __future__ import annotations

from conformance.components.chain import steps
from conformance.components.chain.lane import PUSHED as PUSHED_DESIGN
from conformance.components.chain.ledger import Ledger
from conformance.components.chain.rules import NO_CREDIT, NOTHING_RECOVERED, NOTHING_SENT, Took, Transferred
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Unsure
from conformance.models import consumer
from conformance.models.designs import BEFORE, PUSHED, RESOURCES
from conformance.models.words import counted, many, name
from conformance.ports import Buffer, Resources

RULES = Rules[Ledger]("chain")
rule = RULES.rule


# ---- credit ----------------------------------------------------------------------------------------------------------
@rule(steps.transfer, invariant="I-96")
def a_producer_sends_only_what_its_credit_allows(ledger: Ledger, seen: Transferred) -> Judgement:
    """A data buffer leaves a remote producer only if the producer had credit when the transfer began: the exclusive
    buffers, and what was announced since, less what it has sent."""
    if type(seen.value) is not Buffer:
        return False
    lane = ledger.lanes[seen.operands[0]]
    if lane.had > 0:
        return True
    if lane.credit.granted > 0:
        return Unsure("credit was announced while the element was on its way")
    owed = f"the producer of channel {lane.channel} has no credit, so no data may leave the producer"
    return Broken(FailureClass.PROTOCOL, owed, "a data buffer left the producer")


@rule(steps.transfer, steps.consume, invariant="I-96", quiet=True, never=(NO_CREDIT,))
def credit_of_a_chain_is_backed_by_buffers(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The credit of a remote producer and the data buffers that wait at the consumer are together never more than the
    exclusive buffers of the channel and the floating buffers."""
    exclusive, floating = ledger.config.exclusive_buffers, ledger.config.floating_buffers
    borrowed, judged = 0, False
    for lane in ledger.lanes:
        if not lane.remote:
            continue
        number = lane.credit.granted + lane.at_consumer
        judged |= number != 0
        if number > exclusive + floating:
            has = f"{many(exclusive, 'exclusive buffer')} and shares {many(floating, 'floating buffer')}"
            owed = f"channel {lane.channel} has {has}: its credit and the data that waits in it must need no more"
            return Broken(FailureClass.PROTOCOL, owed, f"they need {many(number, 'buffer')}")
        if number > exclusive:
            borrowed += number - exclusive
    if borrowed > floating:
        owed = (
            f"the channels share {many(floating, 'floating buffer')}: their credit and waiting data must need no more"
        )
        return Broken(FailureClass.PROTOCOL, owed, f"they need {many(borrowed, 'floating buffer')}")
    return judged


@rule(steps.recover, steps.finish_recovery, steps.transfer, steps.consume, invariant="I-96", after_learning=True,
      needs=PUSHED)  # fmt: skip
def a_channel_in_recovery_gives_no_credit(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If recovered data is pushed, a channel announces no credit before the consumer has taken the end of its recovered
    data."""
    if ledger.config.recovery is not PUSHED_DESIGN:
        return False
    judged = False
    for lane in ledger.lanes:
        if lane.early:
            owed = f"channel {lane.channel} is in recovery, so its producer must get no credit"
            return Broken(FailureClass.PROTOCOL, owed, "credit was announced to the producer")
        judged |= lane.remote and lane.is_pushed(ledger.config.recovery)
    return judged


@rule(steps.consume, invariant="I-96", quiet=True, never=(NO_CREDIT,))
def every_exclusive_buffer_is_announced(ledger: Ledger, seen: Took) -> Judgement:
    """Outside recovery, every exclusive buffer of a channel is credit of its producer or holds data that waits at the
    consumer."""
    exclusive, judged = ledger.config.exclusive_buffers, False
    if not exclusive or not ledger.is_connected():
        return False
    for lane in ledger.lanes:
        if not lane.remote or ledger.alignment.ended[lane.channel] or lane.is_pushed(ledger.config.recovery):
            continue
        judged = True
        if (credit := lane.credit.granted) + lane.at_consumer < exclusive:
            owed = f"channel {lane.channel} has {many(exclusive, 'exclusive buffer')} to hold data or to be announced"
            observed = f"data waits in {many(lane.at_consumer, 'buffer')}, and the credit of the producer is {credit}"
            return Broken(FailureClass.LOST, owed, observed)
    return judged


@rule(steps.consume, invariant="I-17", never=(NOTHING_SENT, NOTHING_RECOVERED))
def no_producer_goes_on_before_all_output_state_has_ended(ledger: Ledger, seen: Took) -> Judgement:
    """After the consumer has taken the end of the output state of a channel, it counts no record of this channel before
    it has taken the end of the output state of every channel."""
    value = seen.value
    if value is None or type(value.element) is not Buffer:
        return False
    ended = [lane.completion_taken for lane in ledger.lanes]
    if True not in ended or False not in ended:
        return False
    if not ended[value.channel]:
        return True
    owed = f"channel {ended.index(False)} has not ended its output state, so the producer of channel {value.channel}"
    return Broken(
        FailureClass.REORDERED,
        f"{owed} must wait",
        f"the consumer counted {name(value.element)} of channel {value.channel}",
    )


# ---- what a chain holds ----------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-93", quiet=True, needs=RESOURCES, formerly=("a-living-chain-holds-what-it-should",))
def no_resource_of_a_chain_is_leaked_while_open(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before its release, a chain holds one segment for each data buffer that was sent and not consumed, one for each
    credit, and no others except for recovered data and for channels in recovery; one listener for each attached view,
    and at most one for each channel that waits for a floating buffer; and no future once all recovered data is
    consumed."""
    if ledger.failed or ledger.history.broke:
        return False
    for what, (least, most) in ledger.least_and_most().items():
        held = getattr(seen.value, what)
        if held is not None and not least <= held <= most:
            kind = FailureClass.LEAKED if held > most else FailureClass.LOST
            number = counted(most, what) if least == most else f"{least} to {counted(most, what)}"
            return Broken(kind, f"the chain must hold {number} now", f"it holds {counted(held, what)}")
    return True


# ---- the consumer sleeps ---------------------------------------------------------------------------------------------
RULES.adopt(
    consumer.empty_takes_are_not_notified_again_and_again, steps.consume, of=lambda ledger: ledger.consumer,
    formerly=("an-empty-chain-lets-its-consumer-sleep",),
    never=(Never(BEFORE, "A poll that returns nothing has taken the end of recovered data."),),
)  # fmt: skip
