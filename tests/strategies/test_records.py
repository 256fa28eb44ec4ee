"""Keys, sizes, records and other elements: what is drawn, and to what it shrinks."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import find, settings

from conformance.ports.framing import Attributes, LatencyMarker, Record, Status, Watermark, encode
from strategies import elements, keys, records, sizes
from strategies.records import KINDS
from tests.strategies.room import drawn

FOUND = settings(max_examples=3_000, database=None, deadline=None)


# ---- keys and sizes --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strategy", [keys(), keys(1), keys(9, hot=2), keys(4, hot=4)])
def test_a_key_shrinks_to_0(strategy):
    assert find(strategy, lambda key: True, settings=FOUND) == 0


def test_hot_keys_are_drawn_more_often():
    some = [key for found in drawn(st.lists(keys(1_000, hot=2), min_size=20), 50) for key in found]
    assert 0.4 < sum(key < 2 for key in some) / len(some) < 0.8
    assert max(some) > 500


@pytest.mark.parametrize(("count", "hot"), [(0, 0), (3, 4), (3, -1)])
def test_keys_that_cannot_be_are_refused(count, hot):
    with pytest.raises(ValueError, match=f"of {count} keys, {hot} cannot be hot"):
        keys(count, hot)


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        (lambda size: True, 17), (lambda size: size > 17, 18), (lambda size: size >= 4_095, 4_095),
        (lambda size: size > 4_096, 4_097), (lambda size: size > 10_000, 10_001),
    ],
)  # fmt: skip
def test_a_size_shrinks_to_the_smallest(wanted, least):
    assert find(sizes(4_096), wanted, settings=FOUND) == least


def test_sizes_are_about_pages():
    found = {*drawn(sizes(64), 400)}
    assert {17, 63, 64, 65, 127, 128, 129} <= found
    assert 17 == min(found) < max(found) <= 256
    with pytest.raises(ValueError, match="a page must hold the smallest record, which has 17 bytes, found page=16"):
        sizes(16)


# ---- records ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "least"), [("order", Record(0, 0, 17)), ("payment", Record(0, 0, 17)), ("reading", Record(0, 0, 25, 0))]
)
def test_a_record_shrinks_to_key_0_and_the_smallest_size(kind, least):
    assert find(records(kind), lambda found: found, settings=FOUND) == (least,)


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_numbered_and_can_be_written(kind):
    counts = set()
    for found in drawn(records(kind, most=4), 100):
        counts.add(len(found))
        assert [one.id for one in found] == list(range(len(found)))
        assert all(len(encode(one)) == one.size for one in found)
        times = [one.timestamp for one in found if one.timestamp is not None]
        assert times == sorted(times)
        assert kind != "reading" or len(times) == len(found)
    assert counts == {0, 1, 2, 3, 4}


def test_a_kind_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="a record is one of order, payment, reading, found 'click'"):
        records("click")  # type: ignore[arg-type]


# ---- elements --------------------------------------------------------------------------------------------------------
@pytest.mark.slow  # it shrinks for seconds
def test_elements_shrink_to_those_that_are_needed():
    assert find(elements(), lambda found: True, settings=FOUND) == ()
    two = find(elements(), lambda found: sum(type(one) is Record for one in found) == 2, settings=FOUND)
    assert two == (Record(0, 0, 17), Record(1, 0, 17))
    behind = find(elements(), lambda found: Status(True) in found and type(found[-1]) is Record, settings=FOUND)
    assert behind == (Status(False), Status(True), Record(0, 0, 17))


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        (Watermark, "watermark 0"), (Status, "idle"), (LatencyMarker, "latency marker 0"), (Attributes, "no backlog"),
        (Record, "record 0 for key 0, 17 bytes"),
    ],
)  # fmt: skip
def test_an_element_is_said_as_people_write_it(wanted, least):
    found = find(elements(markers=True), lambda found: any(isinstance(one, wanted) for one in found), settings=FOUND)
    assert [str(one) for one in found] == [least]


def test_a_record_says_when_it_was():
    assert str(Record(17, 4, 120, 8)) == "record 17 at 8 for key 4, 120 bytes"


def test_only_the_elements_that_are_wanted():
    def types(**wanted):
        return {type(one) for found in drawn(elements(**wanted), 150) for one in found} - {Record}

    assert types() == {Watermark, Status}
    assert types(statuses=False) == {Watermark}
    assert types(watermarks=False, statuses=False, markers=True) == {LatencyMarker, Attributes}
    with pytest.raises(ValueError, match="draw `records`"):
        elements(watermarks=False, statuses=False)


def test_each_status_is_another_one():
    longest = 0
    for found in drawn(elements(watermarks=False), 200):
        statuses = [one.active for one in found if isinstance(one, Status)]
        assert statuses == [bool(at % 2) for at in range(len(statuses))]
        longest = max(longest, len(statuses))
    assert longest > 2
