"""The reference's fetch with its filter, rule by rule."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    BUFFER_POOL,
    CHANNEL_PUSH,
    CHANNEL_STATE_READ,
    PARTITIONER,
    RECORD_FILE_CREATE,
    RECORD_FILE_DELETE,
    RECORD_FILE_READ,
    RECORD_FILE_WRITE,
    RECORD_READ,
    RECORD_WRITE,
    SPILL_DIRECTORY,
    SPILL_FILE_CREATE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    CheckpointReason,
    EdgeKind,
    ErrorKind,
    FaultKind,
    FilterConfig,
    FilteredGate,
    PartialRecord,
    PortError,
    Recovery,
    RescaleMapping,
    Resources,
    SegmentBeforeFilter,
)
from conformance.ports.framing import (
    Attributes,
    LatencyMarker,
    Record,
    Status,
    Watermark,
    encode,
)
from conformance.scheduling import PAUSED
from reference_impl.state.filter.buffers import POISON
from reference_impl.state.filter.filter import Filter
from tests.filtering.task import ONE_TO_TWO, PAGE, Task, kept, records, virtual

NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)
THROWS, SHORT = FaultKind.THROWS, FaultKind.SHORT
FIRST, MEMORY, PUSHED = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
EVERY = pytest.mark.parametrize("recovery", [FIRST, MEMORY, PUSHED])
FILTERED_BEFORE = pytest.mark.parametrize("recovery", [MEMORY, PUSHED])
FILES = pytest.mark.parametrize("files", [False, True], ids=["memory", "files"])
MERGED = RescaleMapping((0, 1), ((0, 1), (2,)), (1,))
"""Two old subtasks, of which the second is split, and three old channels, of which two are merged."""


def error_of(call: Any, *operands: Any) -> PortError:
    def run() -> None:
        found = call(*operands)
        if hasattr(found, "send"):
            whole(found)

    with pytest.raises(PortError) as caught:
        run()
    return caught.value


def kind_of(call: Any, *operands: Any) -> ErrorKind:
    return error_of(call, *operands).kind


@EVERY
@pytest.mark.parametrize("cut", [1, 3, 40, 41, PAGE])
def test_a_record_is_kept_if_its_key_group_belongs_to_the_subtask(recovery, cut):
    """filter.md X5, X6, X10."""
    elements = records(*range(20))
    task = Task(virtual(*elements), recovery=recovery)
    assert task.run(cut) == [kept(elements)]
    assert 0 < len(kept(elements)) < 20
    assert task.released() == NOTHING


@EVERY
def test_records_of_an_old_subtask_that_is_not_split_are_all_kept(recovery):
    """filter.md X2, X6."""
    elements = records(*range(6))
    mapping = RescaleMapping((0,), ((0,),), ())
    assert Task(virtual(*elements), recovery=recovery, mapping=mapping).run() == [list(elements)]


@EVERY
def test_a_custom_partitioner_counts_for_each_virtual_channel(recovery):
    """filter.md X6."""
    one, other = records(0, 0, 0, 0, 0), records(1, 1, 1, first=10)
    mapping = RescaleMapping((0, 1), ((0,),), (0, 1))
    task = Task(
        virtual(*one), virtual(*other, subtask=1), recovery=recovery, mapping=mapping, kind=EdgeKind.CUSTOM,
    )  # fmt: skip
    (found,) = task.run(40)
    assert set(found) == {one[0], one[2], one[4], other[1]}


@EVERY
def test_records_go_to_the_channel_that_continues_their_old_channel(recovery):
    """filter.md X3."""
    state = [
        virtual(*records(1, 2, first=10 * subtask + 100 * channel), subtask=subtask, channel=channel)
        for subtask in (0, 1)
        for channel in (0, 1, 2)
    ]
    first, second = Task(*state, recovery=recovery, mapping=MERGED).run(30)
    ids = lambda found: {one.id // 10 for one in found if isinstance(one, Record)}  # noqa: E731
    assert ids(first) <= {0, 1, 10, 11}
    assert ids(second) <= {20, 21}
    assert {0, 10} <= ids(first)
    assert 20 in ids(second)


@EVERY
def test_output_state_goes_on_where_input_state_ends(recovery):
    """filter.md X1, X2."""
    elements = records(1, 2, 3)
    mapping = RescaleMapping((0,), ((0,),), ())
    for at in (0, 1, 2, 3, 4, 5, 40, 43, 100):
        task = Task(virtual(*elements, input_bytes=at), recovery=recovery, mapping=mapping)
        assert task.run(7) == [list(elements)]


@EVERY
@FILES
@pytest.mark.parametrize("size", [PAGE - 1, PAGE, PAGE + 1, 5 * PAGE + 7])
def test_large_records_take_several_buffers_and_come_back_whole(recovery, files, size):
    """filter.md X7, X8, X12, X22."""
    elements = (*records(1, 2, 3, 4, size=size), Record(9, 1, size, 17))
    for limit in (1, PAGE, 1 << 20):
        task = Task(virtual(*elements), recovery=recovery, buffers=1, files=files, partial_in_memory=limit)
        assert task.run() == [kept(elements)]
        assert task.released() == NOTHING


@EVERY
def test_a_watermark_waits_for_all_virtual_channels_and_is_the_smallest(recovery):
    """filter.md X13."""
    mapping = RescaleMapping((0, 1), ((0,),), ())
    task = Task(
        virtual(Watermark(5), Watermark(7), Record(1, 1, 40)), virtual(Watermark(6), subtask=1),
        recovery=recovery, mapping=mapping,
    )  # fmt: skip
    for _ in range(2):
        task.read(0, 13)
        task.take_all()
    assert task.found[0, 0] == []
    task.read(1, 13)
    task.read(0, 40)
    whole(task.port.end())
    if recovery is PUSHED:
        while task.consume("drain", task.port.drain()):
            pass
    task.take_all()
    assert task.found[0, 0] == [Watermark(6), Record(1, 1, 40)]


@EVERY
def test_a_channel_is_idle_if_all_its_virtual_channels_are(recovery):
    """filter.md X14."""
    mapping = RescaleMapping((0, 1), ((0,),), ())
    task = Task(
        virtual(Status(False), Status(True)), virtual(Status(False), subtask=1), recovery=recovery, mapping=mapping
    )
    assert task.run(9) == [[Status(True), Status(False), Status(True)]]


@EVERY
def test_markers_and_attributes_are_dropped_only_after_a_rescale(recovery):
    """filter.md X11, X15, X23."""
    elements = (LatencyMarker(3), Record(1, 1, 40), Attributes(True), Watermark(4), Status(False))
    mapping = RescaleMapping((0,), ((0,),), ())
    assert Task(virtual(*elements), recovery=recovery, mapping=mapping).run() == [[elements[1], *elements[3:]]]
    task = Task(virtual(*elements), recovery=recovery, mapping=mapping, rescaled=False)
    assert task.run(11) == [list(elements)]
    assert task.port.before_filter() is None


@EVERY
def test_every_gate_is_filtered_by_its_own_kind(recovery):
    """filter.md X3, X6."""
    gates = (
        FilteredGate(EdgeKind.HASH, ONE_TO_TWO),
        FilteredGate(EdgeKind.CUSTOM, ONE_TO_TWO),
        FilteredGate(EdgeKind.REBALANCE, RescaleMapping((0,), ((0,),), ())),
    )
    state = [virtual(*records(0, 0, 0, 0, first=10 * gate), gate=gate) for gate in range(3)]
    found = Task(*state, gates=gates, recovery=recovery).run()
    assert found == [kept(state[0].elements), [state[1].elements[0], state[1].elements[2]], list(state[2].elements)]


@EVERY
def test_what_no_channel_continues_is_refused(recovery):
    """filter.md X3, X10, X25."""
    nothing = FilteredGate(EdgeKind.HASH, RescaleMapping((), ((),), ()))
    task = Task(
        virtual(*records(1), channel=3), virtual(*records(1, first=9), subtask=3), virtual(*records(1), gate=1),
        gates=(FilteredGate(EdgeKind.HASH, ONE_TO_TWO), nothing), recovery=recovery,
    )  # fmt: skip
    for number in (0, 2):
        again = Filter(task.config)
        again.begin()
        assert kind_of(again.read, number, 5) is ErrorKind.STATE
        assert kind_of(again.read, number, 5) is ErrorKind.STATE
        assert again.resources().segments == 0
        again.release()
        assert again.resources() == NOTHING
    if recovery is FIRST:
        task.read(1, 5)
        assert kind_of(task.port.take, 0, 0) is ErrorKind.STATE
    else:
        assert kind_of(task.port.read, 1, 5) is ErrorKind.STATE
    assert task.port.resources().segments == 0
    assert task.released() == NOTHING


@EVERY
@pytest.mark.parametrize("missing", [1, 36, 37, 39, 40 + 2])
def test_state_that_ends_inside_an_element_is_damaged(recovery, missing):
    """filter.md X9, X10."""
    elements = records(1, 2, 3)
    task = Task(virtual(*elements, missing=missing, input_bytes=0), recovery=recovery)
    task.read_all(11)
    if recovery is FIRST:
        whole(task.port.end())
        with pytest.raises(PortError) as caught:
            task.take_all()
        assert caught.value.kind is ErrorKind.IO
    else:
        assert kind_of(task.port.end) is ErrorKind.IO
        assert not task.ended
    assert task.released() == NOTHING


def test_a_page_is_a_power_of_two_and_not_too_small():
    """filter.md X24."""
    for page in (0, 1024, 2048, 4095, 4097, 12288):
        port = Filter(FilterConfig(MEMORY, (), (), 1, 0, page=page))
        assert kind_of(port.begin) is ErrorKind.CONFIG
    Task(page=1 << 15)


def test_a_chunk_of_nothing_changes_nothing():
    """filter.md X5."""
    task = Task(virtual(*records(1)))
    number = task.port.request_before_filter()
    assert number
    task.read(0, 0)
    assert task.port.before_filter() == SegmentBeforeFilter(number, True)


@FILTERED_BEFORE
def test_there_is_one_segment_before_the_filter(recovery):
    """filter.md X18 to X20, X28."""
    task = Task(virtual(*records(1, 1, 1)), recovery=recovery)
    assert task.port.before_filter() is None
    number = task.port.request_before_filter()
    assert task.port.before_filter() == SegmentBeforeFilter(number, True)
    assert kind_of(task.port.request_before_filter) is ErrorKind.STATE
    assert kind_of(task.port.read, 0, 40) is ErrorKind.STATE
    task.port.recycle(number)
    assert task.port.before_filter() == SegmentBeforeFilter(number, False)
    segment = task.port.before.buffer
    assert segment is not None
    assert set(segment.page) == set(POISON)
    task.read(0, 50)
    assert task.port.before_filter() == SegmentBeforeFilter(number, False)
    assert set(segment.page) == set(POISON)
    assert task.port.request_before_filter() == number
    task.port.release()
    assert task.port.before_filter() is None
    task.port.recycle(number)
    task.port.release()
    task.take_all()


def test_a_chunk_of_which_nothing_is_kept_asks_for_no_buffer():
    """filter.md X7."""
    elements = tuple(one for one in records(*range(9)) if one not in kept(records(*range(9))))
    task = Task(virtual(*elements), buffers=1)
    assert task.port.fault(BUFFER_POOL, FaultKind.ENDS)
    assert task.run() == [[]]


def test_a_buffer_says_how_much_of_it_goes_on_in_the_next():
    """filter.md X16."""
    mapping = RescaleMapping((0,), ((0,),), ())
    task = Task(virtual(*records(1, size=3 * PAGE)), mapping=mapping)
    for _ in range(3):
        task.read(0, PAGE)
    taken = [task.take() for _ in range(4)]
    assert [one and (one.open, len(one.elements)) for one in taken] == [(PAGE, 0), (PAGE, 0), (0, 1), None]


@EVERY
def test_a_cancelled_fetch_ends_and_gives_everything_back(recovery):
    """filter.md X22, X27."""
    task = Task(virtual(*records(*[0] * 400)), recovery=recovery, buffers=1, parallelism=1)
    fetch = task.kernel.threads["fetch"]
    chunks, read = iter(range(10)), None
    if recovery is PUSHED:
        task.read_all()
        whole(task.port.end())
        assert whole(task.port.drain())
        read = task.kernel.start(fetch, ("drain",), task.port.drain())
    while read is not PAUSED:
        next(chunks)
        read = task.kernel.start(fetch, ("read",), task.port.read(0, PAGE))
    task.port.cancel()
    with pytest.raises(PortError) as caught:
        task.kernel.finish(fetch)
    assert caught.value.kind is ErrorKind.RELEASED
    assert kind_of(task.port.read, 0, 1) is ErrorKind.RELEASED
    assert task.take() is None
    assert task.released() == NOTHING


@EVERY
def test_release_while_the_fetch_waits_leaves_nothing(recovery):
    """filter.md X28."""
    task = Task(virtual(*records(*[0] * 400, size=50)), recovery=recovery, buffers=1, parallelism=1)
    fetch, read = task.kernel.threads["fetch"], None
    if recovery is PUSHED:
        task.read_all()
        whole(task.port.end())
        whole(task.port.drain())
        read = task.kernel.start(fetch, ("drain",), task.port.drain())
    while read is not PAUSED:
        read = task.kernel.start(fetch, ("read",), task.port.read(0, PAGE))
    task.port.release()
    with pytest.raises(PortError):
        task.kernel.finish(fetch)
    assert task.port.resources() == NOTHING


@pytest.mark.parametrize("recovery", [FIRST, MEMORY, PUSHED])
def test_a_checkpoint_holds_what_was_not_taken(recovery):
    """filter.md X17."""
    mapping = RescaleMapping((0,), ((0,), (1,)), ())
    one, other = records(1, 2, size=3000), records(1, 2, first=5)
    task = Task(virtual(*one), virtual(*other, channel=1), recovery=recovery, mapping=mapping)
    reason = error_of(task.port.checkpoint, 1)
    assert reason.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    task.read_all()
    whole(task.port.end())
    if recovery is FIRST:
        assert error_of(task.port.checkpoint, 1).kind is ErrorKind.CHECKPOINT
        task.take_all()
        assert whole(task.port.checkpoint(1)) == ((), ())
        return
    assert whole(task.port.checkpoint(2)) == ((0, 1), (5, 6))
    if recovery is PUSHED:
        whole(task.port.drain())
        assert whole(task.port.checkpoint(3)) == ((0, 1), (5, 6))
    task.take()
    assert whole(task.port.checkpoint(4)) == ((1,), (5, 6))
    while recovery is PUSHED and whole(task.port.drain()):
        pass
    assert whole(task.port.checkpoint(5)) == ((1,), (5, 6))
    task.take_all()
    assert whole(task.port.checkpoint(6)) == ((), ())
    assert task.released() == Resources(1, 0, 0, 0, 0, 0, 0)


FAULTS = [
    (MEMORY, CHANNEL_STATE_READ), (MEMORY, BUFFER_POOL), (MEMORY, CHANNEL_PUSH), (MEMORY, PARTITIONER),
    (MEMORY, RECORD_READ), (MEMORY, RECORD_WRITE), (MEMORY, RECORD_FILE_CREATE), (MEMORY, RECORD_FILE_WRITE),
    (MEMORY, RECORD_FILE_READ), (PUSHED, SPILL_FILE_CREATE), (PUSHED, SPILL_FILE_WRITE), (PUSHED, SPILL_FILE_SYNC),
    (PUSHED, RECORD_FILE_READ), (PUSHED, SPILL_FILE_OPEN), (PUSHED, SPILL_FILE_READ), (PUSHED, CHANNEL_PUSH),
    (PUSHED, BUFFER_POOL), (FIRST, CHANNEL_STATE_READ), (FIRST, BUFFER_POOL), (FIRST, CHANNEL_PUSH),
    (FIRST, PARTITIONER), (FIRST, RECORD_READ), (FIRST, RECORD_FILE_CREATE), (FIRST, RECORD_FILE_READ),
]  # fmt: skip

ONCE = (SPILL_FILE_CREATE, SPILL_FILE_SYNC, SPILL_FILE_OPEN)
"""Where a recovery calls once: a small state has one spill file."""


@FILES
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize(("recovery", "place"), FAULTS)
def test_what_fails_ends_the_fetch_with_its_error_and_everything_is_given_back(recovery, place, nth, files):
    """filter.md X25, X26."""
    elements = records(*range(12), size=3 * PAGE)
    task = Task(virtual(*elements), recovery=recovery, files=files, partial_in_memory=PAGE)
    if place in ONCE:
        nth = 1
    task.port.fault(place, FaultKind.ENDS if place == BUFFER_POOL else THROWS, nth)
    with pytest.raises(PortError) as caught:
        task.run(1500)
    assert caught.value.kind is ErrorKind.IO
    assert place in str(caught.value)
    assert not task.ended
    assert task.port.resources().segments == sum(len(one.queue) for one in task.port.all_channels())
    assert task.released() == NOTHING


@EVERY
def test_a_read_that_gets_fewer_bytes_goes_on(recovery):
    """filter.md X5."""
    elements = records(*range(9))
    task = Task(virtual(*elements), recovery=recovery)
    for _ in range(3):
        task.port.fault(CHANNEL_STATE_READ, SHORT)
    assert task.run(100) == [kept(elements)]


@FILES
def test_a_file_that_cannot_be_deleted_stays_until_the_release(files):
    """filter.md X26, X28."""
    task = Task(virtual(*records(*range(3), size=3 * PAGE)), files=files, partial_in_memory=PAGE)
    task.port.fault(RECORD_FILE_DELETE, THROWS)
    task.run()
    assert task.port.resources().files == 1
    assert task.released() == NOTHING


def test_a_task_that_spills_needs_a_directory():
    """filter.md X26."""
    port = Filter(FilterConfig(PUSHED, (), (), 1, 0))
    port.fault(SPILL_DIRECTORY, THROWS)
    assert kind_of(port.begin) is ErrorKind.IO


@FILES
@FILTERED_BEFORE
def test_a_partial_record_is_in_memory_or_in_a_file(recovery, files):
    """filter.md X21."""
    one, other = records(0, size=300), records(0, size=300, first=1)
    mapping = RescaleMapping((0, 1), ((0,),), ())
    task = Task(
        virtual(*one), virtual(*other, subtask=1), recovery=recovery, mapping=mapping, partial_in_memory=100,
        files=files,
    )  # fmt: skip
    assert task.port.partial() == ()
    task.read(1, 2)
    task.read(0, 100)
    assert task.port.partial() == (PartialRecord(0, 100, False), PartialRecord(1, 2, False))
    task.read(0, 1)
    assert task.port.partial() == (PartialRecord(0, 101, True), PartialRecord(1, 2, False))
    assert (task.port.resources().files, task.port.resources().open_files) == (1, 1)
    task.read(0, 199)
    assert task.port.partial() == (PartialRecord(1, 2, False),)
    assert task.port.resources().files == 0
    task.read(1, 200)
    assert task.released() == NOTHING
    assert task.port.partial() == ()


def test_bytes_that_are_no_element_are_refused():
    """filter.md X4."""
    for body in (b"", b"\x09", b"\x06" + bytes(8), b"\x02" + bytes(7), encode(Record(1, 1, 40))[4:] + b"\0"):
        task = Task(virtual(*records(1, 2, 3)))
        data = len(body).to_bytes(4, "big") + body + bytes(10)

        class Damaged:
            def read(self, count: int, data: bytes = data) -> bytes:
                return data[:count]

        port = Filter(task.config, [Damaged()])
        port.begin()
        assert kind_of(port.read, 0, len(data)) is ErrorKind.IO
        port.release()
        assert port.resources() == NOTHING


# ---- lengths that contradict their body ------------------------------------------------------------------------------
@pytest.mark.parametrize("recovery", [Recovery.IN_MEMORY, Recovery.PUSHED, Recovery.RECOVER_FIRST])
@pytest.mark.parametrize("length", [0, -1, 35, 37])
def test_a_length_that_contradicts_its_body_is_refused(length, recovery):
    """filter.md X4 leaves it open."""
    first, second = records(1, 2)
    found = length.to_bytes(4, "big", signed=True) + encode(first)[4:] + encode(second)
    state = virtual(first, second)
    task = Task(state, recovery=recovery, sources=[BytesIO(found)])
    with pytest.raises(PortError) as caught:
        task.run()
    assert caught.value.kind is ErrorKind.IO
