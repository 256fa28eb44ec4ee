"""How long reading JSON takes and how much memory, by byte, over sizes and shapes. Nothing is asserted about a time.

The short answers of a program have a line of their own: reading them is a part of every call over JSON Lines.
"""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from time import process_time

import pytest

from conformance.bridges.jsonl.protocol import decode_reply
from conformance.scenarios.reading import decode_json
from tests.hostile import SHAPES

pytestmark = pytest.mark.benchmark
SIZES = (64 << 10, 1 << 20, 8 << 20, 64 << 20)
ANSWERS = {
    "opened": b'{"type":"opened"}',
    "nothing": b'{"type":"outcome","outcome":{}}',
    "a buffer": b'{"type":"outcome","outcome":{"value":{"element":{"type":"buffer","ids":[1,2]},"seq":0,"more":true},'
    b'"signals":[{"type":"data-available"}]}}',
    "a batch of 100 outcomes": b'{"type":"outcomes","outcomes":['
    + b",".join([b'{"value":{"element":null}}'] * 100)
    + b"]}",
}
ROUNDS = 7
CALLS = 20_000


def cost(data: bytes) -> tuple[float, float]:
    """Returns the nanoseconds and the bytes of memory that a byte takes, without the data itself."""
    seconds = []
    for _ in range(max(2, min(20, (4 << 20) // len(data)))):
        began = process_time()
        with suppress(ValueError):
            decode_json(data, object)
        seconds.append(process_time() - began)
    tracemalloc.start(1)
    with suppress(ValueError):
        decode_json(data, object)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1e9 * min(seconds) / len(data), memory / len(data)


def test_time_and_memory_by_byte(capsys):
    with capsys.disabled():
        print("\n| shape | " + " | ".join(f"{size >> 10:,} KiB" for size in SIZES) + " | grows |")
        print("|---|" + "--:|" * (len(SIZES) + 1))
        for name, make in SHAPES.items():
            costs = [cost(make(size)) for size in SIZES]
            cells = [f"{time:.1f} ns, {memory:.1f} B" for time, memory in costs]
            growth = max(max(one[part] for one in costs[1:]) / costs[0][part] for part in (0, 1))
            print(f"| {name} | {' | '.join(cells)} | {growth:.1f} |", flush=True)


def test_short_answers(capsys):
    with capsys.disabled():
        print()
        for name, line in ANSWERS.items():
            calls = max(1, CALLS * 20 // (20 + len(line)))
            best = []
            for _ in range(ROUNDS):
                began = process_time()
                for _ in range(calls):
                    decode_reply(line)
                best.append((process_time() - began) / calls)
            print(f"{name} ({len(line)} bytes): {1e9 * min(best):,.0f} ns")
