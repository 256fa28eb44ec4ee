"""How a known bug becomes an implementation."""

from __future__ import annotations

from reference_impl.deque import ReferenceDeque
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.prioritized_deque import PrioritizedDeque
from reference_impl.subpartition import ReferenceSubpartition


def with_subpartition(name: str, part: type[ReferenceSubpartition]) -> Reference:
    """The reference with another subpartition."""
    return type("Mutant", (Reference,), {"subpartition_class": part})(f"known-bug:{name}", PUSHED)


def with_deque(name: str, part: type[PrioritizedDeque[object]]) -> Reference:
    """The reference with another deque."""
    holder = type("MutantDeque", (ReferenceDeque,), {"deque_class": part})
    return type("Mutant", (Reference,), {"deque_class": holder})(f"known-bug:{name}", PUSHED)
