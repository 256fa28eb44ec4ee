"""What a campaign must have seen of a recovered channel, decided before the ledger learns of the operation."""

from __future__ import annotations

from conformance.properties.base import Seen
from conformance.properties.recovered_channel.ledger import RecoveredChannelLedger

Ledger = RecoveredChannelLedger


def converted_with_buffers(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and len(seen.value) > 1


def converted_after_some_were_taken(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and ledger.taken > 0 and bool(seen.value)


def converted_when_consumed(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and ledger.consumed and ledger.taken > 0


def conversion_refused_while_reading(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and not ledger.finishing


def conversion_refused_before_consumption(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and ledger.was_finished and ledger.recovery == "recover-first"


def conversion_refused_with_a_buffer(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and ledger.recovery == "pushed" and ledger.had > 0


def converted_during_a_push(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and ledger.busy


def released_during_a_push(ledger: Ledger, seen: Seen) -> bool:
    return ledger.busy and not ledger.released


def released_while_reading(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and not ledger.finishing and ledger.there > ledger.taken


def released_when_read(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.finished and not ledger.consumed


def released_when_consumed(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.consumed


def released_when_converted(ledger: Ledger, seen: Seen) -> bool:
    return ledger.converted


def released_twice(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released and not ledger.converted


def declined_with_buffers(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and ledger.there > ledger.taken + 1


def stopped_late(ledger: Ledger, seen: Seen) -> bool:
    return bool(seen.operands[0] < ledger.stopped)


def failed_during_a_push(ledger: Ledger, seen: Seen) -> bool:
    return ledger.busy and not ledger.failed


def always(ledger: Ledger, seen: Seen) -> bool:
    return True
