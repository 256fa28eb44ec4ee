"""The judges: ledgers that know what is owed, and named properties that compare it with what was seen.

`CATALOGUE` lists every property of every component.
"""

from conformance.properties import deque, subpartition
from conformance.properties.base import (
    ANSWERS,
    COMES_TO_AN_END,
    NO_CIRCLE,
    ONE_ORDER,
    Broken,
    FailureClass,
    Judgement,
    Kind,
    Level,
    Property,
    Seen,
    Verdict,
)

CATALOGUE: dict[str, tuple[Property, ...]] = {
    "deque": deque.PROPERTIES,
    "subpartition": subpartition.PROPERTIES,
}

__all__ = [
    "ANSWERS",
    "CATALOGUE",
    "COMES_TO_AN_END",
    "NO_CIRCLE",
    "ONE_ORDER",
    "Broken",
    "FailureClass",
    "Judgement",
    "Kind",
    "Level",
    "Property",
    "Seen",
    "Verdict",
]
