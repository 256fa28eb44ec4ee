"""What a campaign must have seen of a chain, or it has not looked hard enough.

Each function answers True when its situation has just occurred; none can fail.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import CheckpointStatus
from conformance.properties.base import Seen
from conformance.properties.chain.ledger import ChainLedger as Ledger


# ---- restores --------------------------------------------------------------------------------------------------------
def restored(taken_in: str, recovers: str) -> Callable[[Ledger, Seen], bool]:
    """A checkpoint of one design was restored in another."""

    def check(ledger: Ledger, seen: Seen) -> bool:
        checkpoint, recovery = seen.operands
        return recovery == recovers and ledger.taken_in.get(checkpoint) == taken_in

    return check


def restored_taken_during(ledger: Ledger, seen: Seen) -> bool:
    return ledger.taken_during.get(seen.operands[0], False)


def restored_twice(ledger: Ledger, seen: Seen) -> bool:
    return bool(seen.operands[0] in ledger.saved)


def restored_older(ledger: Ledger, seen: Seen) -> bool:
    return bool(0 < seen.operands[0] < max(ledger.taken_in, default=0))


def restored_from_nothing(ledger: Ledger, seen: Seen) -> bool:
    return seen.operands[0] == 0 and ledger.generation > 0


def third_in_a_row(ledger: Ledger, seen: Seen) -> bool:
    return ledger.depths.get(seen.operands[0], -1) >= 2


def both_states_restored(ledger: Ledger, seen: Seen) -> bool:
    value = seen.value
    return value is not None and any(
        before and behind for before, behind in zip(value.input_state, value.output_state, strict=False)
    )


# ---- failures --------------------------------------------------------------------------------------------------------
def failed_while_starting(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.requested and ledger.recovering()


def failed_while_recovering(ledger: Ledger, seen: Seen) -> bool:
    return ledger.requested and ledger.recovering()


def failed_while_pending(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.over


def failed_live(ledger: Ledger, seen: Seen) -> bool:
    return ledger.phase == "live" and ledger.over and any(side.counted < side.sent for side in ledger.sides)


def failed_in_flight(ledger: Ledger, seen: Seen) -> bool:
    return ledger.busy > 0


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def seen_before(sight: str) -> Callable[[Ledger, Seen], bool]:
    """The ledger noted it when it happened."""

    def check(ledger: Ledger, seen: Seen) -> bool:
        return sight in ledger.sights

    return check


def both_states_at_once(ledger: Ledger, seen: Seen) -> bool:
    value = seen.value
    if value.status is not CheckpointStatus.COMPLETED:
        return False
    return any(before and behind for before, behind in zip(value.input_state, value.output_state, strict=False))
