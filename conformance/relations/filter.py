"""The relations of a filter: recoveries of drawn state are compared with each other. Specification: filter.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple, TypeAlias

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from conformance.components.filter.state import selects
from conformance.ports import Capability, EdgeKind, FilterConfig, Recovery, Virtual
from conformance.ports.filter import LEAST_PAGE
from conformance.ports.framing import Record, Recovered, Status, Unreadable, Watermark, size_of
from conformance.relations.relation import Claims, Examples, Relations, broken, same
from conformance.relations.restoring import Found, Restoring
from conformance.relations.subject import Subject
from strategies import RescalePlan, chunkings, elements, records, recovered_gate, rescale_plans, sizes, virtual_states

FILTERS = frozenset({Capability.FILTERS_RECORDS})
_DESIGNS = {
    Capability.RECOVERS_IN_MEMORY: Recovery.IN_MEMORY,
    Capability.RECOVERS_BY_PUSHING: Recovery.PUSHED,
    Capability.RECOVERS_FIRST: Recovery.RECOVER_FIRST,
}
RELATIONS = Relations("filter", frozenset(_DESIGNS))
relation = RELATIONS.relation
_BY_KEY = (EdgeKind.HASH,)
_SAME_EVERYWHERE = (EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.GLOBAL)
"""The edges that send a record to the same subtask whatever was sent before it."""
_EVERY = (*[EdgeKind.HASH, EdgeKind.CUSTOM] * 2, EdgeKind.REBALANCE, EdgeKind.GLOBAL)
"""Those that filter are drawn more often."""
_MOST_OF_A_RECORD = 64
"""Up to so many bytes, most records are short. Some have more than a page all the same."""
_FEW = 4
Reads: TypeAlias = tuple[tuple[int, int], ...]
"""Virtual channels, and how many bytes are read next."""
State: TypeAlias = tuple[Virtual, ...]
Place: TypeAlias = tuple[int, int]
"""An old subtask and an old channel; or a new subtask and a new channel."""


# ---- the examples ----------------------------------------------------------------------------------------------------
class Restored(NamedTuple):
    """A subtask that restores, with its state, and in which pieces and in which order it is read."""

    recovery: Recovery
    plan: RescalePlan
    subtask: int
    kind: EdgeKind
    state: State
    reads: Reads


class Job(NamedTuple):
    """All subtasks of a vertex that restore, and the state of all old subtasks."""

    recovery: Recovery
    plan: RescalePlan
    kind: EdgeKind
    state: State


def _stages(state: Iterable[Virtual]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yields by stage the virtual channels, and how many bytes they have there."""
    sizes_of = [(number, one.input_bytes, sum(map(size_of, one.elements))) for number, one in enumerate(state)]
    yield tuple((number, before) for number, before, _ in sizes_of)
    yield tuple((number, total - before) for number, before, total in sizes_of)


def one_after_the_other(state: Iterable[Virtual], page: int = LEAST_PAGE) -> Reads:
    """Returns the reads of each virtual channel by itself, in whole pages."""
    return tuple(
        (number, min(page, size - at))
        for stage in _stages(state)
        for number, size in stage
        for at in range(0, size, page)
    )


def reads(state: State, page: int = LEAST_PAGE) -> SearchStrategy[Reads]:
    """Draws chunks of virtual channels that alternate in any way, those of output state last."""
    return st.tuples(*(_of_a_stage(stage, page) for stage in _stages(state))).map(lambda both: (*both[0], *both[1]))


def _of_a_stage(stage: tuple[tuple[int, int], ...], page: int) -> SearchStrategy[Reads]:
    cut = st.tuples(*(chunkings(size, page, most=_FEW) for _, size in stage))
    return st.tuples(cut, st.lists(st.integers(0, 6), max_size=12)).map(lambda one: _alternating(stage, *one))


def _alternating(stage: tuple[tuple[int, int], ...], cut: tuple[tuple[int, ...], ...], picks: list[int]) -> Reads:
    """Returns the chunks of the virtual channels that are picked, and then what is left."""
    left = {number: list(lengths) for (number, _), lengths in zip(stage, cut, strict=True) if lengths}
    found: list[tuple[int, int]] = []
    for pick in chain(picks, iter(lambda: 0, 1)):
        if not left:
            break
        number = list(left)[pick % len(left)]
        found.append((number, left[number].pop(0)))
        if not left[number]:
            del left[number]
    return tuple(found)


def _designs(claims: Claims) -> SearchStrategy[Recovery]:
    return st.sampled_from([design for claim, design in _DESIGNS.items() if claim in claims])


def _kinds(claims: Claims, kinds: Sequence[EdgeKind]) -> SearchStrategy[EdgeKind]:
    custom = Capability.RESCALES_FORCED_EDGES in claims
    return st.sampled_from([one for one in kinds if custom or one is not EdgeKind.CUSTOM])


_ELEMENTS = elements(records(sizes=sizes(_MOST_OF_A_RECORD), most=_FEW))
_RECORDS: SearchStrategy[tuple[Recovered, ...]] = records(sizes=sizes(_MOST_OF_A_RECORD), most=_FEW)


def restores(
    kinds: Sequence[EdgeKind] = _EVERY, of: SearchStrategy[tuple[Recovered, ...]] = _ELEMENTS
) -> Examples[Restored]:
    """Draws one subtask that restores."""

    def with_state(recovery: Recovery, plan: RescalePlan, number: int, kind: EdgeKind) -> SearchStrategy[Restored]:
        subtask = _recovering(plan, kind, number)
        return virtual_states(plan, subtask, kind, elements=of, most=_FEW).flatmap(
            lambda state: reads(state).map(lambda order: Restored(recovery, plan, subtask, kind, state, order))
        )

    return lambda claims: st.tuples(
        _designs(claims), rescale_plans(longest=1), st.integers(0, 6), _kinds(claims, kinds)
    ).flatmap(lambda one: with_state(*one))


def _recovering(plan: RescalePlan, kind: EdgeKind, number: int) -> int:
    """Returns a subtask that recovers something."""
    old, new = plan.rescales[-1]
    if kind is EdgeKind.GLOBAL and old != new:
        return 0
    return number % min(old, new)


def jobs(kinds: Sequence[EdgeKind] = _EVERY, of: SearchStrategy[tuple[Recovered, ...]] = _RECORDS) -> Examples[Job]:
    """Draws all subtasks of a vertex."""

    def with_state(recovery: Recovery, plan: RescalePlan, kind: EdgeKind) -> SearchStrategy[Job]:
        subtasks = sorted({_recovering(plan, kind, number) for number in range(plan.parallelisms[-1])})
        return st.tuples(
            *(virtual_states(plan, one, kind, elements=of, most=_FEW) for one in subtasks)
        ).map(lambda states: Job(recovery, plan, kind, _joined(states)))  # fmt: skip

    return lambda claims: st.tuples(_designs(claims), rescale_plans(longest=1), _kinds(claims, kinds)).flatmap(
        lambda one: with_state(*one)
    )


def _joined(states: Iterable[State]) -> State:
    """Returns the state of all old channels, of those that are there twice the first, with records that are numbered
    through all of it."""
    chosen = {(one.old_subtask, one.old_channel): one for state in reversed(list(states)) for one in state}
    number = count()
    return tuple(
        replace(one, elements=tuple([_numbered(element, number) for element in one.elements]))
        for _, one in sorted(chosen.items())
    )


def _numbered(element: Recovered, number: Iterator[int]) -> Recovered:
    return replace(element, id=next(number)) if isinstance(element, Record) else element


# ---- what is recovered -----------------------------------------------------------------------------------------------
class Kept(NamedTuple):
    """What a subtask has recovered."""

    by_virtual: list[list[int]]
    """By virtual channel, the ids of its records in the order in which they were taken."""
    by_channel: list[list[int]]
    """By channel, the ids of its records, sorted: elements of different virtual channels may come in any order."""
    watermarks: list[int | None]
    """By channel, the last watermark."""
    idle: list[bool]
    """By channel, whether it is idle in the end."""

    def ids(self) -> list[int]:
        """Returns the ids of all its records, sorted."""
        return sorted(one for channel in self.by_channel for one in channel)


def recovered(
    subject: Subject, restored: Restored, state: State | None = None, reads: Reads | None = None,
    page: int = LEAST_PAGE, buffers: int = 8,
) -> Kept:  # fmt: skip
    """Returns what a subtask recovers. `state`: other state than that of the example, which is read one virtual channel
    after the other unless `reads` says otherwise."""
    recovery, plan, subtask, kind, own_state, _ = restored
    given = own_state if state is None else state
    found = _recovered(subject, recovery, plan, subtask, kind, given, reads, page, buffers)
    taken = [one.id for channel in found for one in channel if isinstance(one, Record)]
    owned = [_ids(virtual) for virtual in given]
    return Kept(
        [[one for one in taken if one in mine] for mine in map(set, owned)],
        [sorted(one.id for one in channel if isinstance(one, Record)) for channel in found],
        [next((one.time for one in reversed(channel) if isinstance(one, Watermark)), None) for channel in found],
        [_is_idle(channel) for channel in found],
    )


def _ids(virtual: Virtual) -> list[int]:
    return [one.id for one in virtual.elements if isinstance(one, Record)]


def _is_idle(channel: Found) -> bool:
    return next((not one.active for one in reversed(channel) if isinstance(one, Status)), False)


def _recovered(
    subject: Subject, recovery: Recovery, plan: RescalePlan, subtask: int, kind: EdgeKind, state: State,
    reads: Reads | None = None, page: int = LEAST_PAGE, buffers: int = 8,
) -> list[Found]:  # fmt: skip
    """Returns the elements that come out of each channel of a subtask."""
    old, new = plan.rescales[-1]
    gate = recovered_gate(plan, subtask, kind)
    config = FilterConfig(
        recovery, (gate,), state, new, subtask, rescaled=old != new, page=page, buffers=buffers
    )  # fmt: skip
    task = Restoring(subject, config)
    for virtual, length in one_after_the_other(state, page) if reads is None else reads:
        task.read(virtual, length)
    found = task.finish()
    task.release()
    for channel, taken in enumerate(found):
        for one in taken:
            if isinstance(one, Unreadable):
                broken(f"what comes out of channel {channel} is no element from byte {one.offset} on")
    return found


def _records(subject: Subject, job: Job) -> dict[Place, list[Record]]:
    """Returns the records that all new subtasks of a job recover, by new subtask and new channel."""
    plan, found = job.plan, {}
    for subtask in range(plan.parallelisms[-1]):
        mapping = recovered_gate(plan, subtask, job.kind).mapping
        state = tuple([one for one in job.state if one.old_subtask in mapping.old_subtasks])
        channels = _recovered(subject, job.recovery, plan, subtask, job.kind, state)
        for number, channel in enumerate(channels):
            found[subtask, number] = [one for one in channel if isinstance(one, Record)]
    return found


def _all_once(found: Mapping[Place, Sequence[Record]], state: Iterable[Virtual]) -> None:
    """Raises: AssertionError unless these are the records of the state, each once."""
    owed = sorted(one for virtual in state for one in _ids(virtual))
    kept = Counter([one.id for channel in found.values() for one in channel])
    for one in owed:
        if kept[one] != 1:
            where = [place for place, channel in found.items() if one in [record.id for record in channel]]
            broken(f"record {one} must be kept once, by one new subtask; found in (subtask, channel): {where}")


def _only(wanted: Callable[[Recovered], bool]) -> Callable[[Virtual], Virtual]:
    """Returns what leaves elements of a virtual channel out."""

    def change(one: Virtual) -> Virtual:
        left = tuple(filter(wanted, one.elements))
        return replace(one, elements=left, input_bytes=sum(map(size_of, left)))

    return change


# ---- the relations ---------------------------------------------------------------------------------------------------
@relation(restores(), invariant="I-78", needs=FILTERS)
def where_chunks_end_and_how_they_alternate_changes_nothing(subject: Subject, restored: Restored) -> None:
    """Wherever chunks end, and however the chunks of virtual channels alternate, the same records of each virtual
    channel are recovered, in the same channels, and each channel is left with the same watermark and status."""
    one, other = recovered(subject, restored, reads=restored.reads), recovered(subject, restored)
    same(one, other, "what is recovered in those chunks, and one virtual channel after the other,")


@relation(jobs(), invariant="I-77", needs=FILTERS)
def all_new_subtasks_together_keep_each_record_once(subject: Subject, job: Job) -> None:
    """The new subtasks together recover all records of the old ones, and none of them twice."""
    _all_once(_records(subject, job), job.state)


@relation(restores(), invariant="I-77", needs=FILTERS)
def what_is_kept_is_what_a_fresh_partitioner_sends_there(subject: Subject, restored: Restored) -> None:
    """Of an ambiguous old subtask, those records are recovered that a partitioner that begins anew sends to this
    subtask; of another one, all."""
    new = restored.plan.parallelisms[-1]
    ambiguous = recovered_gate(restored.plan, restored.subtask, restored.kind).mapping.ambiguous
    sent = [
        [
            one.id
            for nth, one in enumerate(one for one in virtual.elements if isinstance(one, Record))
            if virtual.old_subtask not in ambiguous or selects(restored.kind, one.key, nth, new, restored.subtask)
        ]
        for virtual in restored.state
    ]
    same(recovered(subject, restored, reads=restored.reads).by_virtual, sent, "what is kept and what is sent here")


@relation(restores(_SAME_EVERYWHERE), invariant="I-77", needs=FILTERS)
def filtering_what_was_filtered_changes_nothing(subject: Subject, restored: Restored) -> None:
    """If the state has only the records that were recovered from it, all of it is recovered."""
    kept = recovered(subject, restored)
    mine = set(kept.ids())
    left = tuple(map(_only(lambda one: not isinstance(one, Record) or one.id in mine), restored.state))
    same(recovered(subject, restored, left).by_virtual, kept.by_virtual, "what is kept once and twice")


def _with_sizes(claims: Claims) -> SearchStrategy[tuple[Restored, int, int]]:
    """Draws a subtask that restores, the size of a page, and how many buffers the pool has."""
    return st.tuples(restores()(claims), st.sampled_from([LEAST_PAGE, 2 * LEAST_PAGE]), st.sampled_from([1, 2]))


@relation(_with_sizes, invariant="I-73", needs=FILTERS)
def the_sizes_of_page_and_pool_change_nothing(subject: Subject, example: tuple[Restored, int, int]) -> None:
    """Whatever size a page has, and however few buffers the pool has, the same is recovered."""
    restored, page, buffers = example
    small = recovered(subject, restored, reads=restored.reads, page=page, buffers=buffers)
    same(small, recovered(subject, restored, reads=restored.reads), "what is recovered with that page and pool")


@relation(jobs(), invariant="I-77", needs=FILTERS)
def a_rescale_and_its_reverse_keep_each_record_and_the_order_of_each_key(subject: Subject, job: Job) -> None:
    """After a restore with another parallelism, and a second one with that before, each record is there once, and
    records with the same key that were in one channel are in one channel, in their order. A user's partitioner that
    counts may take them apart."""
    there = _records(subject, job)
    state = tuple(
        Virtual(0, subtask, channel, tuple(found), sum(one.size for one in found))
        for (subtask, channel), found in sorted(there.items())
        if found
    )
    back = _records(subject, job._replace(plan=RescalePlan(job.plan.parallelisms[::-1]), state=state))
    _all_once(back, job.state)
    if job.kind is EdgeKind.CUSTOM:
        return
    for virtual in job.state:
        for key in sorted({one.key for one in virtual.elements if isinstance(one, Record)}):
            sent = [one.id for one in virtual.elements if isinstance(one, Record) and one.key == key]
            found = {place: [one.id for one in channel if one.id in sent] for place, channel in back.items()}
            same(
                [one for one in found.values() if one], [sent], f"where the records with key {key} are, there and back,"
            )


@relation(restores(), invariant="I-81", needs=FILTERS)
def a_virtual_channel_without_elements_changes_watermarks_only(subject: Subject, restored: Restored) -> None:
    """If one virtual channel has no elements, the same records of all others are recovered, and none of it."""
    first, *others = restored.state
    emptied = (_only(lambda one: False)(first), *others)
    with_it, without = recovered(subject, restored), recovered(subject, restored, emptied)
    same(without.by_virtual, [[], *with_it.by_virtual[1:]], "what is recovered of all other virtual channels")


@relation(restores(), invariant="I-78", needs=FILTERS)
def other_bytes_of_the_same_length_change_nothing(subject: Subject, restored: Restored) -> None:
    """If what the records say is something else of the same length, the same is recovered."""

    def another(one: Recovered) -> Recovered:
        return replace(one, id=one.id + _OTHERS) if isinstance(one, Record) else one

    others = tuple([replace(one, elements=tuple(map(another, one.elements))) for one in restored.state])
    same(
        recovered(subject, restored, others, restored.reads),
        _renumbered(recovered(subject, restored, reads=restored.reads)),
        "what is recovered of other bytes",
    )


_OTHERS = 100
"""By how much the ids of other records are larger. What a record says in this suite depends on its id."""


def _renumbered(kept: Kept) -> Kept:
    by_virtual, by_channel = [[[one + _OTHERS for one in ids] for ids in some] for some in kept[:2]]
    return kept._replace(by_virtual=by_virtual, by_channel=by_channel)


@relation(restores(_SAME_EVERYWHERE, _RECORDS), invariant="I-77", needs=FILTERS)
def two_copies_of_the_state_give_each_record_twice(subject: Subject, restored: Restored) -> None:
    """If each virtual channel has all its records a second time, each record that was recovered is recovered twice."""
    more = sum(len(virtual.elements) for virtual in restored.state)

    def twice(one: Virtual) -> Virtual:
        copies = tuple([replace(copy, id=copy.id + more) for copy in one.elements if isinstance(copy, Record)])
        return replace(one, elements=one.elements + copies, input_bytes=2 * sum(map(size_of, one.elements)))

    once = recovered(subject, restored).by_virtual
    doubled = recovered(subject, restored, tuple(map(twice, restored.state))).by_virtual
    same(doubled, [[*found, *(one + more for one in found)] for found in once], "what is recovered of two copies")
