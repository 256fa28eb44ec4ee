"""The filter and the demultiplexer of released Flink behind the port filter."""

from __future__ import annotations

import pytest

from conformance.ports import (
    EdgeKind,
    ErrorKind,
    FaultKind,
    FaultStruck,
    FilterConfig,
    FilteredGate,
    PortError,
    Record,
    Recovery,
    RescaleMapping,
    Resources,
    Taken,
    Virtual,
    Watermark,
)
from conformance.ports.framing import size_of
from conformance.ports.key_groups import hash_of_number, key_group, owner

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

DESIGNS = (Recovery.IN_MEMORY, Recovery.RECOVER_FIRST)


@pytest.fixture
def filtering(flink_rescaling):
    """Makes the port of a filter. Skips a design that the release does not have."""

    def make(config):
        if config.recovery is Recovery.IN_MEMORY and flink_rescaling.release != "2.3.0":
            pytest.skip("only 2.3.0 filters while it reads")
        return flink_rescaling.components()["filter"](config)

    return make


def job(recovery, *state, kind=EdgeKind.HASH, olds=(0, 1), ambiguous=(1,), producers=1, **rest):
    """Subtask 0 of 2 recovers from old subtasks 0 and 1 of 3."""
    mapping = RescaleMapping(olds, tuple((one,) for one in range(producers)), ambiguous)
    return FilterConfig(recovery, (FilteredGate(kind, mapping),), state, 2, 0, **rest)


def virtual(old_subtask, *elements, old_channel=0):
    return Virtual(0, old_subtask, old_channel, elements, sum(map(size_of, elements)))


def read_all(port, config, *lengths):
    """Reads each virtual channel to its end, in chunks of these lengths and then whole pages."""
    for number, one in enumerate(config.state):
        left, cuts = sum(map(size_of, one.elements)) - one.missing, list(lengths)
        while left:
            length = min(left, cuts.pop(0) if cuts else config.page)
            port.read(number, length)
            left -= length


def take_all(port, channel=0):
    """What the task takes out of a channel."""
    elements = []
    while not (taken := port.take(0, channel)).last:
        elements += taken.elements
        if taken.buffer is not None:
            port.recycle(taken.buffer)
    return elements


def recover(port, config):
    """Everything is read, then taken."""
    read_all(port, config)
    port.end()
    return take_all(port)


def is_mine(record):
    return owner(key_group(hash_of_number(record.key), 128), 128, 2) == 0


@pytest.mark.parametrize("recovery", DESIGNS)
@pytest.mark.parametrize("lengths", [(), (1,), (2, 3), (17, 1, 1), (5000,)])
def test_of_an_ambiguous_subtask_what_belongs_here_is_kept(filtering, recovery, lengths):
    records = [Record(number, number, 20 + 900 * number, number if number % 2 else None) for number in range(12)]
    config = job(recovery, virtual(0, *records[:4]), virtual(1, *records[4:]), page=8192)
    port = filtering(config)
    port.begin()
    read_all(port, config, *lengths)
    port.end()
    assert take_all(port) == [*records[:4], *filter(is_mine, records[4:])]
    assert 0 < len(list(filter(is_mine, records[4:]))) < 8
    assert port.checkpoint(1) == ((),)
    port.release()
    assert port.resources().segments == 0


@pytest.mark.parametrize("recovery", DESIGNS)
def test_a_custom_partitioner_counts_per_virtual_channel(filtering, recovery):
    records = [Record(number, 0, 20) for number in range(6)]
    config = job(recovery, virtual(0, *records[:3]), virtual(1, *records[3:]), kind=EdgeKind.CUSTOM, ambiguous=(0, 1))
    port = filtering(config)
    port.begin()
    assert recover(port, config) == [records[0], records[2], records[3], records[5]]


def test_a_checkpoint_has_what_was_not_taken(filtering):
    records = [Record(number, 0, 3000) for number in range(4)]
    config = job(Recovery.IN_MEMORY, virtual(0, *records))
    port = filtering(config)
    port.begin()
    with pytest.raises(PortError) as caught:
        port.checkpoint(1)
    assert caught.value.kind is ErrorKind.CHECKPOINT
    read_all(port, config)
    port.end()
    assert port.checkpoint(2) == ((0, 1, 2, 3),)
    taken = port.take(0, 0)
    assert [one.id for one in taken.elements] == [0]
    assert port.checkpoint(3) == ((1, 2, 3),)


@pytest.mark.parametrize("recovery", DESIGNS)
def test_without_a_rescale_everything_passes(filtering, recovery):
    elements = (Record(1, 5, 40), Watermark(7), Record(2, 6, 17))
    config = job(recovery, virtual(0, *elements), rescaled=False)
    port = filtering(config)
    port.begin()
    read_all(port, config, 3)
    port.end()
    assert take_all(port) == list(elements)


@pytest.mark.parametrize("page", [4095, 5000, 100])
def test_a_page_size_that_is_no_power_of_two_is_refused(filtering, page):
    port = filtering(job(Recovery.RECOVER_FIRST, page=page))
    with pytest.raises(PortError) as caught:
        port.begin()
    assert caught.value.kind is ErrorKind.CONFIG


@pytest.mark.parametrize("recovery", DESIGNS)
@pytest.mark.parametrize("place", ["channel-state-read", "partitioner", "record-read", "record-write"])
def test_what_fails_ends_the_fetch(filtering, recovery, place):
    kept = next(key for key in range(100) if is_mine(Record(1, key, 40)))
    config = job(recovery, virtual(0, Record(1, kept, 40), Record(2, kept, 40)), ambiguous=(0,))
    port = filtering(config)
    port.begin()
    if not port.fault(place, FaultKind.THROWS, 1):
        assert (place, recovery) == ("record-write", Recovery.RECOVER_FIRST)  # nothing is written there
        return
    with pytest.raises(PortError) as caught:
        recover(port, config)
    assert caught.value.kind is ErrorKind.IO
    assert port.signals == [FaultStruck(place, FaultKind.THROWS)]
    port.release()
    assert port.resources().segments == 0


CHUNKS = {"first": 0, "middle": 1, "last": 2}


def large(recovery):
    """A record that is kept, of three chunks and a half, and one that comes before it."""
    kept = next(key for key in range(100) if is_mine(Record(1, key, 40)))
    return job(recovery, virtual(0, Record(1, kept, 40), Record(2, kept, 3 * 4096 + 100)), ambiguous=(0,), buffers=8)


@pytest.mark.parametrize("recovery", DESIGNS)
@pytest.mark.parametrize("place", ["channel-state-read", "buffer-pool", "channel-push"])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_at_each_chunk_of_a_record_what_fails_ends_the_fetch(filtering, recovery, place, chunk):
    config = large(recovery)
    kind = FaultKind.ENDS if place == "buffer-pool" else FaultKind.THROWS
    port = filtering(config)
    port.begin()
    lengths = [40, *([4096] * 3), 100]
    before = 1 + CHUNKS[chunk] + (chunk == "last")
    for length in lengths[:before]:
        port.read(0, length)
    assert port.fault(place, kind, 1)
    with pytest.raises(PortError) as caught:  # noqa: PT012, which chunk asks for a buffer is the design's business
        for length in lengths[before:]:
            port.read(0, length)
    assert caught.value.kind is ErrorKind.IO
    assert port.signals == [FaultStruck(place, kind)]
    port.release()
    assert port.resources().segments == 0


@pytest.mark.parametrize("recovery", DESIGNS)
def test_a_read_that_gets_fewer_bytes_goes_on(filtering, recovery):
    records = [Record(number, number, 200) for number in range(4)]
    config = job(recovery, virtual(0, *records))
    port = filtering(config)
    port.begin()
    assert port.fault("channel-state-read", FaultKind.SHORT, 1)
    assert recover(port, config) == records
    assert port.signals == []


@pytest.mark.parametrize("recovery", DESIGNS)
def test_what_producers_had_not_sent_comes_behind_all_else(filtering, recovery):
    records = [Record(number, number, 40) for number in range(4)]
    first = Virtual(0, 0, 0, tuple(records[:2]), 50)
    config = job(recovery, first, virtual(1, *records[2:]), ambiguous=())
    port = filtering(config)
    port.begin()
    for number, length in ((0, 50), (1, 80), (0, 30)):
        port.read(number, length)
    port.end()
    assert sorted(take_all(port), key=records.index) == records
    port.release()
    assert port.resources().segments == 0


def test_a_release_interrupts_the_fetch(filtering):
    port = filtering(large(Recovery.RECOVER_FIRST))
    port.begin()
    port.read(0, 40)
    port.release()
    assert port.resources().segments == 0


@pytest.mark.parametrize("recovery", DESIGNS)
def test_an_unknown_old_subtask_is_refused(filtering, recovery):
    config = job(recovery, virtual(2, Record(1, 5, 40)))
    port = filtering(config)
    port.begin()
    with pytest.raises(PortError) as caught:
        recover(port, config)
    assert caught.value.kind is ErrorKind.STATE


def test_nothing_is_taken_before_the_end_in_memory(filtering):
    config = job(Recovery.IN_MEMORY, virtual(0, Record(1, 5, 40)))
    port = filtering(config)
    port.begin()
    read_all(port, config)
    assert port.take(0, 0) is None
    port.end()
    assert port.take(0, 0) == Taken(0, (Record(1, 5, 40),))


# ---- large records ---------------------------------------------------------------------------------------------------
PAGE = 1 << 20
RECORD_FILES = ("record-file-create", "record-file-write", "record-file-read")


def huge(recovery):
    """A record that goes to a file from its first chunk on, since it has more than five MiB."""
    kept = next(key for key in range(100) if is_mine(Record(1, key, 40)))
    record = Record(1, kept, 6 * PAGE + 100)
    return record, job(recovery, virtual(0, record), ambiguous=(0,), page=PAGE, buffers=8)


@pytest.mark.parametrize("recovery", DESIGNS)
def test_a_large_record_is_in_a_file_until_it_has_ended(filtering, recovery):
    record, config = huge(recovery)
    port = filtering(config)
    port.begin()
    files = []
    for length in (*([PAGE] * 6), 100):
        port.read(0, length)
        if recovery is Recovery.RECOVER_FIRST:
            assert port.take(0, 0) in (None, Taken(elements=(record,)))
        files.append(port.resources().files)
    assert files == [1, 1, 1, 1, 1, 1, 0]
    port.end()
    port.release()
    assert port.resources() == Resources(segments=0, files=0, listeners=0, futures=0)


@pytest.mark.parametrize("recovery", DESIGNS)
@pytest.mark.parametrize("place", RECORD_FILES)
@pytest.mark.parametrize("chunk", [1, 4, 7])
def test_what_fails_of_a_file_ends_the_fetch(filtering, recovery, place, chunk):
    """The fault is armed before a chunk: the first, which makes the file, a middle and the last one."""
    _, config = huge(recovery)
    port = filtering(config)
    port.begin()
    lengths = [*([PAGE] * 6), 100]
    failed = None
    for number, length in enumerate(lengths, 1):
        if number == chunk and not port.fault(place, FaultKind.THROWS, 1):
            assert place == "record-file-create"
            assert number > 1  # there is a file already
            return
        try:
            port.read(0, length)
            if recovery is Recovery.RECOVER_FIRST:
                port.take(0, 0)
        except PortError as error:
            failed = error
            break
    assert failed is not None
    assert failed.kind is ErrorKind.IO
    assert port.signals == [FaultStruck(place, FaultKind.THROWS)]
    port.release()
    assert port.resources() == Resources(segments=0, files=0, listeners=0, futures=0)
