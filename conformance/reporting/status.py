"""The exit status of a command, and which one is used if several apply."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.driver import ANSWERS
from conformance.engines import Found, Standing

CONFORMS, VIOLATION, USAGE, INCONCLUSIVE = 0, 1, 2, 3
INTERNAL = 70
"""An error of the suite itself, which says nothing about an implementation (EX_SOFTWARE of sysexits.h)."""

NOT_WRITTEN = 74
"""A file or the output could not be written, since the disk is full for example (EX_IOERR of sysexits.h). It wins over
all others: a program that waits for the file must not take an older one for it."""

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""

_MEANING = {
    CONFORMS: "nothing failed that must not",
    VIOLATION: "a violation was found",
    USAGE: "the call or a file was wrong",
    INTERRUPTED: "interrupted, so that this is a partial result",
    INCONCLUSIVE: "inconclusive: something crashed, hung or was lost, nothing was put to the test, or it has not ended",
}
_RANK = (CONFORMS, INCONCLUSIVE, VIOLATION, USAGE)
"""The order of precedence: of several statuses, the last one in this order is used."""


def worst(statuses: Iterable[int]) -> int:
    """Return the status that is used if all of these apply."""
    return max(statuses, key=_RANK.index, default=CONFORMS)


def status_in_words(status: int) -> str:
    """Return a sentence that says what the exit status of a check or a campaign is, and what it means."""
    return f"Exit status {status}: {_MEANING[status]}."


def status_of(found: Iterable[Found], now: Standing) -> int:
    """Return the status for these findings. Known failures do not count. Operations that crashed or hung are
    inconclusive as long as nothing else was found."""
    news = [one for one in found if now.entry(one) is None]
    if not news:
        return CONFORMS
    return INCONCLUSIVE if all(_crashed_or_hung(one) for one in news) else VIOLATION


def _crashed_or_hung(found: Found) -> bool:
    """Returns whether an operation gave no answer. A task that fails of nothing is of the class *crashed*, too, but the
    engine is there and says so: another property judges that."""
    return found.slug == ANSWERS and found.failure_class in ("crashed", "hung")
