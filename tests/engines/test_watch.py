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
    assert silent.complaint(5) == ("it did not answer in time", FailureClass.HUNG)
