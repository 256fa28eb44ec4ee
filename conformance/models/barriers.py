"""What the producers of a task may send of checkpoints, and when. Steps of components that read channels share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from conformance.driver import DISABLED
from conformance.ports import Alignment

MOST_CHECKPOINTS = 30
"""The highest checkpoint that a scenario names."""
TIMEOUT = 10
"""Milliseconds that an alignment may take. No scenario needs another number: only relations of times matter."""
TIMEOUTABLE = Alignment.TIMEOUTABLE
KINDS, ONLY_ALIGNED = tuple(Alignment), (Alignment.ALIGNED,)
"""How checkpoints may begin: in a job with unaligned ones, and in others."""


class Receiving(Protocol):
    """A ledger that knows what of checkpoints came out of each channel."""

    alternating: bool
    """Whether checkpoints may be timeoutable or unaligned."""
    current: int
    """The newest checkpoint of which anything came."""
    now: int
    timeout: int

    @property
    def inputs(self) -> Sequence[int]:
        """Returns the channels out of which something may come."""

    @property
    def last(self) -> Sequence[int]:
        """Returns, by channel, the newest checkpoint of which it has delivered the barrier or the cancel marker."""

    @property
    def blocked(self) -> Sequence[int]:
        """Returns, by channel, the checkpoint behind whose aligned barrier it waits; 0: it is not blocked."""

    @property
    def announced(self) -> Mapping[int, tuple[int, int]]:
        """Returns, by channel, the checkpoint and the number of a barrier that was announced and has not come."""

    @property
    def kinds(self) -> Mapping[int, Alignment]:
        """Returns, by checkpoint, how it began upstream. The barriers of a timeoutable one may come unaligned."""

    @property
    def timestamps(self) -> Mapping[int, int]:
        """Returns, by checkpoint, when it was triggered."""


def next_of(
    ledger: Receiving, channels: Sequence[int], suits: Sequence[Alignment], overtakes: bool
) -> list[tuple[int, int]]:
    """Channels, and the checkpoints of which they may deliver something next: the current one, the next, and an older
    one.

    `suits`: how such a checkpoint may have begun upstream. `overtakes`: whether it comes out of blocked channels, too.
    """
    current, last, blocked, kinds = ledger.current, ledger.last, ledger.blocked, ledger.kinds
    suited = suits[0]
    fits = kinds.get(current, suited) in suits
    found = []
    for channel in channels:
        if blocked[channel] and not overtakes:
            continue
        newest = last[channel]
        if newest < current:
            newest += 1
            if newest < current and kinds.get(newest, suited) in suits:
                found.append((channel, newest))
            if fits:
                found.append((channel, current))
            newest = current
        if newest < MOST_CHECKPOINTS:
            found.append((channel, newest + 1))
    return found


SUITS = {
    Alignment.ALIGNED: (Alignment.ALIGNED,),
    TIMEOUTABLE: (TIMEOUTABLE,),
    Alignment.UNALIGNED: (Alignment.UNALIGNED, TIMEOUTABLE),
}
"""By kind of barrier, how its checkpoint may have begun upstream."""


def pairs(ledger: Receiving, kind: Alignment, channels: Sequence[int]) -> Sequence[tuple[int, int]]:
    """Channels, and checkpoints whose barrier of this kind may come out of them.

    A barrier that was announced stays timeoutable, also if it overtakes. A newer one overtakes it only if unaligned.
    """
    overtakes = kind is Alignment.UNALIGNED
    found = next_of(ledger, channels, SUITS[kind], overtakes)
    announced = ledger.announced
    if not announced:
        return found
    return [
        (channel, checkpoint)
        for channel, checkpoint in found
        if channel not in announced
        or (checkpoint == announced[channel][0] and not overtakes)
        or (checkpoint > announced[channel][0] and overtakes)
    ]


def aligned(ledger: Receiving) -> Sequence[tuple[int, int]]:
    """Aligned barriers: of savepoints, and of all checkpoints of a job without unaligned ones."""
    return pairs(ledger, Alignment.ALIGNED, ledger.inputs)


def timeoutable(ledger: Receiving) -> Sequence[tuple[int, int]]:
    """Timeoutable barriers."""
    return pairs(ledger, TIMEOUTABLE, ledger.inputs) if ledger.alternating else DISABLED


def unaligned(ledger: Receiving) -> Sequence[tuple[int, int]]:
    """Unaligned barriers, which come out of blocked channels, too."""
    return pairs(ledger, Alignment.UNALIGNED, ledger.inputs) if ledger.alternating else DISABLED


def silent(ledger: Receiving, channels: Sequence[int]) -> Sequence[int]:
    """Those of the channels that have announced nothing that is still to come."""
    announced = ledger.announced
    return [number for number in channels if number not in announced] if announced else channels


def cancellable(ledger: Receiving) -> Sequence[tuple[int, int]]:
    """Cancel markers, which come in the place of a barrier."""
    return next_of(ledger, silent(ledger, ledger.inputs), KINDS, False)


def passing(ledger: Receiving) -> Sequence[tuple[int]]:
    """A moment, or as long as an alignment may take."""
    return ((1,), (ledger.timeout,))


def timestamp(ledger: Receiving, checkpoint: int) -> int:
    """Returns when a checkpoint was triggered. Every fourth was triggered long before its first barrier comes."""
    if checkpoint in ledger.timestamps:
        return ledger.timestamps[checkpoint]
    return max(0, ledger.now - 2 * ledger.timeout) if checkpoint % 4 == 0 else ledger.now
