"""The exit status of a command, and which one counts where there are several."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engines import Found, Standing

CONFORMS, VIOLATION, USAGE, INCONCLUSIVE = 0, 1, 2, 3

_RANK = (CONFORMS, INCONCLUSIVE, VIOLATION, USAGE)
"""Which beats which; the last one wins."""


def worst(statuses: Iterable[int]) -> int:
    """The one that counts."""
    return max(statuses, key=_RANK.index, default=CONFORMS)


def status_of(found: Iterable[Found], now: Standing) -> int:
    """What violations mean, of which some may be known: a crash or a hang alone is inconclusive."""
    news = [one for one in found if one.signature not in now.known]
    if not news:
        return CONFORMS
    return INCONCLUSIVE if all(one.failure_class in ("crashed", "hung") for one in news) else VIOLATION
