"""The bytes of elements: written and read back, cut anywhere, and every kind of damage is seen."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from conformance.ports.framing import (
    Attributes,
    Decoder,
    LatencyMarker,
    Record,
    Recovered,
    Status,
    Unreadable,
    Watermark,
    encode,
    size_of,
    smallest,
)

_TIMES = st.integers(-(2**63), 2**63 - 1)
_NUMBERS = st.integers(0, 2**31 - 1)


@st.composite
def _records(draw: st.DrawFn) -> Record:
    timestamp = draw(st.none() | _TIMES)
    return Record(draw(_NUMBERS), draw(_NUMBERS), smallest(timestamp) + draw(st.integers(0, 600)), timestamp)


_ELEMENTS = st.one_of(
    _records(), st.builds(Watermark, _TIMES), st.builds(Status, st.booleans()), st.builds(LatencyMarker, _TIMES),
    st.builds(Attributes, st.booleans()),
)  # fmt: skip


@given(st.lists(_ELEMENTS, max_size=5), st.lists(st.integers(0, 3000), max_size=5))
def test_what_is_written_is_read_back_wherever_it_is_cut(elements: list[Recovered], cuts: list[int]) -> None:
    data = b"".join(map(encode, elements))
    decoder = Decoder()
    ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = [one for start, end in pairwise(ends) for one in decoder.read(data[start:end])]
    assert found == elements
    assert decoder.begun == 0
    assert len(data) == sum(map(size_of, elements))


@given(_records(), st.data())
def test_a_record_of_which_a_byte_was_changed_is_unreadable(record: Record, data: st.DataObject) -> None:
    written = bytearray(encode(record))
    place = data.draw(st.integers(5, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    decoder = Decoder()
    found = decoder.read(bytes(written))
    assert found != [record]
    head = record.timestamp is not None and place < 13
    words = range(len(written) - (record.size - smallest(record.timestamp)) - 12, len(written))
    if not head and place not in words[:8]:
        assert found == [Unreadable(0)]


def test_bytes_that_are_missing_are_seen_at_the_next_element() -> None:
    first, second = Record(1, 4, 60), Record(2, 4, 60)
    cut = encode(first)[:30] + encode(first)[31:]
    decoder = Decoder()
    assert decoder.read(cut + encode(second)) == [Unreadable(0)]
    assert decoder.read(encode(second)) == []


def test_what_has_begun_is_counted() -> None:
    decoder = Decoder()
    assert decoder.read(encode(Watermark(7)) + b"\0\0") == [Watermark(7)]
    assert decoder.begun == 2


def test_overwritten_bytes_are_no_elements() -> None:
    assert Decoder().read(b"\xa5" * 8) == [Unreadable(0)]
