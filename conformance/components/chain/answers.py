"""What a chain says of its checkpoints, as the rules read it: its barriers, acknowledged, declined, why not yet."""

from __future__ import annotations

from conformance.components.chain.ledger import Ledger
from conformance.ports import Barrier, Buffer, CheckpointAcknowledged, CheckpointDeclined, Consumed, Element, Signal


def is_unaligned(element: Element | None) -> bool:
    """Returns whether the element is an unaligned barrier."""
    return type(element) is Barrier and element.alignment == "unaligned"


def acknowledged(signals: list[Signal]) -> list[int]:
    """Returns the checkpoints that these signals acknowledge."""
    return [one.checkpoint for one in signals if type(one) is CheckpointAcknowledged] if signals else []


def declines(signals: list[Signal]) -> list[CheckpointDeclined]:
    """Returns the signals that decline a checkpoint."""
    return [one for one in signals if type(one) is CheckpointDeclined] if signals else []


def was_declined(checkpoint: int, signals: list[Signal]) -> bool:
    """Whether one of these signals declines this checkpoint."""
    return any(one.checkpoint == checkpoint for one in declines(signals))


def checkpoint_in_words(checkpoint: int) -> str:
    """For messages."""
    return f"checkpoint {checkpoint}"


def why_incomplete(ledger: Ledger, checkpoint: int, value: Consumed | None) -> str:
    """Describes why a checkpoint must not be acknowledged by this poll."""
    if ledger.alignment.was_triggered_or_declined(checkpoint):
        how = "acknowledged" if checkpoint in ledger.alignment.triggered else "declined"
        return f"checkpoint {checkpoint} was {how} before, so it must not be acknowledged"
    taken = None if value is None or type(value.element) is Buffer else value.channel
    for channel in ledger.alignment.missing(checkpoint):
        if channel != taken:
            missing = f"neither its barrier nor the end of partition was taken from channel {channel}"
            return f"checkpoint {checkpoint} must not be acknowledged yet: {missing}"
    return f"this poll does not complete checkpoint {checkpoint}, so it must not be acknowledged"
