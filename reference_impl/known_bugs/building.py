"""How a known bug becomes an implementation."""

from __future__ import annotations

from typing import Any

from reference_impl.deque import ReferenceDeque
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.prioritized_deque import PrioritizedDeque
from reference_impl.subpartition import ReferenceSubpartition


def with_subpartition(name: str, part: type[ReferenceSubpartition]) -> Reference:
    """The reference with another subpartition."""

    class Mutant(Reference):
        subpartition_class = part

    return Mutant(f"known-bug:{name}", PUSHED)


def with_deque(name: str, part: type[PrioritizedDeque[Any]]) -> Reference:
    """The reference with another deque."""

    class MutantDeque(ReferenceDeque):
        deque_class = part

    class Mutant(Reference):
        deque_class = MutantDeque

    return Mutant(f"known-bug:{name}", PUSHED)
