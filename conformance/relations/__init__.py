"""What must not change what an implementation does, tried with Hypothesis on drawn jobs and drawn state.

`RELATIONS` has the relations of each component that has any; `attempt` tries one.
"""

from collections.abc import Mapping

from conformance.relations import assignment, filter
from conformance.relations.relation import Relation
from conformance.relations.subject import Subject
from conformance.relations.trying import attempt, tested

RELATIONS: Mapping[str, tuple[Relation, ...]] = {
    one.component: tuple(one) for one in (assignment.RELATIONS, filter.RELATIONS)
}
"""By component."""

__all__ = ["RELATIONS", "Relation", "Subject", "attempt", "tested"]
