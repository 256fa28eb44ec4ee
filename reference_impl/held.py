"""What several parts hold together. Specification: gate.md."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.ports import Resources

from .state.spill.storage import Storage


def together(held: Iterable[Resources], storage: Storage | None = None, grants: int | None = None) -> Resources:
    """G26. Add up what parts hold, with the files and grants of a task that spills."""
    segments = listeners = futures = 0
    for one in held:
        segments += one.segments or 0
        listeners += one.listeners or 0
        futures += one.futures or 0
    return Resources(
        segments=segments,
        heap=0,
        files=0 if storage is None else len(storage.existing),
        listeners=listeners,
        futures=futures,
        open_files=None if storage is None else storage.open,
        grants=grants,
    )
