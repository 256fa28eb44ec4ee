"""How bad failures are, by their classes: what a reader of a page or a summary is shown first."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.driver import FailureClass

RANKS: tuple[tuple[str, tuple[FailureClass, ...]], ...] = (
    ("wrong data", (FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.CORRUPTED, FailureClass.REORDERED)),
    (
        "no progress",
        (FailureClass.STUCK, FailureClass.DEADLOCKED, FailureClass.HUNG, FailureClass.CRASHED, FailureClass.ORPHANED),
    ),
    ("wrong use", (FailureClass.LEAKED, FailureClass.PROTOCOL)),
)
"""The worst first: a checkpoint or a task that has wrong data goes unnoticed; one that does not go on is noticed."""
_PLACES = {one.value: place for place, one in enumerate(one for _, classes in RANKS for one in classes)}
ORDER = "; then ".join(f"{name} ({', '.join(one.value for one in classes)})" for name, classes in RANKS)
"""The order in words."""


def severity(failure_class: str) -> int:
    """Return the place of a class among all of them, the worst one first. A class of another version comes last."""
    return _PLACES.get(failure_class, len(_PLACES))


def worst_of(failure_classes: Iterable[str]) -> str:
    """Return the worst of some classes."""
    return min(failure_classes, key=severity)
