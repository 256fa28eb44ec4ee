"""No time passes for a process that is kept waiting by the one that watches it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conformance.driver import FailureClass
from conformance.engines.watch import Watch
from conformance.ports import Limits


def test_a_pause_is_not_counted(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    process: Any = SimpleNamespace(memory=lambda: 0)
    reader: Any = SimpleNamespace(beats=1)
    silent = Watch(process, reader, Limits())
    assert silent.complaint(5) is None
    with silent.pausing():
        now[0] += 100
    now[0] += 4
    assert silent.complaint(5) is None
    assert silent.complaint(None) is None
    now[0] += 2
    assert silent.complaint(5) == ("it did not return in time", FailureClass.HUNG)


def test_memory_is_looked_at_between_ticks_not_at_every_part_that_is_written(monkeypatch):
    now, looks = [0.0], [0]

    def memory() -> int:
        looks[0] += 1
        return 9 << 20 if now[0] >= 1 else 0

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    process: Any = SimpleNamespace(memory=memory)
    reader: Any = SimpleNamespace(beats=1)
    watch = Watch(process, reader, Limits(memory_mib=8))
    assert [watch.complaint(5) for _ in range(1000)] == [None] * 1000
    assert looks == [1]
    now[0] = 1
    assert watch.complaint(5) == ("its process used too much memory", FailureClass.CRASHED)
