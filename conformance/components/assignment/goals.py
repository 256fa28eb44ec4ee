"""Situations that a campaign must have seen in state assignment."""

from __future__ import annotations

from conformance.components.assignment import steps
from conformance.components.assignment.ledger import Ledger
from conformance.components.assignment.plan import Plan
from conformance.driver import Rules, Seen
from conformance.models.designs import NOTHING
from conformance.ports import Assigned, Capability, EdgeKind

RULES = Rules[Ledger]("assignment")
goal = RULES.goal
Asked = Seen[tuple[Assigned, ...]]
FORCED = frozenset({Capability.RESCALES_FORCED_EDGES})
_SUPPORTED = (EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.SHUFFLE, EdgeKind.GLOBAL, EdgeKind.CUSTOM)


def _moves(plan: Plan, kind: EdgeKind, old: int = 0, new: int = 0) -> bool:
    """Returns whether the consumer of an edge with state is rescaled, between these parallelisms if they are given."""
    return any(
        wire.kind is kind
        and plan.is_rescaled(wire.consumer)
        and (not old or (plan.parallelism[wire.consumer], plan.wanted[wire.consumer]) == (old, new))
        for wire in plan.with_state
    )


for _kind in _SUPPORTED:
    RULES.sight(
        f"the-state-of-an-edge-that-is-{_kind}-was-assigned-anew",
        f"The consumer of an edge of kind {_kind} was rescaled, and there was state of the edge.",
        steps.assign,
        lambda ledger, seen, kind=_kind: seen.error is None and _moves(ledger.plan, kind),  # type: ignore[misc]
        needs=FORCED if _kind is EdgeKind.CUSTOM else NOTHING,
    )


@goal(steps.assign)
def seven_subtasks_became_two(ledger: Ledger, seen: Asked) -> bool:
    """The state of seven subtasks behind a keyed edge was assigned to two, of an old subtask to both of them."""
    plan = ledger.plan
    return seen.error is None and any(
        wire.kind is EdgeKind.HASH
        and (plan.parallelism[wire.consumer], plan.wanted[wire.consumer]) == (7, 2)
        and 3 in plan.inputs.get(wire.number, ())
        for wire in plan.with_state
    )


@goal(steps.assign)
def two_subtasks_became_seven(ledger: Ledger, seen: Asked) -> bool:
    """The state of two subtasks behind a keyed edge was assigned to seven."""
    return seen.error is None and _moves(ledger.plan, EdgeKind.HASH, 2, 7)


@goal(steps.assign)
def only_the_producer_was_rescaled(ledger: Ledger, seen: Asked) -> bool:
    """The producer of a keyed edge with state was rescaled, and its consumer was not."""
    plan = ledger.plan
    return seen.error is None and any(
        wire.kind is EdgeKind.HASH and plan.is_rescaled(wire.producer) and not plan.is_rescaled(wire.consumer)
        for wire in plan.with_state
    )


@goal(steps.assign)
def nothing_was_rescaled(ledger: Ledger, seen: Asked) -> bool:
    """State was assigned, and no vertex was rescaled."""
    plan = ledger.plan
    return plan.held > 1 and not any(map(plan.is_rescaled, range(len(plan.wanted))))


@goal(steps.assign)
def both_of_two_edges_between_the_same_vertices_had_state(ledger: Ledger, seen: Asked) -> bool:
    """Two edges between the same vertices had state, and a vertex of them was rescaled."""
    plan = ledger.plan
    found = [(wire.producer, wire.consumer) for wire in plan.with_state]
    return seen.error is None and any(
        found.count(both) > 1 and (plan.is_rescaled(both[0]) or plan.is_rescaled(both[1])) for both in found
    )


@goal(steps.assign)
def an_edge_that_cannot_be_rescaled_stood_beside_one_with_state(ledger: Ledger, seen: Asked) -> bool:
    """A vertex that was rescaled had a broadcast or pointwise edge without state, and another edge with state."""
    plan = ledger.plan
    with_state = plan.with_state
    return any(
        wire.is_unsupported
        and not plan.has_state(wire)
        and plan.is_rescaled(wire.producer)
        and any(one.producer == wire.producer for one in with_state)
        for wire in plan.graph.wires
    )


@goal(steps.assign, steps.assign_doubtful)
def state_of_an_edge_that_cannot_be_rescaled_stayed(ledger: Ledger, seen: Asked) -> bool:
    """A broadcast or pointwise edge had state, and the assignment succeeded, since nothing beside it was rescaled."""
    return seen.error is None and any(wire.is_unsupported for wire in ledger.plan.with_state)


@goal(steps.assign, needs=FORCED)
def a_users_partitioner_stayed_while_its_producer_was_rescaled(ledger: Ledger, seen: Asked) -> bool:
    """The producer of a custom edge with state was rescaled. Its consumer was not, and had state of another gate."""
    plan = ledger.plan
    with_state = plan.with_state
    return seen.error is None and any(
        wire.kind is EdgeKind.CUSTOM
        and plan.is_rescaled(wire.producer)
        and not plan.is_rescaled(wire.consumer)
        and any(one.consumer == wire.consumer and one is not wire for one in with_state)
        for wire in with_state
    )


@goal(steps.assign)
def only_one_end_of_an_edge_had_state(ledger: Ledger, seen: Asked) -> bool:
    """An edge had output state and no input state, and its consumer, which has no other state, was rescaled."""
    plan = ledger.plan
    return seen.error is None and any(
        plan.is_rescaled(wire.consumer)
        and wire.number in plan.outputs
        and not any(edge in plan.inputs for edge in plan.graph.gates[wire.consumer])
        for wire in plan.with_state
    )


@goal(steps.assign)
def a_maximum_parallelism_was_configured_and_fits(ledger: Ledger, seen: Asked) -> bool:
    """The maximum parallelism of a vertex with state was configured, and is that of its state."""
    plan = ledger.plan
    return seen.error is None and any(vertex in plan.limits for vertex in plan.vertices_with_state())


@goal(steps.assign)
def a_job_was_restored_for_the_third_time(ledger: Ledger, seen: Asked) -> bool:
    """A job that had been restored twice was rescaled once more, and had state."""
    return (
        ledger.restores > 1 and seen.error is None and any(map(ledger.plan.is_rescaled, range(len(ledger.plan.wanted))))
    )


@goal(steps.assign)
def a_restore_succeeded_after_one_that_was_refused(ledger: Ledger, seen: Asked) -> bool:
    """State was assigned although the assignment before had failed."""
    return ledger.failed_with is not None and seen.error is None and ledger.plan.held > 0


@goal(steps.assign)
def many_subtasks_were_rescaled(ledger: Ledger, seen: Asked) -> bool:
    """The state of more than 200 subtasks behind a keyed edge was assigned anew, whose maximum parallelism is no power
    of two."""
    plan = ledger.plan
    return seen.error is None and any(
        wire.kind is EdgeKind.HASH
        and plan.is_rescaled(wire.consumer)
        and plan.parallelism[wire.consumer] > 200
        and plan.max_parallelism[wire.consumer].bit_count() > 1
        for wire in plan.with_state
    )


@goal(steps.assign_again)
def a_refused_question_was_asked_again(ledger: Ledger, seen: Asked) -> bool:
    """A question that was refused was asked again."""
    return ledger.failed_with is not None
