"""All alphabets, by component."""

from __future__ import annotations

from msgspec import Struct

from conformance.alphabets.base import Alphabet
from conformance.alphabets.chain import CHAIN
from conformance.alphabets.deque import DEQUE
from conformance.alphabets.gate import GATE
from conformance.alphabets.local_channel import LOCAL_CHANNEL
from conformance.alphabets.persister import PERSISTER
from conformance.alphabets.recovered_channel import RECOVERED_CHANNEL
from conformance.alphabets.remote_channel import REMOTE_CHANNEL
from conformance.alphabets.subpartition import SUBPARTITION
from conformance.alphabets.union_gate import UNION_GATE
from conformance.scenarios import Step

ALPHABETS: dict[str, Alphabet] = {
    alphabet.component: alphabet
    for alphabet in (
        DEQUE,
        SUBPARTITION,
        PERSISTER,
        REMOTE_CHANNEL,
        GATE,
        UNION_GATE,
        RECOVERED_CHANNEL,
        CHAIN,
        LOCAL_CHANNEL,
    )
}


def alphabet_of(component: str) -> Alphabet:
    """The alphabet of a component. Raises KeyError with a sentence that lists those there are."""
    if component not in ALPHABETS:
        raise KeyError(f"there is no component {component!r}; there are {', '.join(sorted(ALPHABETS))}")
    return ALPHABETS[component]


class _Vocabulary:
    """Reads scenarios by the alphabets."""

    def config_type(self, component: str) -> type[Struct]:
        return alphabet_of(component).config_type

    def complaint(self, component: str, step: Step) -> str | None:
        return alphabet_of(component).complaint(step)


vocabulary = _Vocabulary()
