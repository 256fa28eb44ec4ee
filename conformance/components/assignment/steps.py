"""The steps of state assignment: one thread collects a restore, and asks who gets what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.assignment.ledger import Ledger
from conformance.components.assignment.plan import Channel
from conformance.components.assignment.words import assigned_in_words
from conformance.driver import DISABLED, NO_OPERANDS, Drain, Once, Steps, While, always
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import Answer, Assigned, AssignmentPort
from conformance.ports.key_groups import MOST

ASKED = ("asked",)
COLLECTING = ("collecting",)
LIVE = ("collecting", "asked")
ALWAYS = (*LIVE, "failed")
MOST_HELD = 60
"""Of how many channels a checkpoint of a scenario has state."""

STEPS = Steps[AssignmentPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def free_inputs(ledger: Ledger) -> Sequence[Channel]:
    """Channels of which the checkpoint holds no state."""
    return ledger.plan.free_inputs if ledger.plan.held < MOST_HELD else DISABLED


def free_outputs(ledger: Ledger) -> Sequence[Channel]:
    """Subpartitions of which the checkpoint holds no state."""
    return ledger.plan.free_outputs if ledger.plan.held < MOST_HELD else DISABLED


def other_parallelisms(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Vertices, each with a parallelism that it may get, or the one that it had. Those that a forward edge joins to an
    earlier vertex follow it."""
    plan, leaders = ledger.plan, ledger.plan.graph.leaders
    found = [
        (vertex, one)
        for vertex, wanted in enumerate(plan.wanted)
        if leaders[vertex] == vertex
        for one in (*ledger.config.parallelisms, plan.parallelism[vertex])
        if one != wanted
    ]
    if plan.limits:
        found = [(vertex, one) for vertex, one in found if one <= plan.most(vertex)]
    return [*found, *plan.stragglers()]


def other_limits(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Vertices, each with the maximum parallelism of its state and another one, not below its parallelism; but none
    that can be chained, since vertices that are chained are configured as one."""
    plan = ledger.plan
    return [
        (vertex, limit)
        for vertex, most in enumerate(plan.max_parallelism)
        if vertex not in plan.graph.chainable
        for limit in (most, 2 * most)
        if plan.wanted[plan.graph.leaders[vertex]] <= limit <= MOST and plan.wanted[vertex] <= limit
    ]


def chainable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Edges that can be chained, and are not."""
    plan = ledger.plan
    return [(edge,) for edge in plan.graph.can_be_chained if edge not in plan.chained and edge not in plan.chaining]


def _is_consistent(ledger: Ledger) -> bool:
    """Returns whether vertices that forward edges join have the same parallelism, and the number of key groups of each
    vertex is known."""
    return not (ledger.plan.stragglers() or ledger.plan.misfits())


def assignable(ledger: Ledger) -> Sequence[tuple[()]]:
    """If nothing may be refused."""
    return NO_OPERANDS if _is_consistent(ledger) and not ledger.plan.may_fail_with() else DISABLED


def refusable(ledger: Ledger) -> Sequence[tuple[()]]:
    """If something must be refused."""
    return NO_OPERANDS if _is_consistent(ledger) and ledger.plan.must_fail_with() else DISABLED


def doubtful(ledger: Ledger) -> Sequence[tuple[()]]:
    """If nothing must be refused, and something may be."""
    plan = ledger.plan
    may_fail = _is_consistent(ledger) and plan.may_fail_with() and not plan.must_fail_with()
    return NO_OPERANDS if may_fail else DISABLED


# ---- what the checkpoint holds ---------------------------------------------------------------------------------------
@step("job master", LIVE, when=free_inputs, end=Ledger.hold_input, weight=50)
def hold_input(
    port: AssignmentPort, ledger: Ledger, vertex: int, subtask: int, gate: int, channel: int
) -> Answer[None]:
    return port.hold_input(vertex, subtask, gate, channel)


@step("job master", LIVE, when=free_outputs, end=Ledger.hold_output, weight=40)
def hold_output(
    port: AssignmentPort, ledger: Ledger, vertex: int, subtask: int, partition: int, subpartition: int
) -> Answer[None]:
    return port.hold_output(vertex, subtask, partition, subpartition)


# ---- how the job is changed ------------------------------------------------------------------------------------------
@step("job master", LIVE, when=other_parallelisms, end=Ledger.rescale, weight=24)
def rescale(port: AssignmentPort, ledger: Ledger, vertex: int, parallelism: int) -> Answer[None]:
    return port.rescale(vertex, parallelism)


@step("job master", LIVE, when=other_limits, end=Ledger.limit, weight=2)
def limit(port: AssignmentPort, ledger: Ledger, vertex: int, max_parallelism: int) -> Answer[None]:
    return port.limit(vertex, max_parallelism)


@step("job master", LIVE, when=chainable, end=Ledger.chain, weight=2)
def chain(port: AssignmentPort, ledger: Ledger, edge: int) -> Answer[None]:
    return port.chain(edge)


# ---- who gets what ---------------------------------------------------------------------------------------------------
@step("job master", COLLECTING, when=assignable, learn=Ledger.assign, weight=1, fails=True,
      in_words=assigned_in_words)  # fmt: skip
def assign(port: AssignmentPort, ledger: Ledger) -> Answer[tuple[Assigned, ...]]:
    return port.assign()


assign_refused = assign.also("refused", COLLECTING, when=refusable, learn=Ledger.assign, weight=1, fails=True)
assign_doubtful = assign.also("left open", COLLECTING, when=doubtful, learn=Ledger.assign, weight=1, fails=True)
assign_again = assign.also("again", ASKED, when=always, weight=1, fails=True)

# ---- observers and the driver ----------------------------------------------------------------------------------------
resources = resources_step(STEPS, ALWAYS, weight=1)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restart)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _agree(ledger: Ledger) -> Any:
    if ledger.phase != "collecting":
        return None
    plan = ledger.plan
    for vertex in plan.misfits():
        if plan.wanted[vertex] > plan.max_parallelism[vertex]:
            leader = plan.graph.leaders[vertex]
            at = leader if plan.wanted[leader] != plan.parallelism[leader] else vertex
            return rescale(at, plan.parallelism[at])
        return limit(vertex, plan.max_parallelism[vertex])
    found = plan.stragglers()
    return rescale(*found[0]) if found else None


def _is_over(ledger: Ledger) -> bool:
    return ledger.phase == "failed"


DRAIN = Drain[Ledger](
    While((_agree,)),
    Once((assign(), assign()), unless=_is_over),
    Once((fail(),), unless=_is_over),
    Once((resources(),)),
)
"""Ask twice who gets what was collected, and release."""
