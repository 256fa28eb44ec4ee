"""Strategies for records and the other elements of channel state: keys, sizes, times, and what stands between them.

An element is one of `conformance.ports.framing`. What a record says is text that nobody observes (`strategies.texts`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from conformance.ports.filter import LEAST_PAGE
from conformance.ports.framing import (
    Attributes,
    LatencyMarker,
    Record,
    Recovered,
    Status,
    Watermark,
    smallest,
)
from strategies.values import made

Kind: TypeAlias = Literal["order", "payment", "reading"]
"""What a record is about. A reading has a timestamp; an order or a payment may have one."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_SHORT = 64
"""Up to this size, records without much text."""
_LATER = st.integers(0, 9)
"""By how much a time is later than the one before."""


def keys(count: int = 16, hot: int = 0) -> SearchStrategy[int]:
    """Draws one of `count` keys. If some are `hot`, these, the smallest ones, are drawn more than half of the time. It
    shrinks to key 0.

    Raises: ValueError unless 0 <= hot <= count and count > 0.
    """
    if count < 1 or not 0 <= hot <= count:
        raise ValueError(f"of {count} keys, {hot} cannot be hot: at least one key is needed, and at most all are hot")
    if not hot:
        return st.integers(0, count - 1)
    return st.one_of(st.integers(0, hot - 1), st.integers(0, count - 1))


def sizes(page: int = LEAST_PAGE) -> SearchStrategy[int]:
    """Draws how many bytes a record takes: few, about a page or two, or several pages. It shrinks to the smallest
    record, which has no text.

    Raises: ValueError if not even that fits a page.
    """
    least = smallest()
    if page < least:
        raise ValueError(f"a page must hold the smallest record, which has {least} bytes, found {page=}")
    about = [size for pages in (1, 2) for size in range(pages * page - 1, pages * page + 2)]
    return st.one_of(
        st.integers(least, least + _SHORT),
        st.sampled_from([size for size in about if size >= least]),
        st.integers(2 * page, 4 * page),
    )


_KEYS, _SIZES = keys(), sizes()


def records(
    kind: Kind = "order", keys: SearchStrategy[int] = _KEYS, sizes: SearchStrategy[int] = _SIZES, most: int = 6
) -> SearchStrategy[tuple[Record, ...]]:
    """Draws up to `most` records in the order in which they were sent: their ids count up from 0, and their timestamps
    never fall. A timestamp takes 8 bytes, so that the smallest records with one are larger. It shrinks to no record,
    and each record to key 0 and the smallest size.

    Raises: ValueError if there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"a record is one of {', '.join(KINDS)}, found {kind!r}")
    later = _LATER if kind == "reading" else st.none() | _LATER
    return made(_sent, st.lists(st.tuples(keys, sizes, later), max_size=most))


def _sent(drawn: Iterable[tuple[int, int, int | None]]) -> tuple[Record, ...]:
    """Returns records with these keys, sizes, and distances in time."""
    found: list[Record] = []
    now = 0
    for number, (key, size, later) in enumerate(drawn):
        now += later or 0
        timestamp = None if later is None else now
        found.append(Record(number, key, max(size, smallest(timestamp)), timestamp))
    return tuple(found)


_WATERMARK, _STATUS, _MARKER, _ATTRIBUTES = range(4)


_RECORDS = records()


def elements(
    records: SearchStrategy[tuple[Record, ...]] = _RECORDS,
    watermarks: bool = True,
    statuses: bool = True,
    markers: bool = False,
    most: int = 4,
) -> SearchStrategy[tuple[Recovered, ...]]:
    """Draws what a channel has: records, and up to `most` other elements anywhere among them: watermarks, statuses,
    and as `markers` latency markers and record attributes.

    Watermarks and timestamps never fall, and no record is older than the watermark before it; for that, the records
    behind a watermark are as much later as the watermark is. A channel begins active, and each status is another one
    than that before. It shrinks to as few elements as possible.

    Raises: ValueError if nothing but records is wanted.
    """
    kinds = [_WATERMARK] * watermarks + [_STATUS] * statuses + [_MARKER, _ATTRIBUTES] * markers
    if not kinds:
        raise ValueError("draw `records` if no other elements are wanted")
    other = st.tuples(st.integers(0, most + 2), st.sampled_from(kinds), _LATER)
    return made(_among, records, st.lists(other, max_size=most))


def _among(records: tuple[Record, ...], others: list[tuple[int, int, int]]) -> tuple[Recovered, ...]:
    """Returns the records with other elements among them: each stands in front of the record with this index, or
    behind the last one, and is so much later than what comes before."""
    found: list[Recovered] = []
    now = later = 0
    active = True
    waiting = sorted(others, key=lambda other: other[0])  # what was drawn first comes first, in one place
    for at in range(len(records) + 1):
        while waiting and (waiting[0][0] <= at or at == len(records)):
            _, kind, by = waiting.pop(0)
            if kind == _WATERMARK:
                now, later = now + by, later + by
                found.append(Watermark(now))
            elif kind == _STATUS:
                active = not active
                found.append(Status(active))
            else:
                found.append(LatencyMarker(now) if kind == _MARKER else Attributes(bool(by % 2)))
        if at < len(records):
            record = records[at]
            if record.timestamp is not None:
                now = record.timestamp + later
                record = replace(record, timestamp=now)
            found.append(record)
    return tuple(found)
