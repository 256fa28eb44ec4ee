"""How fast the filter is, beside a loop that does nothing but read the framing and compute each record's key group, in
the same run. No time is asserted."""

from __future__ import annotations

from struct import Struct
from time import process_time

import pytest

from conformance.driver.turns import whole
from conformance.ports import EdgeKind, FilterConfig, FilteredGate, Recovery, RescaleMapping, Virtual
from conformance.ports.framing import LENGTH, Record, encode
from conformance.ports.key_groups import hash_of_number, key_group, owner
from reference_impl.state.filter.filter import Filter

pytestmark = pytest.mark.benchmark
PAGE = 1 << 15
"""As large as a network buffer."""
ROUNDS = 3
TAG, LENGTH_AND_TAG, KEY = Struct(">i"), LENGTH + 1, Struct(">ii")


class Prepared:
    """State whose bytes were made before."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        self.at += len(part)
        return part


def bare(chunks: list[bytes]) -> tuple[float, int]:
    """Returns how long it takes to look at every record, and how many belong to subtask 0."""
    began = process_time()
    kept, rest = 0, b""
    for chunk in chunks:
        data = rest + chunk
        at, end = 0, len(data)
        while end - at >= LENGTH:
            (length,) = TAG.unpack_from(data, at)
            if at + LENGTH + length > end:
                break
            _, key = KEY.unpack_from(data, at + LENGTH_AND_TAG)
            kept += owner(key_group(hash_of_number(key), 128), 128, 2) == 0
            at += LENGTH + length
        rest = data[at:]
    return process_time() - began, kept


def filtered(recovery: Recovery, source: Prepared, total: int) -> tuple[float, Filter]:
    """Returns how long the fetch takes to filter everything; buffers are given back as they come."""
    gates = (FilteredGate(EdgeKind.HASH, RescaleMapping((0,), ((0,),), (0,))),)
    config = FilterConfig(recovery, gates, (Virtual(0, 0, 0, (), total),), 2, 0, page=PAGE, files=True)
    port = Filter(config, [source])
    port.begin()
    channel = port.channels[0][0]
    began = process_time()
    for at in range(0, total, PAGE):
        whole(port.read(0, min(PAGE, total - at)))
        while channel.queue:
            channel.queue.pop().buffer.recycle()
    whole(port.end())
    return process_time() - began, port


@pytest.mark.parametrize("size", [40, 200, 1000, 10_000])
def test_filter(size, capsys):
    elements = [
        Record(number, number * 2_654_435_761 % (1 << 31), size) for number in range(max(20_000_000 // size, 1))
    ]
    data = b"".join(map(encode, elements[:400_000]))
    chunks = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    rows = []
    for _ in range(ROUNDS):
        one = bare(chunks)[0]
        times = []
        for recovery in (Recovery.IN_MEMORY, Recovery.PUSHED):
            seconds, port = filtered(recovery, Prepared(data), len(data))
            port.release()
            times.append(seconds)
        rows.append((one, *times))
    best = [min(row[at] for row in rows) for at in range(3)]
    with capsys.disabled():
        print(f"\n{len(data) / 1e6:.0f} MB in records of {size} bytes, best of {ROUNDS}: the bare loop {best[0]:.3f} s")
        for name, seconds in zip(("in memory", "spilled"), best[1:], strict=True):
            print(f"  {name}: {seconds:.3f} s, {seconds / best[0]:.2f} times")
