"""The rules of state assignment. Specification: assignment.md.

They judge what an answer means: who recovers which state, and whether every record then reaches the subtask that its
edge would send it to, once. An engine may let subtasks recover more than they need, and filter.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from conformance.components.assignment import steps
from conformance.components.assignment.answer import Answer, Recovered, content
from conformance.components.assignment.config import Wire
from conformance.components.assignment.ledger import Ledger
from conformance.components.assignment.plan import Plan, can_be_filtered
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models.words import got, many
from conformance.ports import Assigned, EdgeKind, Error, ErrorKind, InputHandle, RescaleMapping

RULES = Rules[Ledger]("assignment", answers_property("assignment"))
rule = RULES.rule
Asked = Seen[tuple[Assigned, ...]]
ASSIGNED = steps.assign, steps.assign_doubtful
"""The cases in which state is assigned."""
ANSWERED = Ledger.is_answered


# ---- in words --------------------------------------------------------------------------------------------------------
def _vertex(plan: Plan, vertex: int) -> str:
    names = plan.graph.names
    return f"vertex {vertex} ({names[vertex]})" if 0 <= vertex < len(names) else f"vertex {vertex}"


def _subtask(plan: Plan, vertex: int, subtask: int) -> str:
    return f"subtask {subtask} of {_vertex(plan, vertex)}"


def _edge(plan: Plan, wire: Wire) -> str:
    return f"{wire.kind} edge {wire.number} from {_vertex(plan, wire.producer)} to {_vertex(plan, wire.consumer)}"


def _numbers(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none"


def _subtasks(numbers: Collection[int]) -> str:
    return f"new subtask{'s' if len(numbers) > 1 else ''} {_numbers(numbers)}" if numbers else "no new subtask"


def _state(plan: Plan, one: Recovered) -> str:
    wire, (old, number) = one.wire, one.key
    if one.place == "outputs":
        where = f"subpartition {number} of partition {wire.partition} of old {_subtask(plan, wire.producer, old)}"
        return f"the state of {where}"
    where = f"gate {wire.gate} of old {_subtask(plan, wire.consumer, old)}"
    if one.place == "inputs":
        return f"the state of channel {number} of {where}"
    return f"the output state of old {_subtask(plan, wire.producer, number)} for {where}"


# ---- what is refused -------------------------------------------------------------------------------------------------
def _refused(plan: Plan, error: Error | None, kind: ErrorKind, why: str) -> Judgement:
    """Judges whether the question was refused, with an error of this kind or of another one that is due as well."""
    if error is not None and error.kind in plan.may_fail_with():
        return True
    return Broken(FailureClass.PROTOCOL, f"{why}: the assignment must fail with an error of kind {kind}", got(error))


@rule(steps.assign_refused, invariant="I-83", tickets=("FLINK-22815",), after_learning=True)
def state_of_an_edge_that_cannot_be_rescaled_is_refused(ledger: Ledger, seen: Asked) -> Judgement:
    """If a broadcast or pointwise edge has state, and a vertex of it is rescaled, the assignment fails with an error of
    kind state."""
    plan = ledger.question
    found = plan.cannot_be_rescaled()
    if not found:
        return False
    return _refused(plan, seen.error, ErrorKind.STATE, f"{_edge(plan, found[0])} has state and cannot be rescaled")


@rule(steps.assign_refused, invariant="I-83", after_learning=True)
def state_of_an_edge_that_is_chained_is_refused(ledger: Ledger, seen: Asked) -> Judgement:
    """If an edge has state, and its consumer is chained to its producer now, the assignment fails with an error of kind
    state."""
    plan = ledger.question
    found = plan.lost_edges()
    if not found:
        return False
    return _refused(plan, seen.error, ErrorKind.STATE, f"{_edge(plan, found[0])} has state and is chained now")


@rule(steps.assign_refused, invariant="I-12", after_learning=True)
def a_vertex_keeps_the_key_groups_of_its_state(ledger: Ledger, seen: Asked) -> Judgement:
    """If a vertex with state has more subtasks than its state has key groups, or another maximum parallelism is
    configured, the assignment fails with an error of kind config."""
    plan = ledger.question
    for vertex, why in plan.refused_vertices():
        return _refused(plan, seen.error, ErrorKind.CONFIG, f"{_vertex(plan, vertex)} {why}")
    return False


@rule(*ASSIGNED, invariant="I-83", tickets=("FLINK-38267", "FLINK-38483", "FLINK-37870"), after_learning=True)
def an_edge_without_state_does_not_stop_the_others(ledger: Ledger, seen: Asked) -> Judgement:
    """The assignment succeeds whatever is rescaled, unless state of an edge cannot be rescaled, or the maximum
    parallelism of a vertex does not fit."""
    if seen.error is None:
        return ledger.question.held > 0
    if seen.error.kind in ledger.question.may_fail_with():
        return False
    return Broken(FailureClass.PROTOCOL, "all state of the job can be assigned", got(seen.error))


# ---- whom the answer is for ------------------------------------------------------------------------------------------
@rule(*ASSIGNED, invariant="I-12", after_learning=True, given=ANSWERED)
def each_new_subtask_is_assigned_its_state_once(ledger: Ledger, seen: Asked) -> Judgement:
    """Each new subtask is assigned once what it recovers, and no other subtask is. The new subtasks are those of the
    job as it is restored, also after an earlier restore."""
    answer = ledger.assigned
    for one, why in answer.strays:
        where = _subtask(answer.plan, one.vertex, one.subtask)
        owed = (
            f"the job has {many(answer.plan.wanted[one.vertex], 'subtask')} of vertex {one.vertex}"
            if (0 <= one.vertex < len(answer.plan.wanted))
            else f"the job has {len(answer.plan.wanted)} vertices"
        )
        return Broken(
            FailureClass.CORRUPTED, f"{owed}, and each is assigned its state once", f"{where} was assigned state, {why}"
        )
    return bool(seen.value)


@rule(*ASSIGNED, invariant="I-77", tickets=("FLINK-31963",), after_learning=True, given=ANSWERED)
def a_vertex_without_state_of_its_own_takes_part(ledger: Ledger, seen: Asked) -> Judgement:
    """If there is state of an edge, at whichever end, all new subtasks of both its vertices are assigned what they
    recover and what is mapped."""
    answer = ledger.assigned
    plan = answer.plan
    for vertex in plan.vertices_with_state():
        if None in answer.of[vertex]:
            missing = [new for new, one in enumerate(answer.of[vertex]) if one is None]
            owed = f"there is state at an edge of {_vertex(plan, vertex)}, so each subtask of it must be assigned"
            return Broken(FailureClass.LOST, owed, f"nothing is said of {_subtasks(missing)}")
    return plan.held > 0


# ---- what is mapped --------------------------------------------------------------------------------------------------
@rule(*ASSIGNED, invariant="I-12", after_learning=True, given=ANSWERED)
def a_mapping_names_subtasks_and_channels_that_are_there(ledger: Ledger, seen: Asked) -> Judgement:
    """A mapping names old subtasks of its vertex, each once; as ambiguous, some of those; and for each new subtask at
    the other end of the edge a channel. Each old channel of a gate goes on in exactly one of them, so that a gate whose
    producers are fewer than before needs a mapping."""
    answer = ledger.assigned
    plan, graph = answer.plan, answer.plan.graph
    looked = False
    for one in answer.mapped:
        vertex = one.vertex
        for word, edges, mappings in ("gate", graph.gates, one.gates), ("partition", graph.partitions, one.partitions):
            if not mappings:
                continue
            if len(mappings) != len(edges[vertex]):
                owed = f"{_vertex(plan, vertex)} has {many(len(edges[vertex]), word)}, each with a mapping or none"
                return Broken(
                    FailureClass.CORRUPTED, owed, f"{_subtask(plan, vertex, one.subtask)} has {len(mappings)}"
                )
            for place, mapping in enumerate(mappings):
                if mapping is None:
                    continue
                looked = True
                if wrong := _misshapen(plan, graph.wires[edges[vertex][place]], word == "gate", mapping):
                    where = f"the mapping of {word} {place} of {_subtask(plan, vertex, one.subtask)}"
                    return Broken(FailureClass.CORRUPTED, f"{where} must name {wrong[0]}", f"it names {wrong[1]}")
    for wire in plan.with_state:
        before, now = plan.parallelism[wire.producer], plan.wanted[wire.producer]
        if now < before and not answer.consumers[wire.number].is_given:
            owed = f"{_edge(plan, wire)} has fewer producers than before, so each old channel must go on in another one"
            return Broken(FailureClass.LOST, owed, f"gate {wire.gate} of {_vertex(plan, wire.consumer)} is not mapped")
    return looked


def _misshapen(plan: Plan, wire: Wire, is_gate: bool, mapping: RescaleMapping) -> tuple[str, str] | None:
    """Returns what a mapping must name and what it names instead, or None if it can be right."""
    own, other = (wire.consumer, wire.producer) if is_gate else (wire.producer, wire.consumer)
    olds = mapping.old_subtasks
    if len(set(olds)) != len(olds) or not all(0 <= old < plan.parallelism[own] for old in olds):
        return f"old subtasks below {plan.parallelism[own]}, each once", _numbers(olds)
    if len(set(mapping.ambiguous)) != len(mapping.ambiguous) or not set(mapping.ambiguous) <= set(olds):
        return f"as ambiguous some of its old subtasks {_numbers(olds)}", _numbers(mapping.ambiguous)
    if not olds or wire.kind.is_pointwise:
        return None
    return _misshapen_channels(mapping.channels, is_gate, plan.parallelism[other], plan.wanted[other])


@lru_cache(maxsize=64)
def _misshapen_channels(
    channels: tuple[tuple[int, ...], ...], is_gate: bool, old: int, new: int
) -> tuple[str, str] | None:
    if len(channels) != new:
        return many(new, "channel"), str(len(channels))
    before = sorted([one for channel in channels for one in channel])
    if is_gate and before != list(range(old)):
        return f"each old channel below {old} once", _numbers(before)
    return None


@rule(*ASSIGNED, invariant="I-83", tickets=("FLINK-38267", "FLINK-38483"), after_learning=True, given=ANSWERED)
def an_edge_without_state_is_not_mapped(ledger: Ledger, seen: Asked) -> Judgement:
    """Through a gate or a partition whose edge has no state, nothing is recovered, and it names no old subtask, also if
    other gates are mapped."""
    answer = ledger.assigned
    plan, graph = answer.plan, answer.plan.graph
    looked = False
    for one in answer.mapped:
        for word, edges, mappings in ("gate", graph.gates, one.gates), ("partition", graph.partitions, one.partitions):
            for place, mapping in enumerate(mappings):
                wire = graph.wires[edges[one.vertex][place]]
                if plan.has_state(wire):
                    continue
                looked = True
                if mapping is not None and mapping.old_subtasks:
                    owed = f"there is no state of {_edge(plan, wire)}, so nothing may be mapped"
                    where = f"{word} {place} of {_subtask(plan, one.vertex, one.subtask)}"
                    return Broken(
                        FailureClass.CORRUPTED, owed, f"{where} names old subtasks {_numbers(mapping.old_subtasks)}"
                    )
    return looked


@rule(*ASSIGNED, invariant="I-12", after_learning=True, given=ANSWERED)
def nothing_is_mapped_where_nothing_is_rescaled(ledger: Ledger, seen: Asked) -> Judgement:
    """If neither the consumer of an edge nor any producer of that is rescaled, each subtask recovers, at both ends of
    the edge, what the old subtask with its number had, in the same channels, and filters nothing; unless the consumer
    is behind a user's partitioner, which may send its records anywhere."""
    answer = ledger.assigned
    plan, graph = answer.plan, answer.plan.graph
    looked = False
    for wire in plan.with_state:
        beside = [graph.wires[edge] for edge in graph.gates[wire.consumer]]
        near = wire.consumer, *[one.producer for one in beside]
        if any(map(plan.is_rescaled, near)) or any(one.kind is EdgeKind.CUSTOM for one in beside):
            continue
        looked = True
        for ends, vertex in (
            (answer.consumers[wire.number], wire.consumer),
            (answer.producers[wire.number], wire.producer),
        ):
            for new, one in enumerate(ends.mappings if ends.is_given else ()):
                if not _is_same(one, new, wire.kind.is_pointwise):
                    owed = f"nothing at {_edge(plan, wire)} is rescaled, so nothing may be mapped"
                    return Broken(FailureClass.CORRUPTED, owed, f"{_subtask(plan, vertex, new)} {_recovers(one)}")
    return looked


def _is_same(one: RescaleMapping | None, new: int, is_pointwise: bool) -> bool:
    return (
        one is not None
        and one.old_subtasks == (new,)
        and not one.ambiguous
        and (is_pointwise or all(channel == (at,) for at, channel in enumerate(one.channels)))
    )


def _recovers(one: RescaleMapping | None) -> str:
    if one is None:
        return "recovers nothing there"
    text = f"recovers from old subtasks {_numbers(one.old_subtasks)}"
    return f"{text}, and filters {_numbers(one.ambiguous)}" if one.ambiguous else text


# ---- who recovers what -----------------------------------------------------------------------------------------------
@rule(*ASSIGNED, invariant="I-84", tickets=("FLINK-22686",), after_learning=True, given=ANSWERED)
def state_goes_to_the_gate_of_its_edge(ledger: Ledger, seen: Asked) -> Judgement:
    """A subtask recovers state of no gate or partition but that of which the checkpoint has it, also if two edges join
    the same vertices."""
    answer = ledger.assigned
    for one, handle in answer.unheld:
        what = (
            f"channel {handle.old_channel} of gate {handle.gate}"
            if isinstance(handle, InputHandle)
            else f"subpartition {handle.old_subpartition} of partition {handle.partition}"
        )
        owed = f"the checkpoint has no state of {what} of old {_subtask(answer.plan, one.vertex, handle.old_subtask)}"
        return Broken(FailureClass.CORRUPTED, owed, f"subtask {one.subtask} recovers it")
    return answer.plan.held > 0


@rule(*ASSIGNED, invariant="I-85", after_learning=True, given=ANSWERED)
def output_state_is_recovered_at_one_end(ledger: Ledger, seen: Asked) -> Judgement:
    """If output state is recovered downstream, its producers recover none of it; otherwise, its consumers recover
    none."""
    answer = ledger.assigned
    if not answer.plan.outputs:
        return False
    for one in answer.misplaced:
        owed = f"{_state(answer.plan, one)} must be recovered at the other end of its edge"
        return Broken(FailureClass.DUPLICATED, owed, f"{_subtasks(one.takers)} recovers it here")
    return True


@rule(*ASSIGNED, invariant="I-77", after_learning=True, given=ANSWERED)
def all_state_is_recovered(ledger: Ledger, seen: Asked) -> Judgement:
    """All state of the checkpoint is recovered by at least one new subtask."""
    answer = ledger.assigned
    for one in answer.suspect:
        if not one.takers:
            owed = f"{_state(answer.plan, one)} must be recovered"
            return Broken(FailureClass.LOST, owed, "nobody recovers it")
    return answer.plan.held > 0


@rule(*ASSIGNED, invariant="I-77", after_learning=True, given=ANSWERED)
def what_several_recover_is_ambiguous_for_all(ledger: Ledger, seen: Asked) -> Judgement:
    """If several new subtasks recover the same state, its old subtask is ambiguous for each of them, so that each
    record is kept by one. Nobody recovers it twice."""
    answer = ledger.assigned
    for one in answer.shared:
        takers = one.takers
        if len(set(takers)) < len(takers):
            owed = f"{_state(answer.plan, one)} must be recovered once by each of {_subtasks(set(takers))}"
            twice = [new for new in takers if takers.count(new) > 1]
            return Broken(FailureClass.DUPLICATED, owed, f"it is recovered by {_numbers(twice)} more than once")
        for new in takers:
            mapping = one.ends.mappings[new]
            if mapping is None or one.key[0] not in mapping.ambiguous:
                owed = f"{_subtasks(takers)} recover {_state(answer.plan, one)}, so each must filter it"
                return Broken(FailureClass.DUPLICATED, owed, f"for new subtask {new}, it is not ambiguous")
    return bool(answer.shared)


@rule(*ASSIGNED, invariant="I-12", tickets=("FLINK-35351",), after_learning=True, given=ANSWERED)
def only_what_can_be_filtered_is_ambiguous(ledger: Ledger, seen: Asked) -> Judgement:
    """State is ambiguous only at a consumer, and only on an edge whose partitioner says again where it sent a record:
    by key, to the first subtask, or as the user says; not on one that sends records in turn or by chance."""
    answer = ledger.assigned
    plan = answer.plan
    looked = False
    for wire in plan.with_state:
        for ends, word, vertex in (
            (answer.consumers[wire.number], "gate", wire.consumer),
            (answer.producers[wire.number], "partition", wire.producer),
        ):
            if word == "gate" and can_be_filtered(wire.kind):
                continue
            looked = True
            for new, one in enumerate(ends.mappings):
                if one is not None and one.ambiguous:
                    owed = f"records of {_edge(plan, wire)} cannot be filtered at its {word}"
                    what = f"for {_subtask(plan, vertex, new)}, old subtasks {_numbers(one.ambiguous)} are ambiguous"
                    return Broken(FailureClass.CORRUPTED, owed, what)
    return looked


@rule(*ASSIGNED, invariant="I-77", after_learning=True, given=ANSWERED)
def a_subtask_recovers_the_state_of_its_old_subtasks(ledger: Ledger, seen: Asked) -> Judgement:
    """A new subtask recovers, through a gate or partition, all state of those old subtasks that its mapping names, and
    nothing of others, so that it knows where what it reads belongs."""
    answer = ledger.assigned
    for one in answer.suspect:
        takers, mapped = one.takers, one.ends.recoverers[one.key[0]]
        if missing := set(mapped) - set(takers):
            owed = f"the mapping lets {_subtasks(mapped)} recover {_state(answer.plan, one)}"
            return Broken(FailureClass.LOST, owed, f"{_subtasks(missing)} does not")
        if unknown := set(takers) - set(mapped):
            owed = f"the mapping of {_subtasks(unknown)} does not name old subtask {one.key[0]}"
            return Broken(FailureClass.CORRUPTED, owed, f"it recovers {_state(answer.plan, one)}")
    return answer.plan.held > 0


# ---- where the records of an edge go ---------------------------------------------------------------------------------
def _of_kind(answer: Answer, *kinds: EdgeKind) -> list[Wire]:
    return [wire for wire in answer.plan.with_state if wire.kind in kinds]


@rule(*ASSIGNED, invariant="I-12", after_learning=True, given=ANSWERED)
def a_subtask_processes_no_keys_of_another(ledger: Ledger, seen: Asked) -> Judgement:
    """On a keyed edge, an old subtask that is not ambiguous for a new one had no key group that another new subtask
    owns now."""
    answer = ledger.assigned
    plan = answer.plan
    looked = False
    for wire in _of_kind(answer, EdgeKind.HASH):
        looked = True
        owners = plan.owners(wire.consumer)
        for new, one in enumerate(answer.consumers[wire.number].mappings):
            if one is None:
                continue
            for old in one.old_subtasks:
                if owners[old] != (new,) and old not in one.ambiguous:
                    before, now = _subtask(plan, wire.consumer, old), _subtasks(owners[old])
                    owed = f"the key groups of old {before} belong to {now} now"
                    return Broken(FailureClass.REORDERED, owed, f"new subtask {new} recovers it and filters nothing")
    return looked


@rule(*ASSIGNED, invariant="I-12", tickets=("FLINK-22686",), after_learning=True, given=ANSWERED)
def the_new_owner_of_a_key_recovers_from_the_old_one(ledger: Ledger, seen: Asked) -> Judgement:
    """On a keyed edge with state, for each key group, the subtask that owns it now recovers from the one that owned
    it."""
    answer = ledger.assigned
    plan = answer.plan
    looked = False
    for wire in _of_kind(answer, EdgeKind.HASH):
        looked = True
        recoverers = answer.consumers[wire.number].recoverers
        for old, owners in enumerate(plan.owners(wire.consumer)):
            for new in owners:
                if new not in recoverers[old]:
                    before = _subtask(plan, wire.consumer, old)
                    owed = f"new subtask {new} owns key groups of old {before}, and must recover"
                    return Broken(
                        FailureClass.LOST, f"{owed} through gate {wire.gate}", f"{_subtasks(recoverers[old])} does"
                    )
    return looked


@rule(*ASSIGNED, invariant="I-12", tickets=("FLINK-35351",), after_learning=True, given=ANSWERED)
def records_reach_the_subtask_that_the_partitioner_selects(ledger: Ledger, seen: Asked) -> Judgement:
    """State of an edge whose records all go to the first subtask is recovered there. State of an edge with a user's
    partitioner, which may select any subtask, is recovered by all of them, unless its vertex is not rescaled and one
    subtask recovers it."""
    answer = ledger.assigned
    plan = answer.plan
    looked = False
    for wire in _of_kind(answer, EdgeKind.GLOBAL, EdgeKind.CUSTOM):
        rescaled, ends = plan.is_rescaled(wire.consumer), answer.consumers[wire.number]
        for old, recoverers in enumerate(ends.recoverers):
            if wire.kind is EdgeKind.GLOBAL:
                wanted = range(0 if old else 1)
            else:
                wanted = range(plan.wanted[wire.consumer] if rescaled or len(recoverers) > 1 else 0)
            for new in wanted:
                looked = True
                if new not in recoverers:
                    owed = f"records of {_edge(plan, wire)} may belong to new subtask {new}, so it must recover"
                    return Broken(FailureClass.LOST, f"{owed} from old subtask {old}", f"{_subtasks(recoverers)} does")
    return looked


@rule(*ASSIGNED, invariant="I-77", tickets=("FLINK-22686",), after_learning=True, given=ANSWERED)
def both_ends_of_an_edge_agree(ledger: Ledger, seen: Asked) -> Judgement:
    """A new channel of a consumer continues the channels of those old producers from which its new producer recovers,
    and a new subpartition those of the old consumers from which its new consumer recovers. Where producers recover
    nothing, they need no mapping; and of a global edge, only the first consumer has records."""
    answer = ledger.assigned
    plan = answer.plan
    looked = False
    for wire in plan.with_state:
        if wire.kind.is_pointwise:
            continue
        needed = wire.number in plan.outputs and not ledger.config.output_on_downstream
        consumers, producers = answer.consumers[wire.number], answer.producers[wire.number]
        for at, partition in enumerate(producers.mappings):
            if not needed and (partition is None or not producers.is_given):
                continue
            for new, gate in enumerate(consumers.mappings):
                if new and wire.kind is EdgeKind.GLOBAL:
                    break  # no record reaches it, so that it has no state
                looked = True
                if wrong := _disagreement(partition, gate, at, new):
                    names = _subtask(plan, wire.producer, at), _subtask(plan, wire.consumer, new)
                    owner, other = names if wrong[0] else reversed(names)
                    owed = f"at {_edge(plan, wire)}, {owner} recovers from old subtasks {_numbers(wrong[1])}"
                    what = f"for {other}, its channel continues those of old subtasks {_numbers(wrong[2])}"
                    return Broken(FailureClass.CORRUPTED, owed, what)
    return looked


def _disagreement(
    partition: RescaleMapping | None, gate: RescaleMapping | None, producer: int, consumer: int
) -> tuple[bool, tuple[int, ...], tuple[int, ...]] | None:
    """Returns whether it is about the producer, from which old subtasks that recovers, and what the other says."""
    mine, theirs = (() if one is None else one.old_subtasks for one in (partition, gate))
    if gate is not None and set(gate.channels[producer]) != set(mine):
        return True, mine, gate.channels[producer]
    if partition is not None and set(partition.channels[consumer]) != set(theirs):
        return False, theirs, partition.channels[consumer]
    return None


# ---- the same question -----------------------------------------------------------------------------------------------
@rule(steps.assign_again, invariant="I-99")
def the_same_question_has_the_same_answer(ledger: Ledger, seen: Asked) -> Judgement:
    """If the same is asked again, the same subtasks recover the same state, and the same is mapped. If the question was
    refused, it is refused again, with an error of a kind that is due."""
    if seen.error is not None or ledger.value is None:
        due = {ledger.failed_with, *ledger.question.may_fail_with()}
        if ledger.value is None and seen.error is not None and seen.error.kind in due:
            return True
        first = "succeeded" if ledger.failed_with is None else f"failed with an error of kind {ledger.failed_with}"
        return Broken(FailureClass.PROTOCOL, f"the same question {first} before", got(seen.error))
    if seen.value == ledger.value:
        return True
    before, now = content(ledger.value), content(seen.value)
    if before == now and len(seen.value) == len(ledger.value):
        return True
    different = sorted(at for at in before.keys() | now.keys() if before.get(at) != now.get(at))
    if not different:
        return Broken(
            FailureClass.DUPLICATED,
            f"{many(len(ledger.value), 'subtask')} had an answer",
            f"{len(seen.value)} have one now",
        )
    return Broken(
        FailureClass.PROTOCOL,
        f"the same question has the same answer for {_subtask(ledger.question, *different[0])}",
        "it was assigned something else this time",
    )
