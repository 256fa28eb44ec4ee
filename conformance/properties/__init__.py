"""The judges: ledgers that know what is owed, and named properties that compare it with what was seen.

`CATALOGUE` lists every property of every component.
"""

from conformance.properties import (
    chain,
    deque,
    gate,
    local_channel,
    persister,
    recovered_channel,
    remote_channel,
    subpartition,
    union_gate,
)
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
    "chain": chain.PROPERTIES,
    "deque": deque.PROPERTIES,
    "gate": gate.PROPERTIES,
    "subpartition": subpartition.PROPERTIES,
    "local-channel": local_channel.PROPERTIES,
    "persister": persister.PROPERTIES,
    "recovered-channel": recovered_channel.PROPERTIES,
    "remote-channel": remote_channel.PROPERTIES,
    "union-gate": union_gate.PROPERTIES,
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
