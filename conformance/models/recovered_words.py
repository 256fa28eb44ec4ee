"""Describes the elements in recovered channel state, for messages and reports."""

from __future__ import annotations

from conformance.models.words import many
from conformance.ports import Attributes, LatencyMarker, Record, Recovered, Status, Unreadable, Watermark


def recovered_in_words(element: Recovered | Unreadable) -> str:
    """Describes an element: `record 3 (key 7, 25 bytes)`."""
    match element:
        case Record(id=number, key=key, size=size, timestamp=None):
            return f"record {number} (key {key}, {many(size, 'byte')})"
        case Record(id=number, key=key, size=size, timestamp=timestamp):
            return f"record {number} (key {key}, {many(size, 'byte')}, timestamp {timestamp})"
        case Watermark(time=time):
            return f"watermark {time}"
        case Status(active=active):
            return f"the status {'active' if active else 'idle'}"
        case LatencyMarker(time=time):
            return f"latency marker {time}"
        case Attributes(backlog=backlog):
            return f"record attributes {'with' if backlog else 'without'} backlog"
        case Unreadable(offset=offset):
            return f"bytes that are no element, behind byte {offset}"
