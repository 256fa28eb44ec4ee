"""The barrier handler of released Flink: what was looked into by hand, and what the suite finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bridges.flink import releases
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import load_known_failures
from conformance.engines.batch import searching
from conformance.engines.search import seeds
from conformance.ports import (
    CHECKPOINT_START,
    Alignment,
    Barrier,
    BarrierHandlerConfig,
    BarrierPrioritized,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    ErrorKind,
    FaultKind,
    FaultStruck,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    PortError,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment


@pytest.fixture
def handler(flink):
    """Makes a handler of two channels whose alignments time out after ten milliseconds."""
    return lambda **config: flink.components()["barrier-handler"](BarrierHandlerConfig(2, 10, **config))


def heard(port):
    signals, port.signals = port.signals, []
    return signals


def test_a_source_is_resumed_by_an_obsolete_call(handler):
    """barrier-handler.md FH3."""
    port = handler()
    port.cancel_marker(0, 1)
    assert heard(port) == [CheckpointDeclined(1, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER)]
    port.rpc_barrier(1, Barrier(1, ALIGNED), 0)
    assert heard(port) == [ConsumptionResumed(1)]
    port.rpc_barrier(1, Barrier(1, UNALIGNED), 0)
    assert heard(port) == []


def test_a_marker_of_a_checkpoint_that_was_only_announced_is_ignored(handler):
    """The known failure ignored-cancel-marker, and what follows: channel 0 waits until checkpoint 2 begins."""
    port = handler()
    port.announcement(0, 1, 0, 0)
    port.cancel_marker(1, 1)
    port.barrier(0, Barrier(1, TIMEOUTABLE), 0)
    assert (heard(port), port.pending()) == ([], 1)
    port.advance(10)
    assert heard(port) == [InputsCheckpointStarted(1), CheckpointTriggered(1, unaligned=True)]
    port.barrier(1, Barrier(2, TIMEOUTABLE), 0)
    assert heard(port) == [
        InputsCheckpointStopped(1), ConsumptionResumed(0), CheckpointDeclined(1, CheckpointReason.DECLINED_SUBSUMED),
    ]  # fmt: skip


def test_a_barrier_that_was_made_to_overtake_blocks_its_channel(handler):
    """barrier-handler.md H4, H17."""
    port = handler()
    port.announcement(0, 1, 7, 0)
    port.advance(10)
    assert heard(port) == [BarrierPrioritized(0, 7)]
    port.barrier(0, Barrier(1, TIMEOUTABLE), 0)
    assert heard(port) == [InputsCheckpointStarted(1), CheckpointTriggered(1, unaligned=True)]
    port.end_of_partition(1)
    assert heard(port) == [InputsCheckpointStopped(1), ConsumptionResumed(0)]
    assert (port.pending(), port.resources().listeners, port.resources().futures) == (None, 0, 0)


def test_without_unaligned_checkpoints_no_timer_is_set(handler):
    port = handler(alternating=False, counts_ends=False)
    port.barrier(0, Barrier(1, ALIGNED), 0)
    assert port.resources().listeners == 0
    port.end_of_partition(1)
    ended = CheckpointDeclined(1, CheckpointReason.DECLINED_INPUT_END_OF_STREAM)
    assert heard(port) == [ConsumptionResumed(0), ended]


def test_a_start_is_refused_or_fails(handler):
    """barrier-handler.md H18, H19."""
    port = handler()
    assert port.fault(CHECKPOINT_START, FaultKind.REFUSES, 1)
    port.barrier(0, Barrier(1, UNALIGNED), 0)
    struck = FaultStruck(CHECKPOINT_START, FaultKind.REFUSES)
    assert heard(port) == [struck, CheckpointDeclined(1, CheckpointReason.DECLINED)]
    assert port.resources().futures == 0
    assert port.fault(CHECKPOINT_START, FaultKind.THROWS, 1)
    with pytest.raises(PortError) as failed:
        port.barrier(0, Barrier(2, UNALIGNED), 0)
    assert failed.value.kind is ErrorKind.IO
    assert port.resources().futures == 1
    port.release()
    assert port.resources().futures == 0


def test_a_search_finds_nothing_but_the_known_failures(flink):
    path = Path(releases.__file__).parent / "known_failures" / f"{flink.release}.toml"
    known = {one.property for one in load_known_failures(path) if one.component == "barrier-handler"}
    search = searching(Program(COMPONENTS["barrier-handler"], flink))
    violations = [search.run(text)[1].violation for text in seeds(0, "barrier-handler", range(300))]
    found = {violation.property.slug for violation in violations if violation is not None}
    assert "a-cancel-marker-declines-its-checkpoint" in found
    assert found <= known
